// What a page holds of a conversation, by number: what to show, what it has, what is missing.

export class Sequence {
  #heardSeq = 0;
  #heardRev = 0;

  constructor(seq, rev) {
    this.seq = seq; // Everything up to this message is here; 0 if nothing is.
    this.rev = rev; // Every change up to this one was taken in.
  }

  /** Of a message: "next" is to be shown, "known" is here already, "gap" lacks what is before it. */
  hear(seq) {
    this.note(seq);
    if (seq <= this.seq) return "known";
    if (this.seq && seq > this.seq + 1) return "gap";
    this.seq = seq;
    return "next";
  }

  /** It exists, and cannot be shown yet. */
  note(seq) {
    this.#heardSeq = Math.max(this.#heardSeq, seq);
  }

  /** Of a change: whether the ones before it were all taken in. */
  hearChange(rev) {
    this.#heardRev = Math.max(this.#heardRev, rev);
    if (rev === this.rev + 1) this.rev = rev;
    return rev <= this.rev;
  }

  /** After a whole answer to what was asked; what was heard meanwhile may still be missing. */
  caughtUp(rev) {
    this.rev = Math.max(this.rev, rev);
  }

  get isBehind() {
    return this.#heardSeq > this.seq || this.#heardRev > this.rev;
  }

  /** The page was begun anew at another place. */
  startAt(seq) {
    this.seq = seq;
  }
}
