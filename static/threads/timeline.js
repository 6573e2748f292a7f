// The list of messages. The server's fragments are put in as they are; what differs between readers
// (mine or theirs, times in my zone, days, what joins what) is decided here from data attributes.

import { dayLabel, dayOf, timeLabel } from "../site/labels.js";

const JOINS_WITHIN = 5 * 60_000;
const AT_THE_END = 80;

export class Timeline {
  constructor(list) {
    this.list = list;
    this.scroller = list.closest("[data-scroller]");
    this.me = list.dataset.me;
    this.thread = list.dataset.thread;
    this.dayTemplate = document.getElementById("day-separator");
  }

  /** False while a link into the past is open: what is newest is then not here. */
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

  get newest() {
    const all = this.stored;
    return all[all.length - 1] ?? null;
  }

  get lastSeq() {
    return Number(this.newest?.dataset.seq ?? 0);
  }

  has(seq) {
    return this.list.querySelector(`.message[data-seq="${seq}"]`) !== null;
  }

  pending(clientId) {
    const mark = CSS.escape(clientId ?? "");
    return this.list.querySelector(`.message.sending[data-client="${mark}"]`);
  }

  /** Puts a message in its place; a pending one with its client id makes room for it. */
  place({ seq, html, client_id: clientId, author }) {
    const pending = author === this.me ? this.pending(clientId) : null;
    if (this.has(seq)) return pending?.remove();
    const message = fragment(html);
    pending?.remove();
    this.list.insertBefore(message, this.#placeFor(seq));
    this.dress(message);
    return message;
  }

  #placeFor(seq) {
    for (const item of this.list.children) {
      if (item.matches(".sending") || Number(item.dataset.seq) > seq) {
        const before = item.previousElementSibling;
        return before?.matches(".day") && !item.matches(".sending") ? before : item;
      }
    }
    return null;
  }

  addPending(message) {
    this.list.append(message);
    this.dress(message);
    this.jumpToEnd();
  }

  /** Older messages above what is there; the scroller keeps its place by itself. */
  prepend(items) {
    const first = this.list.firstElementChild;
    this.list.prepend(...items);
    if (first?.matches(".day")) first.remove();
    const message = this.list.querySelector(`:scope > .message`);
    if (!message) return;
    for (const item of items) if (item.matches(".message")) this.dress(item);
    const junction = items.at(-1)?.nextElementSibling;
    if (junction?.matches(".message")) this.dress(junction);
  }

  append(items) {
    this.list.append(...items);
    for (const item of items) {
      if (item.matches(".day")) item.remove();
      else this.dress(item);
    }
  }

  /** What a reader of their own sees of it; the same whenever it is asked again. */
  dress(message) {
    const at = new Date(message.dataset.at);
    const before = previousMessage(message);
    const sameDay = before && dayOf(new Date(before.dataset.at)) === dayOf(at);
    message.classList.toggle("mine", message.dataset.author === this.me);
    message.classList.toggle("joins", Boolean(sameDay && joins(before, message, at)));
    for (const time of message.querySelectorAll("time")) time.textContent = timeLabel(at);
    if (!sameDay) this.#separate(message, at);
  }

  #separate(message, at) {
    let day = message.previousElementSibling;
    if (!day?.matches(".day")) {
      day = this.dayTemplate.content.firstElementChild.cloneNode(true);
      message.before(day);
    }
    day.firstElementChild.textContent = dayLabel(at);
  }

  jumpToEnd() {
    this.scroller.scrollTop = 0;
  }
}

export function fragment(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content.firstElementChild;
}

function previousMessage(message) {
  let before = message.previousElementSibling;
  while (before && !before.matches(".message")) before = before.previousElementSibling;
  return before;
}

function joins(before, message, at) {
  if ("system" === before.dataset.type || "system" === message.dataset.type) return false;
  const close = at - new Date(before.dataset.at) <= JOINS_WITHIN;
  return before.dataset.author === message.dataset.author && close;
}
