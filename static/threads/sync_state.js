// Which messages and changes of a thread the page has, by number, so that it detects gaps.

export class SyncState {
  #newestSeq = 0;
  #newestRev = 0;

  constructor(seq, rev) {
    this.seq = seq; // The page has every message up to this one; 0 if it has none.
    this.rev = rev; // The page has applied every change up to this one.
  }

  /** Returns "next" (to be shown), "duplicate", or "gap" if messages before it are missing. */
  receive(seq) {
    this.expect(seq);
    if (seq <= this.seq) return "duplicate";
    if (this.seq && seq > this.seq + 1) return "gap";
    this.seq = seq;
    return "next";
  }

  /** The message exists, but cannot be shown yet. */
  expect(seq) {
    this.#newestSeq = Math.max(this.#newestSeq, seq);
  }

  /** Returns whether all changes up to this one were applied. */
  receiveChange(rev) {
    this.#newestRev = Math.max(this.#newestRev, rev);
    if (rev === this.rev + 1) this.rev = rev;
    return rev <= this.rev;
  }

  /** A complete sync was applied; events received meanwhile may still be missing. */
  completeSync(rev) {
    this.rev = Math.max(this.rev, rev);
  }

  get isBehind() {
    return this.#newestSeq > this.seq || this.#newestRev > this.rev;
  }

  /** The page was emptied, or shows another range. */
  resetTo(seq) {
    this.seq = seq;
  }
}
