// A synchronous journal of the draft that is being typed. IndexedDB may not finish a write while
// the page unloads; localStorage does. An entry is removed once IndexedDB has stored the draft.

const MAX_LENGTH = 20_000; // Longer texts cannot be sent, and localStorage is small.

export class DraftJournal {
  constructor(user, thread) {
    this.key = `draft ${user} ${thread}`;
  }

  read() {
    return JSON.parse(localStorage.getItem(this.key) ?? "null");
  }

  /** Returns the entry, for `remove`. */
  write(draft) {
    const entry = JSON.stringify(draft);
    localStorage.removeItem(this.key);
    try {
      if (entry.length <= MAX_LENGTH) localStorage.setItem(this.key, entry);
    } catch {
      // localStorage is full: the draft is in IndexedDB a moment later.
    }
    return entry;
  }

  /** Keeps a newer entry, for example from another tab. */
  remove(entry) {
    if (localStorage.getItem(this.key) === entry) localStorage.removeItem(this.key);
  }
}
