// The source text of the user's own messages, for editing: pages contain only the rendered HTML.

const TIMEOUT = 5_000;

export class MessageSources {
  #bodies = new Map(); // message id -> text

  constructor(timeline, socket) {
    this.timeline = timeline;
    this.socket = socket;
    const on = (type, handle) => socket.addEventListener(type, ({ detail }) => handle(detail));
    on("message.sent", (event) => this.#add(event));
    on("thread.synced", ({ messages }) => messages.forEach((message) => this.#add(message)));
    on("message.edited", ({ message }) => this.#bodies.delete(message));
  }

  #add({ author, message, body }) {
    if (author === this.timeline.me) this.#bodies.set(message, body);
  }

  /** Returns null if the server does not answer. */
  async get(message) {
    const id = message.dataset.message;
    if (!this.#bodies.has(id)) await this.#request(message);
    return this.#bodies.get(id) ?? null;
  }

  /** Syncs the thread from the previous message on, which includes this one. */
  #request({ dataset: { message, seq } }) {
    const { thread } = this.timeline;
    const after = this.timeline.bySeq(Number(seq) - 1)?.dataset.message;
    return new Promise((resolve) => {
      const onSynced = () => {
        if (!this.#bodies.has(message)) return;
        this.socket.removeEventListener("thread.synced", onSynced);
        resolve();
      };
      this.socket.addEventListener("thread.synced", onSynced);
      const isSent = this.socket.send({ type: "thread.open", thread, after });
      setTimeout(resolve, isSent ? TIMEOUT : 0);
    });
  }
}
