// Read tracking. A message is read when it was visible while the page was visible and its window
// had the focus, and so was every message before it.

import { Throttle } from "../realtime/throttle.js";
import { fromTemplate } from "../site/fragments.js";
import { toast } from "../site/notices.js";

const MARK_INTERVAL = 1_000;
const JUMP_DISTANCE = 400; // Pixels from the end at which the jump button appears.
const MAX_SCROLL = 3; // Screens between two checks; more is a jump, not scrolling.

export class ReadTracker {
  #visible = new Set(); // elements
  #seen = new Set(); // sequence numbers
  #lastCheck = null; // visible range and scroll position: { first, last, top }
  #read = null; // last read sequence number; null until the first sync
  #delivered = 0;
  #isMarked; // The user marked the thread as unread; reading it again clears the mark.
  #marking = new Throttle(MARK_INTERVAL, () => this.#mark());
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
      target.addEventListener(type, () => this.check(), { passive: true });
    }
    this.#showJumpButton();
  }

  get isAttentive() {
    return document.visibilityState === "visible" && document.hasFocus();
  }

  /** The newest message up to which all were seen. */
  get seenSeq() {
    let seq = this.#read ?? 0;
    while (this.#wasSeen(seq + 1)) seq += 1;
    return seq;
  }

  #wasSeen(seq) {
    if (this.#seen.has(seq)) return true;
    return this.timeline.bySeq(seq)?.dataset.author === this.timeline.me;
  }

  /** Applies the server's cursor; marks that did not arrive are sent again. */
  start({ read_seq: read, delivered_seq: delivered }) {
    this.#read = read;
    this.#delivered = Math.max(delivered, read);
    this.check();
  }

  /** The user's cursor moved, on this or another device. */
  moved({ read_seq: read, delivered_seq: delivered }) {
    this.#read = Math.max(this.#read, read);
    this.#delivered = Math.max(this.#delivered, delivered, read);
    this.check();
  }

  /** A message of another user was added: the unread line marks where reading stopped. */
  arrived(message) {
    if (!(this.isAttentive && this.timeline.isAtEnd)) this.#drawLine(message);
    this.check();
  }

  #drawLine(message) {
    const first = this.line?.isConnected ? nextMessage(this.line) : null;
    if (first && Number(first.dataset.seq) > this.seenSeq) return;
    this.line?.remove();
    this.line = fromTemplate("unread-line");
    message.before(this.line);
  }

  /** Sending a message removes the unread line. */
  replied() {
    if (this.timeline.hasEnd) this.line?.remove();
  }

  scrollToUnread() {
    this.line?.scrollIntoView({ block: "start" });
  }

  /** Messages that were jumped over are not read, unless the user marks them. */
  jumped() {
    this.#lastCheck = null;
    const unread = this.#countUnread();
    if (!unread) return;
    toast(`${unread} unread above`, {
      label: "Mark as read",
      run: () => this.#sendMark("thread.mark_read", this.timeline.newest),
    });
  }

  check() {
    this.#showJumpButton();
    if (this.isAttentive) for (const one of this.#visible) this.#seen.add(seqOf(one));
    if (this.#read !== null && this.socket.isLive) this.#marking.push("");
  }

  /** Messages scrolled past since the last check were seen, too; those jumped over were not. */
  #markScrolledPast() {
    const seqs = [...this.#visible].map(seqOf);
    if (!seqs.length || !this.isAttentive) return;
    const { scrollTop: top, clientHeight } = this.timeline.scroller;
    const now = { first: Math.min(...seqs), last: Math.max(...seqs), top };
    const last = this.#lastCheck ?? now;
    const isJump = Math.abs(top - last.top) > MAX_SCROLL * clientHeight;
    this.#lastCheck = now;
    if (isJump) return;
    const [from, to] = last.last < now.first ? [last.last, now.first] : [now.last, last.first];
    for (let seq = from; seq <= to; seq += 1) this.#seen.add(seq);
  }

  #watch() {
    const { list, scroller } = this.timeline;
    this.#observer = new IntersectionObserver((entries) => this.#visibilityChanged(entries), {
      root: scroller,
      threshold: [0, 0.25, 0.5, 0.75, 1],
    });
    for (const message of this.timeline.stored) this.#observer.observe(message);
    new MutationObserver((changes) => {
      for (const { addedNodes, removedNodes } of changes) {
        for (const node of addedNodes) if (node.dataset?.seq) this.#observer.observe(node);
        for (const node of removedNodes) this.#visible.delete(node);
      }
    }).observe(list, { childList: true });
  }

  #visibilityChanged(entries) {
    for (const { target, intersectionRatio, intersectionRect, rootBounds } of entries) {
      // Half of it is visible, or it fills half of the screen.
      const isVisible = intersectionRatio >= 0.5 || intersectionRect.height >= rootBounds?.height / 2;
      if (isVisible && target.isConnected) this.#visible.add(target);
      else this.#visible.delete(target);
    }
    this.#markScrolledPast();
    this.check();
  }

  #mark() {
    const seen = this.timeline.bySeq(this.seenSeq);
    if (seen && Number(seen.dataset.seq) > this.#read) {
      if (this.#sendMark("thread.mark_read", seen)) this.#read = Number(seen.dataset.seq);
    }
    const { newest, hasEnd } = this.timeline;
    const seq = Number(newest?.dataset.seq ?? 0);
    if (this.#isMarked && this.isAttentive && hasEnd && seq === this.#read) {
      this.#isMarked = !this.#sendMark("thread.mark_read", newest);
    }
    if (!hasEnd || seq <= Math.max(this.#delivered, this.#read)) return;
    if (this.#sendMark("thread.mark_delivered", newest)) this.#delivered = seq;
  }

  #sendMark(type, { dataset: { message, seq, tally } }) {
    const { thread } = this.timeline;
    return this.socket.send({ type, thread, message, seq: Number(seq), tally: Number(tally) });
  }

  #showJumpButton() {
    const { timeline } = this;
    const unread = this.#countUnread();
    const isFar = -timeline.scroller.scrollTop > JUMP_DISTANCE || !timeline.hasEnd;
    this.jump.hidden = timeline.isAtEnd || !(isFar || unread);
    const count = this.jump.querySelector("[data-jump-count]");
    count.hidden = !unread;
    count.firstElementChild.textContent = unread;
  }

  /** Counts unread messages; the server's count if they are not all on the page. */
  #countUnread() {
    const { list, hasEnd, sync } = this.timeline;
    const read = this.#read ?? sync.seq;
    const areLoaded = hasEnd && (read >= sync.seq || this.timeline.bySeq(read + 1));
    return areLoaded ? this.#countUnseen() : Number(list.dataset.unread || 0);
  }

  #countUnseen() {
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
