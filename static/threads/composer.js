// The message composer: counts characters, sends on Enter, and shows what is being replied to.

const MAX_LENGTH = 8_000;
const COUNTER_FROM = 7_000;

export class Composer extends EventTarget {
  #replyTo = null;
  #isWaiting = false; // for uploads in progress

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
    this.replying.querySelector("button").addEventListener("click", () => this.replyTo(null));
    tray.addEventListener("change", () => this.#trayChanged());
    form.querySelector("[data-cancel-send]").addEventListener("click", () => this.#wait(false));
    this.#count();
  }

  get text() {
    return this.box.value;
  }

  /** Sets the text; the cursor stays, shifted by the length inserted before it. */
  write(text, { before = 0 } = {}) {
    const { selectionStart, selectionEnd } = this.box;
    this.box.value = text;
    if (this.box === document.activeElement) {
      this.box.setSelectionRange(selectionStart + before, selectionEnd + before);
    }
    this.#count();
  }

  /** Puts an unsent text before the text typed since. */
  restore(text) {
    this.box.value = [text, this.box.value].filter((part) => part.trim()).join("\n\n");
    this.#changed();
    this.box.focus();
  }

  /** Shows what is being replied to: { id, url, name, text }, or null. */
  replyTo(quote) {
    this.#showReply(quote);
    this.box.focus();
  }

  #showReply(quote) {
    this.#replyTo = quote;
    this.form.elements.reply_to.value = quote?.id ?? "";
    this.replying.hidden = !quote;
    this.replying.querySelector("[data-reply-name]").textContent = quote?.name ?? "";
    this.replying.querySelector("[data-reply-text]").textContent = quote?.text ?? "";
  }

  /** Messages can no longer be sent; the text stays readable for copying. */
  close() {
    this.box.readOnly = true;
    this.#showReply(null);
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
    const isEmpty = !text && !attachments.length && !links.length && !this.tray.isBusy;
    if (isEmpty || text.length > MAX_LENGTH || this.box.readOnly) {
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
      this.tray.clearSent();
      this.place?.replaceChildren();
      this.box.value = "";
      this.#count();
      this.replyTo(null);
      this.dispatchEvent(new CustomEvent("sent", { detail: text }));
    } else {
      this.form.elements.attachments.value = attachments.map(({ id }) => id).join(" ");
      this.form.elements.links.value = JSON.stringify(links);
      this.tray.clearSent();
      this.dispatchEvent(new Event("posted"));
    }
  }

  /** The message is sent once its files are uploaded; until then it is read-only. */
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
    // 229: Enter confirms a word in some input methods.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key === "Escape" && this.#replyTo) return this.replyTo(null);
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
    this.counter.hidden = length < COUNTER_FROM;
    const over = length - MAX_LENGTH;
    this.counter.textContent =
      over > 0
        ? `${over.toLocaleString("en")} characters over the limit`
        : `${length.toLocaleString("en")} of ${MAX_LENGTH.toLocaleString("en")} characters`;
    this.counter.classList.toggle("over", over > 0);
    this.form.querySelector(".send").toggleAttribute("disabled", over > 0);
  }
}
