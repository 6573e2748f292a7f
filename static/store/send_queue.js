// Sends messages from the outbox to the server: in order, each until it is answered, and only in
// threads that were synced first.

import { isTooOld, withLock } from "./outbox.js";

const ANSWER_TIMEOUT = 15_000; // Sending again after it is idempotent.
const RETRY_DELAY = 2_000;
const MIN_NOTICE_SECONDS = 5; // Shorter delays are not shown to the user.
const RETRYABLE = ["TRY_AGAIN", "RATE_LIMITED"];

export class SendQueue extends EventTarget {
  #answers = new Map(); // client id -> function that resolves with the answer
  #ready = new Set(); // threads synced on this connection
  #busy = new Map(); // thread -> whether to flush again when done

  constructor(socket, outbox) {
    super();
    this.socket = socket;
    this.outbox = outbox;
    const on = (type, handle) => socket.addEventListener(type, ({ detail }) => handle(detail));
    on("message.accepted", (event) => this.#accepted(event));
    on("error", (event) => this.#answer(event.client_id, event));
    on("message.sent", (event) => this.#echoed(event));
    on("thread.synced", (event) => event.messages.forEach((message) => this.#echoed(message)));
    on("state", () => this.#disconnected());
  }

  /** The thread is synced: its pending messages are sent from now on. */
  ready(thread) {
    this.#ready.add(thread);
    return this.flush(thread);
  }

  async flush(thread) {
    if (!this.#ready.has(thread)) return;
    if (this.#busy.has(thread)) return void this.#busy.set(thread, true);
    this.#busy.set(thread, false);
    await withLock(`parley outbox ${this.outbox.user} ${thread}`, () => this.#sendAll(thread));
    const again = this.#busy.get(thread);
    this.#busy.delete(thread);
    if (again) await this.flush(thread);
  }

  async #sendAll(thread) {
    while (this.#ready.has(thread)) {
      const pending = await this.outbox.list(thread);
      const next = pending.find((entry) => !entry.failed && !isTooOld(entry));
      if (!next) return;
      const answer = await this.#send(next);
      if (!(await this.#applyAnswer(next, answer))) return;
    }
  }

  #send({ thread, client, body, attachments, links, replyTo, seenSeq, afterSeq }) {
    const frame = { type: "message.send", thread, client_id: client, body, seen_seq: seenSeq };
    if (replyTo) frame.reply_to = replyTo;
    if (attachments?.length) frame.attachments = attachments.map(({ id }) => id);
    if (links?.length) frame.links = links;
    if (afterSeq) frame.after_seq = afterSeq;
    return new Promise((resolve) => {
      this.#answers.set(client, resolve);
      setTimeout(() => this.#answer(client, { type: "timeout" }), ANSWER_TIMEOUT);
      if (!this.socket.send(frame)) this.#answer(client, { type: "away" });
    });
  }

  /** Returns whether to send the next message. */
  async #applyAnswer(entry, answer) {
    if (answer.type === "message.accepted") {
      this.dispatchEvent(new CustomEvent("stored", { detail: answer }));
      await this.outbox.remove(entry.client);
      return true;
    }
    if (answer.type === "timeout") return true;
    if (answer.type !== "error") return answer.type === "echoed";
    if (RETRYABLE.includes(answer.code)) {
      if (answer.retry_after >= MIN_NOTICE_SECONDS) {
        this.dispatchEvent(new CustomEvent("delayed", { detail: answer }));
      }
      const delay = answer.retry_after ? answer.retry_after * 1000 : RETRY_DELAY;
      setTimeout(() => this.flush(entry.thread), delay * (1 + Math.random() / 2));
      return false;
    }
    await this.outbox.fail(entry.client, answer);
    this.dispatchEvent(new CustomEvent("refused", { detail: { ...answer, thread: entry.thread } }));
    return true;
  }

  /** A notice to the author is only in the answer, which may arrive after the echo. */
  #accepted(event) {
    if (event.notice) this.dispatchEvent(new CustomEvent("noticed", { detail: event }));
    this.#answer(event.client_id, event);
  }

  /** The echo may arrive before the answer, or instead of it. */
  async #echoed({ author, client_id: client }) {
    if (author !== this.outbox.user || !client) return;
    await this.outbox.remove(client);
    this.#answer(client, { type: "echoed" });
  }

  #answer(client, answer) {
    const resolve = this.#answers.get(client);
    this.#answers.delete(client);
    resolve?.(answer);
  }

  #disconnected() {
    // Unanswered messages may or may not have arrived; sending them again is idempotent.
    this.#ready.clear();
    for (const client of [...this.#answers.keys()]) this.#answer(client, { type: "away" });
  }
}
