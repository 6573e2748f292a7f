// My messages as I typed them, which is what one edits: pages carry only what became of that.

const PATIENCE = 5_000;

export class Sources {
  #bodies = new Map(); // message id -> text

  constructor(timeline, socket) {
    this.timeline = timeline;
    this.socket = socket;
    const on = (type, heard) => socket.addEventListener(type, ({ detail }) => heard(detail));
    on("message.sent", (event) => this.#learn(event));
    on("thread.synced", ({ messages }) => messages.forEach((message) => this.#learn(message)));
    on("message.edited", ({ message }) => this.#bodies.delete(message));
  }

  #learn({ author, message, body }) {
    if (author === this.timeline.me) this.#bodies.set(message, body);
  }

  /** Null if nobody can say just now. */
  async of(message) {
    const id = message.dataset.message;
    if (!this.#bodies.has(id)) await this.#ask(message);
    return this.#bodies.get(id) ?? null;
  }

  /** The server tells it with whatever came after the message before. */
  #ask({ dataset: { message, seq } }) {
    const { thread } = this.timeline;
    const after = this.timeline.bySeq(Number(seq) - 1)?.dataset.message;
    return new Promise((resolve) => {
      const heard = () => {
        if (!this.#bodies.has(message)) return;
        this.socket.removeEventListener("thread.synced", heard);
        resolve();
      };
      this.socket.addEventListener("thread.synced", heard);
      const isSent = this.socket.send({ type: "thread.open", thread, after });
      setTimeout(resolve, isSent ? PATIENCE : 0);
    });
  }
}
