// The box one writes in: grows, counts, sends on Enter, and keeps what was typed until it is stored.

const MOST = 8_000;
const COUNT_FROM = 7_000;

export class Composer {
  constructor(form, { onSend }) {
    this.form = form;
    this.box = form.elements.body;
    this.counter = form.querySelector("[data-counter]");
    this.place = form.querySelector("[data-composer-error]");
    this.onSend = onSend;
    form.addEventListener("submit", (event) => this.#submit(event));
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.box.addEventListener("input", () => this.#changed());
    form.querySelector("[data-enter-hint]")?.removeAttribute("hidden");
    this.#changed();
  }

  get text() {
    return this.box.value;
  }

  clear() {
    this.box.value = "";
    this.#changed();
  }

  /** Gives back what could not be sent, without taking what was typed since. */
  restore(text) {
    this.box.value = this.box.value.trim() ? `${text}\n\n${this.box.value}` : text;
    this.#changed();
    this.box.focus();
  }

  #submit(event) {
    const text = this.text.trim();
    if (!text || text.length > MOST) {
      event.preventDefault();
      this.box.focus();
      return;
    }
    if (this.onSend(text)) {
      event.preventDefault();
      this.place?.replaceChildren();
      this.clear();
      this.box.focus();
    }
  }

  #key(event) {
    // 229: some input methods end a word with an Enter that is theirs.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || event.altKey || isComposing) return;
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  #changed() {
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
