// Messages that are not stored by the server yet. They survive a reload, a crash and being offline;
// all tabs of a person share them, and nobody else who signs in on this browser sees them.

import { get, ofUser, put, remove } from "./database.js";

// As long as the server remembers a client id: later, sending again could store it twice.
export const LIVES = 30 * 24 * 3_600_000;

let newest = 0;

export class Outbox extends EventTarget {
  #channel = globalThis.BroadcastChannel ? new BroadcastChannel("parley outbox") : null;

  constructor(user) {
    super();
    this.user = user;
    this.#channel?.addEventListener("message", ({ data }) => {
      if (data.user === user) this.dispatchEvent(new CustomEvent("change", { detail: data }));
    });
  }

  /** An entry with a name and a place of its own; not kept yet. */
  make({ thread, replyTo = null, quote = null, seenSeq = 0, at = Date.now(), ...said }) {
    // In the order in which they were written, even if the clock was put back meanwhile.
    newest = Math.max(newest + 1, at);
    const { body, attachments = [], links = [] } = said;
    const what = { thread, body, attachments, links, replyTo, quote, seenSeq };
    return { client: newId(), user: this.user, ...what, at, order: newest };
  }

  async add(entry) {
    await put("outbox", entry);
    this.#tell(entry, "added");
  }

  /** Of one conversation, in the order in which they were written. */
  async list(thread) {
    const mine = await ofUser("outbox", this.user);
    return mine.filter((one) => one.thread === thread).sort((a, b) => a.order - b.order);
  }

  /** Conversations in which something waits to be sent. */
  async threads() {
    const mine = await ofUser("outbox", this.user);
    return [...new Set(mine.filter((one) => !one.failed && !isTooOld(one)).map((one) => one.thread))];
  }

  async find(client) {
    const entry = await get("outbox", client);
    return entry?.user === this.user ? entry : null;
  }

  /** It is stored, or was taken back: `why` is for the other tabs. */
  async remove(client, why = "stored") {
    const entry = await this.find(client);
    if (!entry) return null;
    await remove("outbox", client);
    this.#tell(entry, why);
    return entry;
  }

  async fail(client, { code, message }) {
    const entry = await this.find(client);
    if (!entry) return;
    await put("outbox", { ...entry, failed: { code, message } });
    this.#tell(entry, "failed");
  }

  async retry(client) {
    const entry = await this.find(client);
    if (!entry) return;
    const { failed: _, ...again } = entry;
    await put("outbox", again);
    this.#tell(entry, "retried");
  }

  #tell({ user, thread, client }, what) {
    this.#channel?.postMessage({ user, thread, client, what });
  }
}

export const isTooOld = (entry, now = Date.now()) => now - entry.at > LIVES;

/** Only one tab at a time does it; where there are no locks, twice does no harm either. */
export function alone(name, work) {
  return navigator.locks ? navigator.locks.request(name, work) : work();
}

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // Plain http on a local network has no randomUUID, but has random numbers.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
