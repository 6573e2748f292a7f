// The box one writes in: grows, counts, sends on Enter, and keeps what was typed until it is stored.

const MOST = 8_000;
const COUNT_FROM = 7_000;

export class Composer extends EventTarget {
  #replyTo = null;
  #isWaiting = false; // for files that are still on their way

  constructor(form, { tray, onSend }) {
    super();
    this.form = form;
    this.tray = tray;
    this.box = form.elements.body;
    this.counter = form.querySelector("[data-counter]");
    this.place = form.querySelector("[data-composer-error]");
    this.replying = form.querySelector("[data-replying]");
    this.onSend = onSend;
    form.addEventListener("submit", (event) => this.#submit(event));
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.box.addEventListener("input", () => this.#changed());
    this.replying.querySelector("button").addEventListener("click", () => this.answer(null));
    tray.addEventListener("change", () => this.#trayChanged());
    form.querySelector("[data-tray-hold]").addEventListener("click", () => this.#wait(false));
    form.querySelector("[data-enter-hint]")?.removeAttribute("hidden");
    this.#count();
  }

  get text() {
    return this.box.value;
  }

  /** Puts a text into the box; the cursor stays where it was in what one is writing. */
  write(text, { before = 0 } = {}) {
    const { selectionStart, selectionEnd } = this.box;
    this.box.value = text;
    if (this.box === document.activeElement) {
      this.box.setSelectionRange(selectionStart + before, selectionEnd + before);
    }
    this.#count();
  }

  /** Gives back what could not be sent, without taking what was typed since. */
  restore(text) {
    this.box.value = [text, this.box.value].filter((part) => part.trim()).join("\n\n");
    this.#changed();
    this.box.focus();
  }

  /** Says above the box what is being answered: { id, url, name, text }, or null. */
  answer(quote) {
    this.#answering(quote);
    this.box.focus();
  }

  #answering(quote) {
    this.#replyTo = quote;
    this.form.elements.reply_to.value = quote?.id ?? "";
    this.replying.hidden = !quote;
    this.replying.querySelector("[data-reply-name]").textContent = quote?.name ?? "";
    this.replying.querySelector("[data-reply-text]").textContent = quote?.text ?? "";
  }

  /** What is written can be taken along, and not be sent. */
  close() {
    this.box.readOnly = true;
    this.#answering(null);
    this.form.querySelector(".send").hidden = true;
    this.form.hidden = !this.text;
  }

  reopen() {
    this.box.readOnly = false;
    this.form.querySelector(".send").hidden = this.form.hidden = false;
  }

  #submit(event) {
    const text = this.text.trim();
    const { attachments, links } = this.tray.ready;
    const isNothing = !text && !attachments.length && !links.length && !this.tray.isBusy;
    if (isNothing || text.length > MOST || this.box.readOnly) {
      event.preventDefault();
      this.box.focus();
      return;
    }
    if (this.tray.isBusy) {
      event.preventDefault();
      return this.#wait(true);
    }
    const replyTo = this.#replyTo?.id ?? null;
    if (this.onSend({ body: text, attachments, links, quote: this.#replyTo, replyTo })) {
      event.preventDefault();
      this.tray.sent();
      this.place?.replaceChildren();
      this.box.value = "";
      this.#count();
      this.answer(null);
      this.dispatchEvent(new CustomEvent("sent", { detail: text }));
    } else {
      this.form.elements.attachments.value = attachments.map(({ id }) => id).join(" ");
      this.form.elements.links.value = JSON.stringify(links);
      this.tray.sent();
      this.dispatchEvent(new Event("posted"));
    }
  }

  /** It goes out by itself when the files are there; meanwhile nothing is added to it. */
  #wait(isWaiting) {
    if (this.#isWaiting === isWaiting) return;
    this.#isWaiting = isWaiting;
    this.box.readOnly = isWaiting;
    this.form.querySelector("[data-tray-note]").hidden = !isWaiting;
    if (!isWaiting) this.box.focus();
  }

  #trayChanged() {
    if (!this.#isWaiting || this.tray.isBusy) return;
    this.#wait(false);
    this.form.requestSubmit();
  }

  #key(event) {
    // 229: some input methods end a word with an Enter that is theirs.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key === "Escape" && this.#replyTo) return this.answer(null);
    if (event.key !== "Enter" || event.shiftKey || event.altKey || isComposing) return;
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  #changed() {
    this.#count();
    this.dispatchEvent(new Event("change"));
  }

  #count() {
    const length = this.text.length;
    this.counter.hidden = length < COUNT_FROM;
    const over = length - MOST;
    this.counter.textContent =
      over > 0
        ? `${over.toLocaleString("en")} characters too many`
        : `${length.toLocaleString("en")} of ${MOST.toLocaleString("en")} characters`;
    this.counter.classList.toggle("over", over > 0);
    this.form.querySelector(".send").toggleAttribute("disabled", over > 0);
  }
}
