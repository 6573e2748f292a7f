// What will be attached to the next message, or pinned, or shown as a proof. Each file goes up by itself, one after the other, and
// can be tried again or dropped by itself; all of it survives a reload and a lost connection.

import { fromTemplate } from "../site/fragments.js";
import { announce, toast } from "../site/notices.js";
import { newId } from "../store/outbox.js";
import { ofUser, put, remove } from "../store/database.js";
import { sizeLabel, upload } from "../store/upload.js";

const MOST = 10;
const MOST_BYTES = 20 * 1024 * 1024;
const AGAIN = 5_000;
const WORDS = { waiting: "Waiting", paused: "Waiting for the connection", checking: "Checking" };

export class Tray extends EventTarget {
  #items = [];
  #running = null;

  constructor(form, { thread, user }) {
    super();
    this.place = form.querySelector("[data-tray]");
    this.url = form.dataset.upload;
    this.token = form.elements.csrfmiddlewaretoken.value;
    Object.assign(this, { thread, user });
    addEventListener("online", () => this.#resume());
  }

  get isEmpty() {
    return this.#items.length === 0;
  }

  /** Some are still on their way. */
  get isBusy() {
    return this.#items.some(({ state }) => !["done", "refused"].includes(state));
  }

  /** In the order in which they were chosen; what was refused is not among them. */
  get ready() {
    const done = this.#items.filter(({ state }) => state === "done");
    return {
      attachments: done.filter((item) => item.file).map((item) => item.file),
      links: done.filter((item) => item.link).map((item) => item.link),
    };
  }

  add(files) {
    for (const blob of files) {
      if (this.#isFull()) break;
      const item = { key: newId(), name: blob.name || "Photo", size: blob.size, blob, state: "waiting" };
      if (blob.size > MOST_BYTES) this.#refuse(item, "A file can have at most 20 MB.", true);
      if (blob.size === 0) this.#refuse(item, "This file is empty.", true);
      this.#show(item);
      this.#keep(item);
    }
    this.#changed();
    this.#run();
  }

  addLink(link) {
    if (this.#isFull()) return;
    const item = { key: newId(), name: link.title, size: 0, link, state: "done" };
    this.#show(item);
    this.#keep(item);
    this.#changed();
  }

  /** They were sent; what was refused stays, with its reason. */
  sent() {
    for (const item of this.#items.filter(({ state }) => state === "done")) this.#drop(item);
  }

  /** These are where they belong now. */
  placed(ids) {
    for (const item of this.#of(ids)) this.#drop(item);
  }

  /** They are here, and were not wanted there. */
  refused(ids, reason) {
    for (const item of this.#of(ids)) {
      this.#refuse(item, reason, true);
      this.#keep(item);
    }
  }

  #of(ids) {
    return this.#items.filter(({ file }) => ids.includes(file?.id));
  }

  /** From a message that was taken back. */
  giveBack({ attachments = [], links = [] }) {
    for (const file of attachments) {
      const item = { key: newId(), name: file.name, size: file.size, file, state: "done" };
      this.#show(item);
      this.#keep(item);
    }
    for (const link of links) this.addLink(link);
    this.#changed();
  }

  /** What was here when the page was left. */
  async restore() {
    const kept = (await ofUser("uploads", this.user)).filter(({ thread }) => thread === this.thread);
    for (const item of kept.sort((one, other) => one.order - other.order)) {
      if (!["done", "refused"].includes(item.state)) item.state = "waiting";
      this.#show(item);
    }
    this.#changed();
    this.#run();
  }

  /** Another tab of this person has sent something: what is no longer kept went with it. */
  async refresh() {
    const kept = new Set((await ofUser("uploads", this.user)).map(({ key }) => key));
    for (const item of [...this.#items]) if (!kept.has(item.key)) this.#drop(item);
  }

  #isFull() {
    if (this.#items.length < MOST) return false;
    toast(`At most ${MOST} files at a time.`);
    return true;
  }

  #run() {
    this.#running ??= this.#sendAll().finally(() => (this.#running = null));
  }

  async #sendAll() {
    let next;
    while ((next = this.#items.find(({ state }) => state === "waiting"))) await this.#send(next);
  }

  async #send(item) {
    const { url, token } = this;
    item.going = upload({
      url,
      token,
      file: item.blob,
      name: item.name,
      onProgress: (part) => this.#tell(item, part < 1 ? "sending" : "checking", part),
    });
    this.#tell(item, "sending", 0);
    const answer = await item.going.done;
    item.going = null;
    if (!this.#items.includes(item)) return;
    if (answer.is === "taken") {
      Object.assign(item, { file: answer.file, name: answer.file.name, blob: null });
      this.#tell(item, "done");
    } else if (answer.is === "refused") {
      this.#refuse(item, answer.message, answer.final, answer.hint);
    } else {
      this.#tell(item, "paused");
      setTimeout(() => this.#resume(), AGAIN);
    }
    this.#keep(item);
    this.#changed();
  }

  /** What was cut off starts again, from its beginning. */
  #resume() {
    if (!navigator.onLine) return;
    for (const item of this.#items) if (item.state === "paused") this.#tell(item, "waiting");
    this.#run();
  }

  #retry(item) {
    this.#tell(item, "waiting");
    this.#changed();
    this.#run();
  }

  #refuse(item, reason, final, hint = "") {
    Object.assign(item, { reason, hint, final });
    this.#tell(item, "refused");
    announce(`${item.name}: ${reason} ${hint}`);
  }

  #show(item) {
    const element = fromTemplate("tray-item");
    item.element = element;
    element.querySelector("[data-name]").textContent = item.name;
    element.querySelector("[data-drop]").addEventListener("click", () => this.#cancel(item));
    element.querySelector("[data-again]").addEventListener("click", () => this.#retry(item));
    this.#picture(item);
    this.#items.push(item);
    this.place.append(element);
    this.#tell(item, item.state);
  }

  #picture({ element, blob, file }) {
    const image = element.querySelector("img");
    const isPicture = file ? file.kind === "image" : blob?.type.startsWith("image/");
    if (!isPicture) return;
    image.addEventListener("load", () => (image.hidden = false));
    image.src = file ? `/files/${file.id}/?size=thumb` : URL.createObjectURL(blob);
  }

  #tell(item, state, part = 0) {
    item.state = state;
    if (!item.element) return;
    const { element } = item;
    element.dataset.state = state;
    const percent = Math.round(part * 100);
    const progress = element.querySelector("progress");
    progress.hidden = !["sending", "checking"].includes(state);
    progress.value = percent;
    progress.setAttribute("aria-label", item.name);
    element.querySelector("[data-again]").hidden = state !== "refused" || item.final || !item.blob;
    element.querySelector("[data-detail]").textContent = this.#words(item, percent);
    element.title = item.hint ?? "";
    element.querySelector("[data-drop] .visually-hidden").textContent = `Remove ${item.name}`;
  }

  #words({ state, reason, size, link }, percent) {
    if (state === "refused") return reason;
    if (state === "done") return link ? new URL(link.url).hostname : sizeLabel(size);
    return WORDS[state] ?? `${percent} % of ${sizeLabel(size)}`;
  }

  #cancel(item) {
    this.#drop(item);
    this.place.closest("form").querySelector("textarea, [data-bring-input]").focus();
  }

  #drop(item) {
    this.#items = this.#items.filter((other) => other !== item);
    item.going?.abort();
    const { src } = item.element.querySelector("img");
    if (src.startsWith("blob:")) URL.revokeObjectURL(src);
    item.element.remove();
    remove("uploads", item.key).catch(() => {});
    this.#changed();
  }

  /** Without room for it in this browser it is only here; that is no reason not to send it. */
  #keep({ key, name, size, blob, file, link, state, reason, final }) {
    // Nothing can be done about it, so that a reload need not show it again.
    if (state === "refused" && final) return void remove("uploads", key).catch(() => {});
    const order = this.#items.findIndex((item) => item.key === key);
    const { user, thread } = this;
    const kept = { key, user, thread, order, name, size, blob, file, link, state, reason, final };
    put("uploads", kept).catch(() => {});
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

// --- Ways to attach: the menu, the camera of a phone, paste, drop, and a link with a title

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
