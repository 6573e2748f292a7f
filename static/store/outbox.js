// Messages that the server has not stored yet. They survive a reload, a crash and being offline.
// All tabs of a user share them; other users of this browser do not see them.

import { get, listByUser, put, remove } from "./database.js";

// The server keeps a client id this long; a later retry could store the message twice.
export const MAX_AGE = 30 * 24 * 3_600_000;

let lastOrder = 0;

export class Outbox extends EventTarget {
  #channel = globalThis.BroadcastChannel ? new BroadcastChannel("parley outbox") : null;

  constructor(user) {
    super();
    this.user = user;
    this.#channel?.addEventListener("message", ({ data }) => {
      if (data.user === user) this.dispatchEvent(new CustomEvent("change", { detail: data }));
    });
  }

  /** Returns a new entry with a client id; `add` stores it. */
  make({ thread, replyTo = null, quote = null, seenSeq = 0, afterSeq, at = Date.now(), ...content }) {
    // Keeps the order of writing even if the clock was set back.
    lastOrder = Math.max(lastOrder + 1, at);
    const { body, attachments = [], links = [] } = content;
    const message = { thread, body, attachments, links, replyTo, quote, seenSeq, afterSeq };
    return { client: newId(), user: this.user, ...message, at, order: lastOrder };
  }

  async add(entry) {
    await put("outbox", entry);
    this.#publish(entry, "added");
  }

  /** The entries of a thread, in the order of writing. */
  async list(thread) {
    const mine = await listByUser("outbox", this.user);
    return mine.filter((one) => one.thread === thread).sort((a, b) => a.order - b.order);
  }

  /** Threads with messages to send. */
  async threads() {
    const mine = await listByUser("outbox", this.user);
    return [...new Set(mine.filter((one) => !one.failed && !isTooOld(one)).map((one) => one.thread))];
  }

  async find(client) {
    const entry = await get("outbox", client);
    return entry?.user === this.user ? entry : null;
  }

  /** `reason` is "stored" or "discarded", for the other tabs. */
  async remove(client, reason = "stored") {
    const entry = await this.find(client);
    if (!entry) return null;
    await remove("outbox", client);
    this.#publish(entry, reason);
    return entry;
  }

  async fail(client, { code, message }) {
    const entry = await this.find(client);
    if (!entry) return;
    await put("outbox", { ...entry, failed: { code, message } });
    this.#publish(entry, "failed");
  }

  async retry(client) {
    const entry = await this.find(client);
    if (!entry) return;
    const { failed: _, ...again } = entry;
    await put("outbox", again);
    this.#publish(entry, "retried");
  }

  #publish({ user, thread, client }, change) {
    this.#channel?.postMessage({ user, thread, client, change });
  }
}

export const isTooOld = (entry, now = Date.now()) => now - entry.at > MAX_AGE;

/** Runs in one tab at a time. Without the Web Locks API, running twice is harmless. */
export function withLock(name, work) {
  return navigator.locks ? navigator.locks.request(name, work) : work();
}

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // randomUUID requires a secure context; plain http on a local network is none.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
