// Threads that are not on the screen: marks their new messages as delivered, and sends their
// messages from the outbox.

import { Throttle } from "./throttle.js";

const MAX_CONCURRENT = 2;
const SYNC_TIMEOUT = 8_000;
const DELIVERED_INTERVAL = 1_000;

export class BackgroundThreads {
  #queue = new Set(); // thread ids
  #active = new Set();
  #delivered = new Throttle(DELIVERED_INTERVAL, (message) => this.#markDelivered(message));

  constructor(socket, sendQueue, { shown }) {
    this.socket = socket;
    this.sendQueue = sendQueue;
    this.shown = shown;
    const on = (type, handle) => socket.addEventListener(type, ({ detail }) => handle(detail));
    on("hello", ({ pending }) => this.#enqueueAll(pending));
    on("pong", ({ pending }) => this.#enqueueAll(pending));
    on("message.sent", (event) => this.#arrived(event));
    on("state", () => this.#queue.clear());
  }

  /** Sends pending messages of every thread except the one on the screen, which sends its own. */
  async flush() {
    for (const thread of await this.sendQueue.outbox.threads()) {
      if (thread !== this.shown()) this.#enqueue(thread);
    }
  }

  #enqueueAll(pending) {
    for (const { thread } of pending ?? []) if (thread !== this.shown()) this.#enqueue(thread);
  }

  #enqueue(thread) {
    if (!this.#active.has(thread)) this.#queue.add(thread);
    this.#runQueue();
  }

  #runQueue() {
    for (const thread of this.#queue) {
      if (this.#active.size >= MAX_CONCURRENT) return;
      this.#queue.delete(thread);
      this.#active.add(thread);
      this.#process(thread).finally(() => {
        this.#active.delete(thread);
        this.#runQueue();
      });
    }
  }

  async #process(thread) {
    const synced = this.#synced(thread);
    if (!this.socket.send({ type: "thread.open", thread })) return;
    const event = await synced;
    if (!event) return;
    const newest = event.messages.at(-1);
    if (newest) this.#markDelivered(newest);
    await this.sendQueue.ready(thread);
    if (thread !== this.shown()) this.socket.send({ type: "thread.close", thread });
  }

  #synced(thread) {
    return new Promise((resolve) => {
      const finish = (event) => {
        this.socket.removeEventListener("thread.synced", onSynced);
        resolve(event);
      };
      const onSynced = ({ detail }) => detail.thread === thread && finish(detail);
      this.socket.addEventListener("thread.synced", onSynced);
      // A thread that the user has left is never synced.
      setTimeout(() => finish(null), SYNC_TIMEOUT);
    });
  }

  #arrived(event) {
    if (event.thread === this.shown() || event.author === this.sendQueue.outbox.user) return;
    this.#delivered.push(event.thread, event);
  }

  #markDelivered({ thread, message, seq, tally }) {
    this.socket.send({ type: "thread.mark_delivered", thread, message, seq, tally });
  }
}
