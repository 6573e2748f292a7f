// Ways to attach: the menu, the camera of a phone, paste, drop, and a link with a title.

export function offerAttaching(form, tray) {
  const input = form.querySelector("[data-attach-input]");
  const menu = form.querySelector("#attach-menu");
  const dialog = document.getElementById("link-dialog");
  const open = {
    files: () => choose(input, false),
    camera: () => choose(input, true),
    link: () => dialog.showModal(),
  };
  menu.addEventListener("click", ({ target }) => {
    const item = target.closest("[data-attach]");
    if (!item) return;
    menu.hidePopover();
    open[item.dataset.attach]();
  });
  input.addEventListener("change", () => {
    tray.add(input.files);
    input.value = ""; // Or a form that is posted would bring them once more.
    form.elements.body.focus();
  });
  form.elements.body.addEventListener("paste", (event) => {
    const { files, types } = event.clipboardData;
    // Words that carry a picture of themselves are words.
    if (!files.length || types.includes("text/plain")) return;
    event.preventDefault();
    tray.add(files);
  });
  takeDrops(document.querySelector(".room"), tray);
  takeLinks(dialog, tray);
}

function choose(input, withCamera) {
  input.toggleAttribute("capture", withCamera);
  if (withCamera) input.setAttribute("capture", "environment");
  input.click();
}

function takeDrops(room, tray) {
  let inside = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const leave = () => {
    inside = 0;
    room.classList.remove("dropping");
  };
  room.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    inside += 1;
    room.classList.add("dropping");
  });
  room.addEventListener("dragleave", (event) => hasFiles(event) && --inside <= 0 && leave());
  room.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  room.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    leave();
    if (document.querySelector("[data-composer] .send:not([hidden])")) {
      tray.add(event.dataTransfer.files);
    }
  });
}

function takeLinks(dialog, tray) {
  const form = dialog.querySelector("form");
  dialog.querySelector("[data-cancel]").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", () => {
    const { url, title } = form.elements;
    tray.addLink({ url: url.value.trim(), title: title.value.trim() });
    form.reset();
  });
}
