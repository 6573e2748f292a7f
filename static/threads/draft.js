// What somebody is writing: kept in this browser at once, on the server a little later, and never
// at the cost of a different text that was written on another device.

import { Pace } from "../realtime/throttle.js";
import { get, put } from "../store/database.js";

const HERE = 300;
const THERE = 2_000;

/**
 * What to do about a draft that the server tells of. `synced` is the text that we last agreed on,
 * `saving` the one that we have just sent, null if none, and `posted` the text of a message that
 * the server's draft may not know of yet.
 */
export function reconcile({ typed, synced, saving, posted = "" }, told) {
  if (told === typed) return { text: typed, agreed: true };
  // The server has only what was there before it became a message, or was cleared, here.
  if (told === synced || (posted && posted.startsWith(told))) return { text: typed, agreed: true };
  if (saving !== null && told === saving) return { text: typed, agreed: true };
  // Another device was faster: the server has put ours behind its text. What was typed since stays.
  if (saving && told.endsWith(saving)) {
    const before = told.slice(0, -saving.length);
    return { text: typed.startsWith(saving) ? before + typed : told, agreed: true };
  }
  if (typed === synced || !typed.trim()) return { text: told, agreed: true };
  // Ours differs and is not saved: on the old version, so that the server keeps both.
  return { text: typed, agreed: false };
}

export class Draft extends EventTarget {
  #version = 0;
  #synced = "";
  #saving = null;
  #posted = "";
  #keeping = new Pace(HERE, () => this.#keep());
  #saveLater = null;
  #isOpen = false;
  #restored; // until then the box is empty only because nobody has looked

  constructor(socket, { user, thread, read, write }) {
    super();
    Object.assign(this, { socket, user, thread, read, write });
    addEventListener("pagehide", () => this.#keep());
    document.addEventListener("visibilitychange", () => this.#keep());
    socket.addEventListener("state", () => (this.#saving = null));
    socket.addEventListener("draft.changed", ({ detail }) => {
      if (detail.thread === thread) this.#told(detail);
    });
  }

  restore() {
    this.#restored = this.#restore();
    return this.#restored;
  }

  async #restore() {
    const kept = await get("drafts", [this.user, this.thread]);
    if (!kept) return;
    this.#version = kept.version;
    this.#synced = kept.synced;
    this.#posted = kept.posted ?? "";
    // What a refused form gave back is newer than what was kept.
    if (!this.read()) this.write(kept.text);
  }

  changed() {
    this.#keeping.push("");
    clearTimeout(this.#saveLater);
    this.#saveLater = setTimeout(() => this.#save(), THERE);
  }

  /** What was written was sent: at once, or a reload would bring it back. */
  async sent(text) {
    this.#posted = text;
    await this.#keep();
    this.#save();
  }

  /** The form takes the text along, and brings it back if it is refused. */
  posted() {
    this.read = () => "";
    this.#keep();
  }

  /** The thread was caught up with: whatever was written while away goes to the server, too. */
  synced() {
    this.#isOpen = true;
    this.changed();
  }

  async #keep() {
    await this.#restored;
    const { user, thread } = this;
    const [version, synced, posted] = [this.#version, this.#synced, this.#posted];
    return put("drafts", { user, thread, text: this.read(), version, synced, posted });
  }

  async #save() {
    clearTimeout(this.#saveLater);
    await this.#restored;
    const text = this.read();
    if (!this.#isOpen || this.#saving !== null || text === this.#synced) return;
    const { thread } = this;
    const frame = { type: "draft.save", thread, text, version: this.#version };
    if (this.socket.send(frame)) this.#saving = text;
  }

  async #told({ text: told, version }) {
    await this.#restored;
    if (version < this.#version) return;
    const typed = this.read();
    const mine = { typed, synced: this.#synced, saving: this.#saving, posted: this.#posted };
    const { text, agreed } = reconcile(mine, told);
    if (told === typed) this.#posted = "";
    if (agreed) {
      this.#version = version;
      this.#synced = told;
    }
    this.#saving = null;
    if (text !== typed) this.write(text, { before: text.length - typed.length });
    if (text === told) this.#keep();
    else this.changed();
  }
}
