// What is said to the person beside the page itself: toasts, and a voice for screen readers.

const STAYS = 5_000;

export function toast(text) {
  const region = document.querySelector("[data-toasts]");
  const template = document.getElementById("toast");
  if (!region || !template) return;
  const note = template.content.firstElementChild.cloneNode(true);
  note.querySelector("[data-toast-text]").textContent = text;
  region.append(note);
  setTimeout(() => note.remove(), STAYS);
}

/** Read aloud once, and not shown. */
export function announce(text) {
  const region = document.querySelector("[data-announcer]");
  if (!region) return;
  const line = document.createElement("p");
  line.textContent = text;
  region.append(line);
  setTimeout(() => line.remove(), STAYS);
}
