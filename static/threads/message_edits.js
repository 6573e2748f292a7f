// Editing in place, removing with some seconds to think again, reacting. The answer to each is the
// event that everybody gets; what fails stays as it was, says why, and keeps what was typed.

import { fromTemplate } from "../site/fragments.js";
import { toast } from "../site/notices.js";

const TO_THINK_AGAIN = 5_000;
const NOT_LIVE = "You are not connected just now. Try again in a moment.";

export class Changing {
  #forms = new Map(); // message id -> its form
  #removing = new Map(); // message id -> timer

  constructor(timeline, socket, sources) {
    this.timeline = timeline;
    this.socket = socket;
    this.sources = sources;
    const on = (type, heard) => socket.addEventListener(type, ({ detail }) => heard(detail));
    on("message.edited", ({ message }) => this.#isSaving(message) && this.#closeForm(message));
    on("message.removed", ({ message }) => this.#closeForm(message));
    on("error", (event) => this.#refused(event));
    on("state", (state) => state === "away" && this.#lost());
    timeline.list.addEventListener("revising", ({ detail }) => this.#revising(detail));
    addEventListener("pagehide", () => {
      for (const id of [...this.#removing.keys()]) this.#remove(id);
    });
  }

  react(message, reaction, on) {
    this.#send({ type: "message.react", message: message.dataset.message, reaction, on });
  }

  #send(frame) {
    const isSent = this.socket.send({ ...frame, thread: this.timeline.thread });
    if (!isSent) toast(NOT_LIVE);
    return isSent;
  }

  // --- Editing

  async edit(message) {
    const id = message.dataset.message;
    if (this.#forms.has(id)) return this.#forms.get(id).elements.body.focus();
    const source = await this.sources.of(message);
    if (source === null) return toast(NOT_LIVE);
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
    const isEnd = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!isEnd || matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    form.requestSubmit();
  }

  #save(id, form) {
    const body = form.elements.body.value.trim();
    if (!body) return form.elements.body.focus();
    const { thread } = this.timeline;
    const isSent = this.socket.send({ type: "message.edit", thread, message: id, body });
    form.toggleAttribute("data-saving", isSent);
    say(form, isSent ? "" : NOT_LIVE);
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

  /** Somebody reacted meanwhile: the form goes along to the new fragment. */
  #revising({ before, now }) {
    const form = this.#forms.get(before.dataset.message);
    if (form) this.#open(now, form);
    if (this.#removing.has(before.dataset.message)) now.classList.add("removing");
  }

  #lost() {
    for (const form of this.#forms.values()) {
      if (form.hasAttribute("data-saving")) say(form, NOT_LIVE);
      form.removeAttribute("data-saving");
    }
  }

  // --- Removing

  remove(message) {
    const id = message.dataset.message;
    message.classList.add("removing");
    this.#removing.set(
      id,
      setTimeout(() => this.#remove(id), TO_THINK_AGAIN),
    );
    toast("Message removed", { label: "Undo", run: () => this.#keep(id) });
  }

  #remove(id) {
    if (!this.#removing.has(id)) return;
    clearTimeout(this.#removing.get(id));
    this.#removing.delete(id);
    if (!this.#send({ type: "message.remove", message: id })) this.#keep(id);
  }

  #keep(id) {
    clearTimeout(this.#removing.get(id));
    this.#removing.delete(id);
    this.timeline.byId(id)?.classList.remove("removing");
  }

  #refused({ message_id: id, message, hint }) {
    if (!id) return;
    this.#keep(id);
    const form = this.#forms.get(id);
    if (!form) return toast(message);
    form.removeAttribute("data-saving");
    say(form, `${message} ${hint ?? ""}`.trim());
  }
}

function say(form, text) {
  const place = form.querySelector("[data-edit-error]");
  place.textContent = text;
  place.hidden = !text;
}
