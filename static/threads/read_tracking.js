// Read is what was on the screen of somebody who was there: the page visible, the window in focus,
// the message in sight, and everything before it, too.

import { Pace } from "../realtime/throttle.js";
import { fromTemplate } from "../site/fragments.js";
import { toast } from "../site/notices.js";

const AT_MOST_EVERY = 1_000;
const FAR = 400;
const SCROLLED = 3; // screens between two looks: a fast scroll on a slow machine

export class Reading {
  #inSight = new Set(); // elements
  #seen = new Set(); // numbers
  #lastLook = null; // what was in sight then: first, last, and where
  #read = null; // the last that is known to be read; null until the server has said
  #delivered = 0;
  #isMarked; // as unread, by hand: being here again takes it back
  #marking = new Pace(AT_MOST_EVERY, () => this.#mark());
  #observer;

  constructor(timeline, socket, { onJump }) {
    this.timeline = timeline;
    this.socket = socket;
    this.#isMarked = "marked" in timeline.list.dataset;
    this.jump = document.querySelector("[data-jump]");
    this.line = timeline.list.querySelector(".unread-line");
    this.jump.addEventListener("click", onJump);
    this.#watch();
    for (const [target, type] of [
      [timeline.scroller, "scroll"],
      [window, "focus"],
      [document, "visibilitychange"],
    ]) {
      target.addEventListener(type, () => this.look(), { passive: true });
    }
    this.#offerJump();
  }

  get isAttentive() {
    return document.visibilityState === "visible" && document.hasFocus();
  }

  /** The newest up to which everything was in sight. */
  get seenSeq() {
    let seq = this.#read ?? 0;
    while (this.#wasSeen(seq + 1)) seq += 1;
    return seq;
  }

  #wasSeen(seq) {
    if (this.#seen.has(seq)) return true;
    return this.timeline.bySeq(seq)?.dataset.author === this.timeline.me;
  }

  /** The server's word on how far I have got: what was marked and did not arrive is marked again. */
  begin({ read_seq: read, delivered_seq: delivered }) {
    this.#read = read;
    this.#delivered = Math.max(delivered, read);
    this.look();
  }

  /** On this device or on another of mine. */
  moved({ read_seq: read, delivered_seq: delivered }) {
    this.#read = Math.max(this.#read, read);
    this.#delivered = Math.max(this.#delivered, delivered, read);
    this.look();
  }

  /** A message of somebody else was put in: where reading stopped there is a line. */
  arrived(message) {
    if (!(this.isAttentive && this.timeline.isAtEnd)) this.#drawLine(message);
    this.look();
  }

  #drawLine(message) {
    const first = this.line?.isConnected ? nextMessage(this.line) : null;
    if (first && Number(first.dataset.seq) > this.seenSeq) return;
    this.line?.remove();
    this.line = fromTemplate("unread-line");
    message.before(this.line);
  }

  /** Whoever answers has caught up. */
  answered() {
    if (this.timeline.hasEnd) this.line?.remove();
  }

  openAtLine() {
    this.line?.scrollIntoView({ block: "start" });
  }

  /** What one leapt over was not in sight, so it is not read, unless one says so. */
  leapt() {
    this.#lastLook = null;
    const unread = this.#below();
    if (!unread) return;
    toast(`${unread} you have not seen are above`, {
      label: "Mark as read",
      run: () => this.#say("thread.mark_read", this.timeline.newest),
    });
  }

  look() {
    this.#offerJump();
    if (this.isAttentive) for (const one of this.#inSight) this.#seen.add(seqOf(one));
    if (this.#read !== null && this.socket.isLive) this.#marking.push("");
  }

  /** What one scrolled past since the last look was in sight, too; a leap is no scrolling. */
  #scrolledPast() {
    const seqs = [...this.#inSight].map(seqOf);
    if (!seqs.length || !this.isAttentive) return;
    const { scrollTop: top, clientHeight } = this.timeline.scroller;
    const now = { first: Math.min(...seqs), last: Math.max(...seqs), top };
    const last = this.#lastLook ?? now;
    const isLeap = Math.abs(top - last.top) > SCROLLED * clientHeight;
    this.#lastLook = now;
    if (isLeap) return;
    const [from, to] = last.last < now.first ? [last.last, now.first] : [now.last, last.first];
    for (let seq = from; seq <= to; seq += 1) this.#seen.add(seq);
  }

  #watch() {
    const { list, scroller } = this.timeline;
    this.#observer = new IntersectionObserver((entries) => this.#sighted(entries), {
      root: scroller,
      threshold: [0, 0.25, 0.5, 0.75, 1],
    });
    for (const message of this.timeline.stored) this.#observer.observe(message);
    new MutationObserver((changes) => {
      for (const { addedNodes, removedNodes } of changes) {
        for (const node of addedNodes) if (node.dataset?.seq) this.#observer.observe(node);
        for (const node of removedNodes) this.#inSight.delete(node);
      }
    }).observe(list, { childList: true });
  }

  #sighted(entries) {
    for (const { target, intersectionRatio, intersectionRect, rootBounds } of entries) {
      // Half of it, or as much of it as fills half of the screen.
      const much = intersectionRatio >= 0.5 || intersectionRect.height >= rootBounds?.height / 2;
      if (much && target.isConnected) this.#inSight.add(target);
      else this.#inSight.delete(target);
    }
    this.#scrolledPast();
    this.look();
  }

  #mark() {
    const seen = this.timeline.bySeq(this.seenSeq);
    if (seen && Number(seen.dataset.seq) > this.#read) {
      if (this.#say("thread.mark_read", seen)) this.#read = Number(seen.dataset.seq);
    }
    const { newest, hasEnd } = this.timeline;
    const seq = Number(newest?.dataset.seq ?? 0);
    if (this.#isMarked && this.isAttentive && hasEnd && seq === this.#read) {
      this.#isMarked = !this.#say("thread.mark_read", newest);
    }
    if (!hasEnd || seq <= Math.max(this.#delivered, this.#read)) return;
    if (this.#say("thread.mark_delivered", newest)) this.#delivered = seq;
  }

  #say(type, { dataset: { message, seq, tally } }) {
    const { thread } = this.timeline;
    return this.socket.send({ type, thread, message, seq: Number(seq), tally: Number(tally) });
  }

  #offerJump() {
    const { timeline } = this;
    const below = this.#below();
    const isFar = -timeline.scroller.scrollTop > FAR || !timeline.hasEnd;
    this.jump.hidden = timeline.isAtEnd || !(isFar || below);
    const count = this.jump.querySelector("[data-jump-count]");
    count.hidden = !below;
    count.firstElementChild.textContent = below;
  }

  /** How many there are that were not in sight. */
  #below() {
    const { list, hasEnd, held } = this.timeline;
    const read = this.#read ?? held.seq;
    const isHere = hasEnd && (read >= held.seq || this.timeline.bySeq(read + 1));
    return isHere ? this.#unseen() : Number(list.dataset.unread || 0);
  }

  #unseen() {
    const { me, stored } = this.timeline;
    const from = this.#read ?? Infinity;
    return [...stored].filter(({ dataset }) => {
      const seq = Number(dataset.seq);
      return dataset.author && dataset.author !== me && seq > from && !this.#seen.has(seq);
    }).length;
  }
}

const seqOf = ({ dataset }) => Number(dataset.seq);

function nextMessage(line) {
  let next = line.nextElementSibling;
  while (next && !next.matches(".message")) next = next.nextElementSibling;
  return next;
}
