// Conversations that are not on the screen: what came for them is taken in and said to be
// delivered, and what waits for them in the outbox goes out.

import { Pace } from "./throttle.js";

const AT_ONCE = 2;
const PATIENCE = 8_000;
const DELIVERED_EVERY = 1_000;

export class Elsewhere {
  #queue = new Map(); // thread -> what to do once it is caught up with
  #visiting = new Set();
  #delivered = new Pace(DELIVERED_EVERY, (message) => this.#markDelivered(message));

  constructor(socket, courier, { shown }) {
    this.socket = socket;
    this.courier = courier;
    this.shown = shown;
    const on = (type, heard) => socket.addEventListener(type, ({ detail }) => heard(detail));
    on("hello", ({ pending }) => this.#fetch(pending));
    on("pong", ({ pending }) => this.#fetch(pending));
    on("message.sent", (event) => this.#arrived(event));
    on("state", () => this.#queue.clear());
  }

  /** Sends what waits anywhere but in the conversation on the screen, which does so by itself. */
  async flush() {
    for (const thread of await this.courier.outbox.threads()) {
      if (thread !== this.shown()) this.#visit(thread);
    }
  }

  #fetch(pending) {
    for (const { thread } of pending ?? []) if (thread !== this.shown()) this.#visit(thread);
  }

  #visit(thread) {
    if (!this.#visiting.has(thread)) this.#queue.set(thread, true);
    this.#next();
  }

  #next() {
    for (const thread of this.#queue.keys()) {
      if (this.#visiting.size >= AT_ONCE) return;
      this.#queue.delete(thread);
      this.#visiting.add(thread);
      this.#stay(thread).finally(() => {
        this.#visiting.delete(thread);
        this.#next();
      });
    }
  }

  async #stay(thread) {
    const synced = this.#synced(thread);
    if (!this.socket.send({ type: "thread.open", thread })) return;
    const event = await synced;
    if (!event) return;
    const newest = event.messages.at(-1);
    if (newest) this.#markDelivered(newest);
    await this.courier.ready(thread);
    if (thread !== this.shown()) this.socket.send({ type: "thread.close", thread });
  }

  #synced(thread) {
    return new Promise((resolve) => {
      const finish = (event) => {
        this.socket.removeEventListener("thread.synced", heard);
        resolve(event);
      };
      const heard = ({ detail }) => detail.thread === thread && finish(detail);
      this.socket.addEventListener("thread.synced", heard);
      // One that we are no longer in is never answered so.
      setTimeout(() => finish(null), PATIENCE);
    });
  }

  #arrived(event) {
    if (event.thread === this.shown() || event.author === this.courier.outbox.user) return;
    this.#delivered.push(event.thread, event);
  }

  #markDelivered({ thread, message, seq, tally }) {
    this.socket.send({ type: "thread.mark_delivered", thread, message, seq, tally });
  }
}
