// Carries what is in the outbox to the server: one after the other, each until it is answered, and
// only in conversations that were caught up with first.

import { alone, isTooOld } from "./outbox.js";

const PATIENCE = 15_000; // Without an answer for so long it is sent again, which is harmless.
const AGAIN = 2_000;
const WORTH_SAYING = 5; // Seconds to wait that one wonders about.
const PASSES = ["TRY_AGAIN", "RATE_LIMITED"];

export class Courier extends EventTarget {
  #answers = new Map(); // client id -> what to do with the answer
  #ready = new Set(); // threads that were synced on this connection
  #busy = new Map(); // thread -> whether to look again when done

  constructor(socket, outbox) {
    super();
    this.socket = socket;
    this.outbox = outbox;
    const on = (type, heard) => socket.addEventListener(type, ({ detail }) => heard(detail));
    on("message.accepted", (event) => this.#accepted(event));
    on("error", (event) => this.#answer(event.client_id, event));
    on("message.sent", (event) => this.#seen(event));
    on("thread.synced", (event) => event.messages.forEach((message) => this.#seen(message)));
    on("state", () => this.#disconnected());
  }

  /** The thread was caught up with: from now on what waits for it goes out. */
  ready(thread) {
    this.#ready.add(thread);
    return this.flush(thread);
  }

  async flush(thread) {
    if (!this.#ready.has(thread)) return;
    if (this.#busy.has(thread)) return void this.#busy.set(thread, true);
    this.#busy.set(thread, false);
    await alone(`parley outbox ${this.outbox.user} ${thread}`, () => this.#sendAll(thread));
    const again = this.#busy.get(thread);
    this.#busy.delete(thread);
    if (again) await this.flush(thread);
  }

  async #sendAll(thread) {
    while (this.#ready.has(thread)) {
      const waiting = await this.outbox.list(thread);
      const next = waiting.find((entry) => !entry.failed && !isTooOld(entry));
      if (!next) return;
      const answer = await this.#send(next);
      if (!(await this.#settle(next, answer))) return;
    }
  }

  #send({ thread, client, body, attachments, links, replyTo, seenSeq }) {
    const frame = { type: "message.send", thread, client_id: client, body, seen_seq: seenSeq };
    if (replyTo) frame.reply_to = replyTo;
    if (attachments?.length) frame.attachments = attachments.map(({ id }) => id);
    if (links?.length) frame.links = links;
    return new Promise((resolve) => {
      this.#answers.set(client, resolve);
      setTimeout(() => this.#answer(client, { type: "silence" }), PATIENCE);
      if (!this.socket.send(frame)) this.#answer(client, { type: "away" });
    });
  }

  /** Whether to go on with the next one. */
  async #settle(entry, answer) {
    if (answer.type === "message.accepted") {
      this.dispatchEvent(new CustomEvent("stored", { detail: answer }));
      await this.outbox.remove(entry.client);
      return true;
    }
    if (answer.type === "silence") return true;
    if (answer.type !== "error") return answer.type === "seen";
    if (PASSES.includes(answer.code)) {
      if (answer.retry_after >= WORTH_SAYING) {
        this.dispatchEvent(new CustomEvent("delayed", { detail: answer }));
      }
      const wait = answer.retry_after ? answer.retry_after * 1000 : AGAIN;
      setTimeout(() => this.flush(entry.thread), wait * (1 + Math.random() / 2));
      return false;
    }
    await this.outbox.fail(entry.client, answer);
    this.dispatchEvent(new CustomEvent("refused", { detail: { ...answer, thread: entry.thread } }));
    return true;
  }

  /** A word to the author is only in the answer, which may come after the echo. */
  #accepted(event) {
    if (event.notice) this.dispatchEvent(new CustomEvent("noticed", { detail: event }));
    this.#answer(event.client_id, event);
  }

  /** The echo may come before the answer, or instead of it. */
  async #seen({ author, client_id: client }) {
    if (author !== this.outbox.user || !client) return;
    await this.outbox.remove(client);
    this.#answer(client, { type: "seen" });
  }

  #answer(client, answer) {
    const resolve = this.#answers.get(client);
    this.#answers.delete(client);
    resolve?.(answer);
  }

  #disconnected() {
    // Whether what was handed over arrived nobody knows; sending it again is safe.
    this.#ready.clear();
    for (const client of [...this.#answers.keys()]) this.#answer(client, { type: "away" });
  }
}
