// Edits in place, removal with a few seconds to undo, and reactions. Each is confirmed by the event
// that all participants receive; a refused edit shows the reason and keeps the text.

import { fromTemplate } from "../site/fragments.js";
import { OFFLINE, UNDO } from "../site/labels.js";
import { toast } from "../site/notices.js";

const UNDO_MS = 5_000;

export class MessageEdits {
  #forms = new Map(); // message id -> its form
  #removing = new Map(); // message id -> timer

  constructor(timeline, socket, sources) {
    this.timeline = timeline;
    this.socket = socket;
    this.sources = sources;
    const on = (type, handle) => socket.addEventListener(type, ({ detail }) => handle(detail));
    on("message.edited", ({ message }) => this.#isSaving(message) && this.#closeForm(message));
    on("message.removed", ({ message }) => this.#closeForm(message));
    on("error", (event) => this.#refused(event));
    on("state", (state) => state === "away" && this.#disconnected());
    timeline.list.addEventListener("replacing", ({ detail }) => this.#replacing(detail));
    addEventListener("pagehide", () => {
      for (const id of [...this.#removing.keys()]) this.#remove(id);
    });
  }

  react(message, reaction, on) {
    this.#send({ type: "message.react", message: message.dataset.message, reaction, on });
  }

  #send(frame) {
    const isSent = this.socket.send({ ...frame, thread: this.timeline.thread });
    if (!isSent) toast(OFFLINE);
    return isSent;
  }

  // --- Editing

  async edit(message) {
    const id = message.dataset.message;
    if (this.#forms.has(id)) return this.#forms.get(id).elements.body.focus();
    const source = await this.sources.get(message);
    if (source === null) return toast(OFFLINE);
    const form = fromTemplate("edit-form");
    form.elements.body.value = source;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save(id, form);
    });
    form.querySelector("[data-cancel]").addEventListener("click", () => this.#closeForm(id));
    form.elements.body.addEventListener("keydown", (event) => this.#key(event, id, form));
    this.#forms.set(id, form);
    this.#open(this.timeline.byId(id), form);
    form.elements.body.focus();
  }

  #open(message, form) {
    message.classList.add("editing");
    message.querySelector(".bubble").append(form);
  }

  #key(event, id, form) {
    if (event.key === "Escape") this.#closeForm(id);
    const submits = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!submits || matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    form.requestSubmit();
  }

  #save(id, form) {
    const body = form.elements.body.value.trim();
    if (!body) return form.elements.body.focus();
    const { thread } = this.timeline;
    const isSent = this.socket.send({ type: "message.edit", thread, message: id, body });
    form.toggleAttribute("data-saving", isSent);
    showError(form, isSent ? "" : OFFLINE);
  }

  #isSaving(id) {
    return this.#forms.get(id)?.hasAttribute("data-saving");
  }

  #closeForm(id) {
    this.#forms.get(id)?.remove();
    this.#forms.delete(id);
    const message = this.timeline.byId(id);
    message?.classList.remove("editing");
    message?.focus({ preventScroll: true });
  }

  /** The message's fragment is replaced, for example by a reaction: the form moves to the new one. */
  #replacing({ shown, fresh }) {
    const form = this.#forms.get(shown.dataset.message);
    if (form) this.#open(fresh, form);
    if (this.#removing.has(shown.dataset.message)) fresh.classList.add("removing");
  }

  #disconnected() {
    for (const form of this.#forms.values()) {
      if (form.hasAttribute("data-saving")) showError(form, OFFLINE);
      form.removeAttribute("data-saving");
    }
  }

  // --- Removing

  remove(message) {
    const id = message.dataset.message;
    message.classList.add("removing");
    this.#removing.set(
      id,
      setTimeout(() => this.#remove(id), UNDO_MS),
    );
    toast("Message removed", { label: UNDO, run: () => this.#cancelRemoval(id) });
  }

  #remove(id) {
    if (!this.#removing.has(id)) return;
    clearTimeout(this.#removing.get(id));
    this.#removing.delete(id);
    if (!this.#send({ type: "message.remove", message: id })) this.#cancelRemoval(id);
  }

  #cancelRemoval(id) {
    clearTimeout(this.#removing.get(id));
    this.#removing.delete(id);
    this.timeline.byId(id)?.classList.remove("removing");
  }

  #refused({ message_id: id, message, hint }) {
    if (!id) return;
    this.#cancelRemoval(id);
    const form = this.#forms.get(id);
    if (!form) return toast(message);
    form.removeAttribute("data-saving");
    showError(form, `${message} ${hint ?? ""}`.trim());
  }
}

function showError(form, text) {
  const place = form.querySelector("[data-edit-error]");
  place.textContent = text;
  place.hidden = !text;
}
