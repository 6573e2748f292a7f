// Typing indicators: publishes that the user is typing, and shows which other users are.

const SEND_INTERVAL = 4_000;
const TIMEOUT = 10_000;

export class TypingIndicator {
  #typing = new Map(); // user -> timer
  #sentAt = -Infinity;

  constructor(thread, socket) {
    this.thread = thread;
    this.socket = socket;
    this.place = document.querySelector("[data-typing]");
    const on = (type, handle) =>
      socket.addEventListener(type, ({ detail }) => detail.thread === thread && handle(detail));
    on("typing.started", ({ user }) => this.#started(user));
    on("typing.stopped", ({ user }) => this.#stopped(user));
    on("message.sent", ({ author }) => this.#stopped(author));
  }

  /** Publishes that the user is typing, or has cleared the text. */
  typed(text) {
    if (!text.trim()) return this.stopped();
    if (performance.now() - this.#sentAt < SEND_INTERVAL) return;
    if (this.socket.send({ type: "typing.start", thread: this.thread })) {
      this.#sentAt = performance.now();
    }
  }

  stopped() {
    if (this.#sentAt === -Infinity) return;
    this.#sentAt = -Infinity;
    this.socket.send({ type: "typing.stop", thread: this.thread });
  }

  #started(user) {
    clearTimeout(this.#typing.get(user));
    this.#typing.set(
      user,
      setTimeout(() => this.#stopped(user), TIMEOUT),
    );
    this.#show();
  }

  #stopped(user) {
    clearTimeout(this.#typing.get(user));
    if (this.#typing.delete(user)) this.#show();
  }

  #show() {
    const names = [...this.#typing.keys()].map(nameOf).filter(Boolean);
    this.place.textContent = typingLabel(names);
  }
}

export function typingLabel(names) {
  if (!names.length) return "";
  if (names.length === 1) return `${names[0]} is typing`;
  if (names.length === 2) return `${names[0]} and ${names[1]} are typing`;
  return "Several people are typing";
}

function nameOf(user) {
  const person = document.querySelector(`[data-person="${CSS.escape(user)}"]`);
  return person?.querySelector(".name")?.textContent ?? "";
}
