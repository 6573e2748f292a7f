// The draft of a message: stored in this browser at once and on the server a little later. A
// different draft written on another device is never overwritten.

import { Throttle } from "../realtime/throttle.js";
import { get, put } from "../store/database.js";
import { DraftJournal } from "../store/draft_journal.js";

const LOCAL_SAVE_INTERVAL = 300;
const SERVER_SAVE_DELAY = 2_000;

/**
 * Merges the text in the box (`typed`) with the server's draft (`remote`). `synced` is the text
 * that both last agreed on, `saving` the text of a save in progress or null, and `posted` the text
 * of a sent message that the server's draft may not include yet.
 */
export function reconcile({ typed, synced, saving, posted = "" }, remote) {
  if (remote === typed) return { text: typed, agreed: true };
  // The server still has the text from before it was sent or cleared here.
  if (remote === synced || (posted && posted.startsWith(remote))) return { text: typed, agreed: true };
  if (saving !== null && remote === saving) return { text: typed, agreed: true };
  // Another device saved first, and the server appended our text to that device's text.
  if (saving && remote.endsWith(saving)) {
    const before = remote.slice(0, -saving.length);
    return { text: typed.startsWith(saving) ? before + typed : remote, agreed: true };
  }
  if (typed === synced || !typed.trim()) return { text: remote, agreed: true };
  // Both changed: saving on the old version makes the server keep both texts.
  return { text: typed, agreed: false };
}

export class Draft extends EventTarget {
  #version = 0;
  #synced = "";
  #saving = null;
  #posted = "";
  #journal;
  #storing = new Throttle(LOCAL_SAVE_INTERVAL, () => this.#store());
  #saveTimer = null;
  #isOpen = false;
  #isRestored = false;
  #isTouched = false; // Until restored, an untouched box is empty only because nothing was loaded.
  #restored;

  constructor(socket, { user, thread, read, write }) {
    super();
    Object.assign(this, { socket, user, thread, read, write });
    this.#journal = new DraftJournal(user, thread);
    addEventListener("pagehide", () => this.#store());
    socket.addEventListener("state", () => (this.#saving = null));
    socket.addEventListener("draft.changed", ({ detail }) => {
      if (detail.thread === thread) this.#receive(detail);
    });
  }

  restore() {
    this.#restored = this.#restore();
    return this.#restored;
  }

  async #restore() {
    const journaled = this.#journal.read();
    const stored = { ...(await get("drafts", [this.user, this.thread])), ...journaled };
    this.#isRestored = true;
    if (stored.text === undefined) return;
    this.#version = stored.version ?? 0;
    this.#synced = stored.synced ?? "";
    // A text returned by a refused form, or a message sent meanwhile, is newer.
    if (!this.read() && !this.#posted) this.write(stored.text);
    this.#posted ||= stored.posted ?? "";
    if (journaled) this.#storing.push("");
  }

  changed() {
    this.#touch();
    this.#schedule();
  }

  /** The text was sent as a message, so a reload must not restore it. */
  async sent(text) {
    this.#posted = text;
    this.#touch();
    await this.#store();
    this.#save();
  }

  /** The browser posts the form; a refused form returns the text. */
  posted() {
    this.read = () => "";
    this.#touch();
    this.#store();
  }

  /** The thread is synced: text written while offline is saved on the server, too. */
  synced() {
    this.#isOpen = true;
    this.#schedule();
  }

  #schedule() {
    this.#storing.push("");
    clearTimeout(this.#saveTimer);
    this.#saveTimer = setTimeout(() => this.#save(), SERVER_SAVE_DELAY);
  }

  #touch() {
    this.#isTouched = true;
    this.#writeJournal();
  }

  #writeJournal() {
    const [text, posted] = [this.read(), this.#posted];
    if (this.#isRestored) {
      return this.#journal.write({ text, posted, version: this.#version, synced: this.#synced });
    }
    return this.#isTouched && this.#journal.write({ text, posted });
  }

  async #store() {
    await this.#restored;
    const { user, thread } = this;
    const entry = this.#writeJournal();
    await put("drafts", { user, thread, ...JSON.parse(entry) });
    this.#journal.remove(entry);
  }

  async #save() {
    clearTimeout(this.#saveTimer);
    await this.#restored;
    const text = this.read();
    if (!this.#isOpen || this.#saving !== null || text === this.#synced) return;
    const { thread } = this;
    const frame = { type: "draft.save", thread, text, version: this.#version };
    if (this.socket.send(frame)) this.#saving = text;
  }

  async #receive({ text: remote, version }) {
    await this.#restored;
    if (version < this.#version) return;
    const typed = this.read();
    const mine = { typed, synced: this.#synced, saving: this.#saving, posted: this.#posted };
    const { text, agreed } = reconcile(mine, remote);
    if (remote === typed) this.#posted = "";
    if (agreed) {
      this.#version = version;
      this.#synced = remote;
    }
    this.#saving = null;
    if (text !== typed) this.write(text, { before: text.length - typed.length });
    if (text === remote) this.#store();
    else this.changed();
  }
}
