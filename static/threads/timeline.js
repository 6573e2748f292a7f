// The list of messages. The server's fragments are put in as they are; what differs between readers
// (mine or theirs, ticks, times in my zone, days, what joins what) is decided here from data.

import { fragment, fromTemplate } from "../site/fragments.js";
import { dayLabel, dayOf, timeLabel } from "../site/labels.js";
import { Cursors, showTick } from "./ticks.js";
import { Sequence } from "./sync_state.js";
import { dressCard } from "./cards.js";

const JOINS_WITHIN = 5 * 60_000;
const ALONE = ["system", "action"]; // stand by themselves, whoever wrote them
const AT_THE_END = 80;
const QUOTED = 140;
const anchors = CSS.supports("overflow-anchor", "auto");

export class Timeline {
  #unavailable = null;

  constructor(list) {
    this.list = list;
    this.scroller = list.closest("[data-scroller]");
    this.me = list.dataset.me;
    this.thread = list.dataset.thread;
    this.cursors = Cursors.read(list.dataset.cursors);
    const newest = this.newest;
    this.held = new Sequence(Number(newest?.dataset.seq ?? 0), Number(list.dataset.rev));
    for (const message of this.stored) this.dress(message);
  }

  /** False while a place in the past is open: what is newest is then not here. */
  get hasEnd() {
    return !this.scroller.querySelector("[data-newer]");
  }

  get isAtEnd() {
    // The scroller is reversed by CSS: 0 at the newest, negative above it.
    return this.hasEnd && -this.scroller.scrollTop < AT_THE_END;
  }

  get stored() {
    return this.list.querySelectorAll(".message[data-seq]:not([data-seq=''])");
  }

  get oldest() {
    return this.stored[0] ?? null;
  }

  get newest() {
    return [...this.stored].at(-1) ?? null;
  }

  get firstPending() {
    return this.list.querySelector(":scope > .sending");
  }

  bySeq(seq) {
    return this.list.querySelector(`.message[data-seq="${seq}"]`);
  }

  byId(id) {
    return this.list.querySelector(`.message[data-message="${CSS.escape(id)}"]`);
  }

  pending(clientId) {
    const mark = CSS.escape(clientId ?? "");
    return this.list.querySelector(`.message.sending[data-client="${mark}"]`);
  }

  /** Puts the next message at the end; a pending one with its client id makes room for it. */
  place({ html, client_id: clientId, author }) {
    const wasAtEnd = this.isAtEnd;
    const message = fragment(html).firstElementChild;
    this.#keepingPlace(() => {
      if (author === this.me) this.pending(clientId)?.remove();
      this.list.insertBefore(message, this.firstPending);
      this.dress(message);
      if (this.firstPending) this.dress(this.firstPending);
    });
    if (wasAtEnd) this.jumpToEnd();
    return message;
  }

  /** It is here already: only the one on its way has to make room. */
  settle({ client_id: clientId, author }) {
    if (author === this.me) this.pending(clientId)?.remove();
  }

  addPending(message) {
    this.list.append(message);
    this.dress(message);
  }

  /** A message that was edited, removed or reacted to; and where it is quoted. */
  revise({ message: id, rev, html }) {
    const now = fragment(html).firstElementChild;
    const before = this.byId(id);
    if (before && Number(before.dataset.rev) < rev) this.#keepingPlace(() => this.#swap(before, now));
    for (const quote of this.list.querySelectorAll(`[data-quote="${CSS.escape(id)}"]`)) {
      quoteIn(quote, now);
    }
    return before ? now : null;
  }

  /** The same message, with the content that could not be loaded before. */
  complete(before, now) {
    this.#keepingPlace(() => this.#swap(before, now));
  }

  #watchUnavailable() {
    this.#unavailable ??= import("./archive_retry.js").then(({ Unavailable }) => new Unavailable(this));
    this.#unavailable.then((unavailable) => unavailable.watch());
  }

  #swap(before, now) {
    const hadFocus = before.contains(document.activeElement);
    now.tabIndex = before.tabIndex;
    this.list.dispatchEvent(new CustomEvent("revising", { detail: { before, now } }));
    before.replaceWith(now);
    this.dress(now);
    if (hadFocus && !now.contains(document.activeElement)) now.focus({ preventScroll: true });
  }

  /** Older messages above what is there; the scroller keeps its place by itself. */
  prepend(items) {
    const first = this.list.firstElementChild;
    const fresh = items.filter((item) => !this.#has(item));
    this.list.prepend(...fresh);
    if (first?.matches(".day")) first.remove();
    for (const item of fresh) if (item.matches(".message")) this.dress(item);
    let junction = fresh.at(-1)?.nextElementSibling;
    while (junction && !junction.matches(".message")) junction = junction.nextElementSibling;
    if (junction) this.dress(junction);
  }

  append(items) {
    for (const item of items) {
      if (item.matches(".day") || this.#has(item)) continue;
      this.list.insertBefore(item, this.firstPending);
      this.dress(item);
      this.held.startAt(Number(item.dataset.seq));
    }
  }

  #has(item) {
    return item.matches(".message") && this.bySeq(item.dataset.seq) !== null;
  }

  /** Begins anew: what was here has no connection with what comes. */
  clear() {
    for (const item of [...this.list.children]) if (!item.matches(".sending")) item.remove();
    this.held.startAt(0);
  }

  /** Forgets what is above a message: it may be out of date, and can be loaded again. */
  dropBefore(id) {
    const first = this.byId(id);
    if (!first) return;
    while (first.previousElementSibling) first.previousElementSibling.remove();
    this.dress(first);
  }

  /** What a reader of their own sees of it; the same whenever it is asked again. */
  dress(message) {
    const at = new Date(message.dataset.at);
    const before = previousMessage(message);
    const sameDay = before && dayOf(new Date(before.dataset.at)) === dayOf(at);
    const isMine = message.dataset.author === this.me;
    message.classList.toggle("mine", isMine);
    message.classList.toggle("joins", Boolean(sameDay && joins(before, message, at)));
    for (const time of message.querySelectorAll("time:not([data-moment])")) time.textContent = timeLabel(at);
    for (const reaction of message.querySelectorAll("[data-users]")) this.#press(reaction);
    const card = message.querySelector("[data-card]");
    if (card) dressCard(card, this.me);
    if (isMine && message.dataset.seq) this.#tick(message);
    if (message.querySelector("[data-unavailable]")) this.#watchUnavailable();
    if (sameDay) separatorOf(message)?.remove();
    else this.#separate(message, at);
  }

  #press(reaction) {
    const isMine = reaction.dataset.users.split(" ").includes(this.me);
    reaction.setAttribute("aria-pressed", String(isMine));
  }

  #tick(message) {
    showTick(message, this.cursors.tickOf(Number(message.dataset.seq)));
  }

  showTicks() {
    for (const message of this.stored) if (message.matches(".mine")) this.#tick(message);
  }

  #separate(message, at) {
    let day = separatorOf(message);
    if (!day) {
      day = fromTemplate("day-separator");
      const line = message.previousElementSibling;
      (line?.matches(".unread-line") ? line : message).before(day);
    }
    day.firstElementChild.textContent = dayLabel(at);
  }

  jumpToEnd() {
    this.scroller.scrollTop = 0;
  }

  /** Where a browser does not hold on to what one reads by itself. */
  #keepingPlace(change) {
    if (anchors || this.isAtEnd) return change();
    const { scrollHeight } = this.scroller;
    change();
    this.scroller.scrollTop -= this.scroller.scrollHeight - scrollHeight;
  }
}

function previousMessage(message) {
  let before = message.previousElementSibling;
  while (before && !before.matches(".message")) before = before.previousElementSibling;
  return before;
}

function separatorOf(message) {
  let before = message.previousElementSibling;
  if (before?.matches(".unread-line")) before = before.previousElementSibling;
  return before?.matches(".day") ? before : null;
}

function joins(before, message, at) {
  if ([before, message].some(({ dataset }) => ALONE.includes(dataset.type))) return false;
  const close = at - new Date(before.dataset.at) <= JOINS_WITHIN;
  return before.dataset.author === message.dataset.author && close;
}

/** As the server shortens it for a quote: one line, without the marks. */
export function quotedText(message) {
  const body = message.querySelector("[data-body]");
  if (!body) return message.querySelector(".message-removed")?.innerText ?? "";
  const text = words(body).split(/\s+/).filter(Boolean).join(" ");
  const said = [message.dataset.label, text].filter(Boolean).join(" · ");
  return [...said].slice(0, QUOTED).join("");
}

function words(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  const inside = [...node.childNodes].map(words).join("");
  return /^(A|STRONG|EM|CODE)$/.test(node.nodeName) ? inside : ` ${inside} `;
}

function quoteIn(quote, message) {
  const place = quote.querySelector("[data-quote-text]");
  if (place && !("linkOnly" in quote.dataset)) place.textContent = quotedText(message);
}
