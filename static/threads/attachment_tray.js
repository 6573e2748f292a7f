// Files and links to attach to the next message, pin or deliver as proofs. Files are uploaded one
// after the other; each can be retried or removed, and survives a reload or a lost connection.

import { fromTemplate } from "../site/fragments.js";
import { announce, toast } from "../site/notices.js";
import { newId } from "../store/outbox.js";
import { listByUser, put, remove } from "../store/database.js";
import { sizeLabel, upload } from "../store/upload.js";

const MAX_FILES = 10;
const MAX_BYTES = 20 * 1024 * 1024;
const RETRY_DELAY = 5_000;
const STATE_LABELS = { waiting: "Waiting", paused: "Waiting for connection", checking: "Checking" };

export class AttachmentTray extends EventTarget {
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

  /** Whether uploads are in progress. */
  get isBusy() {
    return this.#items.some(({ state }) => !["done", "refused"].includes(state));
  }

  /** What can be sent, in the order of selection. */
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
      if (blob.size > MAX_BYTES) this.#refuse(item, "Files can be up to 20 MB.", true);
      if (blob.size === 0) this.#refuse(item, "This file is empty.", true);
      this.#show(item);
      this.#store(item);
    }
    this.#changed();
    this.#startUploads();
  }

  addLink(link) {
    if (this.#isFull()) return;
    const item = { key: newId(), name: link.title, size: 0, link, state: "done" };
    this.#show(item);
    this.#store(item);
    this.#changed();
  }

  /** Removes what was sent; refused files stay, with the reason. */
  clearSent() {
    for (const item of this.#items.filter(({ state }) => state === "done")) this.#drop(item);
  }

  /** Removes files that were added to the panel. */
  removeUploaded(ids) {
    for (const item of this.#findByIds(ids)) this.#drop(item);
  }

  /** The panel refused files that were uploaded. */
  refuse(ids, reason) {
    for (const item of this.#findByIds(ids)) {
      this.#refuse(item, reason, true);
      this.#store(item);
    }
  }

  #findByIds(ids) {
    return this.#items.filter(({ file }) => ids.includes(file?.id));
  }

  /** Returns the attachments of a discarded message. */
  restoreSent({ attachments = [], links = [] }) {
    for (const file of attachments) {
      const item = { key: newId(), name: file.name, size: file.size, file, state: "done" };
      this.#show(item);
      this.#store(item);
    }
    for (const link of links) this.addLink(link);
    this.#changed();
  }

  /** Restores what was in the tray when the page was left. */
  async restore() {
    const kept = (await listByUser("uploads", this.user)).filter(({ thread }) => thread === this.thread);
    for (const item of kept.sort((one, other) => one.order - other.order)) {
      if (!["done", "refused"].includes(item.state)) item.state = "waiting";
      this.#show(item);
    }
    this.#changed();
    this.#startUploads();
  }

  /** Removes what another tab has sent, which is no longer stored. */
  async refresh() {
    const kept = new Set((await listByUser("uploads", this.user)).map(({ key }) => key));
    for (const item of [...this.#items]) if (!kept.has(item.key)) this.#drop(item);
  }

  #isFull() {
    if (this.#items.length < MAX_FILES) return false;
    toast(`You can add up to ${MAX_FILES} files at a time.`);
    return true;
  }

  #startUploads() {
    this.#running ??= this.#uploadAll().finally(() => (this.#running = null));
  }

  async #uploadAll() {
    let next;
    while ((next = this.#items.find(({ state }) => state === "waiting"))) await this.#upload(next);
  }

  async #upload(item) {
    const { url, token } = this;
    item.upload = upload({
      url,
      token,
      file: item.blob,
      name: item.name,
      onProgress: (part) => this.#setState(item, part < 1 ? "sending" : "checking", part),
    });
    this.#setState(item, "sending", 0);
    const result = await item.upload.done;
    item.upload = null;
    if (!this.#items.includes(item)) return;
    if (result.is === "stored") {
      Object.assign(item, { file: result.file, name: result.file.name, blob: null });
      this.#setState(item, "done");
    } else if (result.is === "refused") {
      this.#refuse(item, result.message, result.final, result.hint);
    } else {
      this.#setState(item, "paused");
      setTimeout(() => this.#resume(), RETRY_DELAY);
    }
    this.#store(item);
    this.#changed();
  }

  /** Restarts interrupted uploads from the beginning. */
  #resume() {
    if (!navigator.onLine) return;
    for (const item of this.#items) if (item.state === "paused") this.#setState(item, "waiting");
    this.#startUploads();
  }

  #retry(item) {
    this.#setState(item, "waiting");
    this.#changed();
    this.#startUploads();
  }

  #refuse(item, reason, final, hint = "") {
    Object.assign(item, { reason, hint, final });
    this.#setState(item, "refused");
    announce(`${item.name}: ${reason} ${hint}`);
  }

  #show(item) {
    const element = fromTemplate("tray-item");
    item.element = element;
    element.querySelector("[data-name]").textContent = item.name;
    element.querySelector("[data-remove-upload]").addEventListener("click", () => this.#cancel(item));
    element.querySelector("[data-retry-upload]").addEventListener("click", () => this.#retry(item));
    this.#showPreview(item);
    this.#items.push(item);
    this.place.append(element);
    this.#setState(item, item.state);
  }

  #showPreview({ element, blob, file }) {
    const image = element.querySelector("img");
    const isImage = file ? file.kind === "image" : blob?.type.startsWith("image/");
    if (!isImage) return;
    image.addEventListener("load", () => (image.hidden = false));
    image.src = file ? `/files/${file.id}/?size=thumb` : URL.createObjectURL(blob);
  }

  #setState(item, state, part = 0) {
    item.state = state;
    if (!item.element) return;
    const { element } = item;
    element.dataset.state = state;
    const percent = Math.round(part * 100);
    const progress = element.querySelector("progress");
    progress.hidden = !["sending", "checking"].includes(state);
    progress.value = percent;
    progress.setAttribute("aria-label", item.name);
    element.querySelector("[data-retry-upload]").hidden = state !== "refused" || item.final || !item.blob;
    element.querySelector("[data-detail]").textContent = this.#detail(item, percent);
    element.title = item.hint ?? "";
    element.querySelector("[data-remove-upload] .visually-hidden").textContent = `Remove ${item.name}`;
  }

  #detail({ state, reason, size, link }, percent) {
    if (state === "refused") return reason;
    if (state === "done") return link ? new URL(link.url).hostname : sizeLabel(size);
    return STATE_LABELS[state] ?? `${percent}% of ${sizeLabel(size)}`;
  }

  #cancel(item) {
    this.#drop(item);
    this.place.closest("form").querySelector("textarea, [data-panel-upload-input]").focus();
  }

  #drop(item) {
    this.#items = this.#items.filter((other) => other !== item);
    item.upload?.abort();
    const { src } = item.element.querySelector("img");
    if (src.startsWith("blob:")) URL.revokeObjectURL(src);
    item.element.remove();
    remove("uploads", item.key).catch(() => {});
    this.#changed();
  }

  /** Without space in this browser, the file is kept in memory only. */
  #store({ key, name, size, blob, file, link, state, reason, final }) {
    // It cannot be retried, so a reload does not show it again.
    if (state === "refused" && final) return void remove("uploads", key).catch(() => {});
    const order = this.#items.findIndex((item) => item.key === key);
    const { user, thread } = this;
    const entry = { key, user, thread, order, name, size, blob, file, link, state, reason, final };
    put("uploads", entry).catch(() => {});
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

const PHOTOS = "image/*,.heic,.heif,.avif";
const EVERYTHING = `${PHOTOS},application/pdf,text/plain,.csv,.md`;

// --- Ways to attach: menu, phone camera, paste, drop, and a link with a title

export function bindAttachMenu(form, tray) {
  const input = form.querySelector("[data-attach-input]");
  const menu = form.querySelector("#add-menu");
  const dialog = document.getElementById("link-dialog");
  const open = {
    photos: () => openPicker(input, { accept: PHOTOS }),
    files: () => openPicker(input),
    camera: () => openPicker(input, { accept: "image/*", capture: true }),
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
    input.value = ""; // A posted form would upload them again.
    form.elements.body.focus();
  });
  form.elements.body.addEventListener("paste", (event) => {
    const { files, types } = event.clipboardData;
    // Some applications add an image of the copied text; the text is what the user wants.
    if (!files.length || types.includes("text/plain")) return;
    event.preventDefault();
    tray.add(files);
  });
  acceptDrops(document.querySelector(".room"), tray);
  acceptLinks(dialog, tray);
}

function openPicker(input, { accept = EVERYTHING, capture = false } = {}) {
  input.accept = accept;
  input.toggleAttribute("capture", capture);
  if (capture) input.setAttribute("capture", "environment");
  input.click();
}

function acceptDrops(room, tray) {
  let inside = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const leave = () => {
    inside = 0;
    room.classList.remove("drag-over");
  };
  room.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    inside += 1;
    room.classList.add("drag-over");
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

function acceptLinks(dialog, tray) {
  const form = dialog.querySelector("form");
  dialog.querySelector("[data-cancel]").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", () => {
    const { url, title } = form.elements;
    tray.addLink({ url: url.value.trim(), title: title.value.trim() });
    form.reset();
  });
}
