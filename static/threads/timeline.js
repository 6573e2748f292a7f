// The list of messages. It contains the server's fragments, which are the same for all users; what
// depends on the viewer (own messages, ticks, local times, days, grouping) is applied here.

import { fragment, fromTemplate } from "../site/fragments.js";
import { dayLabel, dayOf, timeLabel } from "../site/labels.js";
import { Cursors, showTick } from "./ticks.js";
import { SyncState } from "./sync_state.js";
import { personaliseCard } from "./cards.js";

const GROUP_INTERVAL = 5 * 60_000;
const UNGROUPED = ["system", "action"];
const END_MARGIN = 80;
const QUOTE_LENGTH = 140;
const hasScrollAnchoring = CSS.supports("overflow-anchor", "auto");

export class Timeline {
  #archiveRetry = null;

  constructor(list) {
    this.list = list;
    this.scroller = list.closest("[data-scroller]");
    this.me = list.dataset.me;
    this.thread = list.dataset.thread;
    this.cursors = Cursors.parse(list.dataset.cursors);
    const newest = this.newest;
    this.sync = new SyncState(Number(newest?.dataset.seq ?? 0), Number(list.dataset.rev));
    for (const message of this.stored) this.personalise(message);
  }

  /** False while an older range is shown, without the newest messages. */
  get hasEnd() {
    return !this.scroller.querySelector("[data-newer]");
  }

  get isAtEnd() {
    // The scroller is reversed by CSS: 0 at the newest, negative above it.
    return this.hasEnd && -this.scroller.scrollTop < END_MARGIN;
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
    const id = CSS.escape(clientId ?? "");
    return this.list.querySelector(`.message.sending[data-client="${id}"]`);
  }

  /** Appends the next message, in place of the pending one with the same client id. */
  add({ html, client_id: clientId, author }) {
    const wasAtEnd = this.isAtEnd;
    const message = fragment(html).firstElementChild;
    this.#keepScrollPosition(() => {
      if (author === this.me) this.pending(clientId)?.remove();
      this.list.insertBefore(message, this.firstPending);
      this.personalise(message);
      if (this.firstPending) this.personalise(this.firstPending);
    });
    if (wasAtEnd) this.jumpToEnd();
    return message;
  }

  /** The message is shown already: removes its pending one. */
  removePending({ client_id: clientId, author }) {
    if (author === this.me) this.pending(clientId)?.remove();
  }

  addPending(message) {
    this.list.append(message);
    this.personalise(message);
  }

  /** Replaces a message that was edited, removed or reacted to, and its text in quotes. */
  replace({ message: id, rev, html }) {
    const fresh = fragment(html).firstElementChild;
    const shown = this.byId(id);
    if (shown && Number(shown.dataset.rev) < rev) this.swap(shown, fresh);
    for (const quote of this.list.querySelectorAll(`[data-quote="${CSS.escape(id)}"]`)) {
      updateQuote(quote, fresh);
    }
    return shown ? fresh : null;
  }

  /** Replaces the element of a message. */
  swap(shown, fresh) {
    this.#keepScrollPosition(() => this.#swap(shown, fresh));
  }

  #watchUnavailable() {
    this.#archiveRetry ??= import("./archive_retry.js").then(
      ({ ArchiveRetry }) => new ArchiveRetry(this),
    );
    this.#archiveRetry.then((retry) => retry.watch());
  }

  #swap(shown, fresh) {
    const hadFocus = shown.contains(document.activeElement);
    fresh.tabIndex = shown.tabIndex;
    this.list.dispatchEvent(new CustomEvent("replacing", { detail: { shown, fresh } }));
    shown.replaceWith(fresh);
    this.personalise(fresh);
    if (hadFocus && !fresh.contains(document.activeElement)) fresh.focus({ preventScroll: true });
  }

  /** Adds older messages; the reversed scroller keeps its position. */
  prepend(items) {
    const first = this.list.firstElementChild;
    const fresh = items.filter((item) => !this.#has(item));
    this.list.prepend(...fresh);
    if (first?.matches(".day")) first.remove();
    for (const item of fresh) if (item.matches(".message")) this.personalise(item);
    let junction = fresh.at(-1)?.nextElementSibling;
    while (junction && !junction.matches(".message")) junction = junction.nextElementSibling;
    if (junction) this.personalise(junction);
  }

  append(items) {
    for (const item of items) {
      if (item.matches(".day") || this.#has(item)) continue;
      this.list.insertBefore(item, this.firstPending);
      this.personalise(item);
      this.sync.resetTo(Number(item.dataset.seq));
    }
  }

  #has(item) {
    return item.matches(".message") && this.bySeq(item.dataset.seq) !== null;
  }

  /** Removes all stored messages before another range is shown. */
  clear() {
    for (const item of [...this.list.children]) if (!item.matches(".sending")) item.remove();
    this.sync.resetTo(0);
  }

  /** Removes the messages above one: they may be stale, and can be loaded again. */
  dropBefore(id) {
    const first = this.byId(id);
    if (!first) return;
    while (first.previousElementSibling) first.previousElementSibling.remove();
    this.personalise(first);
  }

  /** Applies what depends on the viewer and on the previous message; idempotent. */
  personalise(message) {
    const at = new Date(message.dataset.at);
    const previous = previousMessage(message);
    const sameDay = previous && dayOf(new Date(previous.dataset.at)) === dayOf(at);
    const isMine = message.dataset.author === this.me;
    message.classList.toggle("mine", isMine);
    message.classList.toggle("grouped", Boolean(sameDay && isGrouped(previous, message, at)));
    message.classList.toggle("repeats-card", Boolean(sameDay && repeatsCard(previous, message)));
    for (const time of message.querySelectorAll("time:not([data-moment])")) time.textContent = timeLabel(at);
    for (const reaction of message.querySelectorAll("[data-users]")) this.#showPressed(reaction);
    const card = message.querySelector("[data-card]");
    if (card) personaliseCard(card, this.me);
    if (isMine && message.dataset.seq) this.#showTick(message);
    if (message.querySelector("[data-unavailable]")) this.#watchUnavailable();
    if (sameDay) daySeparatorOf(message)?.remove();
    else this.#addDaySeparator(message, at);
  }

  #showPressed(reaction) {
    const isMine = reaction.dataset.users.split(" ").includes(this.me);
    reaction.setAttribute("aria-pressed", String(isMine));
  }

  #showTick(message) {
    showTick(message, this.cursors.tickOf(Number(message.dataset.seq)));
  }

  showTicks() {
    for (const message of this.stored) if (message.matches(".mine")) this.#showTick(message);
  }

  #addDaySeparator(message, at) {
    let day = daySeparatorOf(message);
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

  /** For browsers without scroll anchoring. */
  #keepScrollPosition(change) {
    if (hasScrollAnchoring || this.isAtEnd) return change();
    const { scrollHeight } = this.scroller;
    change();
    this.scroller.scrollTop -= this.scroller.scrollHeight - scrollHeight;
  }
}

function previousMessage(message) {
  let previous = message.previousElementSibling;
  while (previous && !previous.matches(".message")) previous = previous.previousElementSibling;
  return previous;
}

function daySeparatorOf(message) {
  let previous = message.previousElementSibling;
  if (previous?.matches(".unread-line")) previous = previous.previousElementSibling;
  return previous?.matches(".day") ? previous : null;
}

function isGrouped(previous, message, at) {
  if ([previous, message].some(({ dataset }) => UNGROUPED.includes(dataset.type))) return false;
  const isClose = at - new Date(previous.dataset.at) <= GROUP_INTERVAL;
  return previous.dataset.author === message.dataset.author && isClose;
}

/** A system message directly below the card that it is about says what the card says. */
function repeatsCard(previous, { dataset: { client, type } }) {
  const [card, version] = client.split(":");
  if (type !== "system" || !version || !card.startsWith("card_")) return false;
  return previous.dataset.client.split(":")[0] === card;
}

/** The text of a quote as the server renders it: one line, without formatting. */
export function quotedText(message) {
  const body = message.querySelector("[data-body]");
  if (!body) return message.querySelector(".message-removed")?.innerText ?? "";
  const text = plainText(body).split(/\s+/).filter(Boolean).join(" ");
  const content = [message.dataset.label, text].filter(Boolean).join(" · ");
  return [...content].slice(0, QUOTE_LENGTH).join("");
}

function plainText(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  const inside = [...node.childNodes].map(plainText).join("");
  return /^(A|STRONG|EM|CODE)$/.test(node.nodeName) ? inside : ` ${inside} `;
}

function updateQuote(quote, message) {
  const place = quote.querySelector("[data-quote-text]");
  if (place && !("linkOnly" in quote.dataset)) place.textContent = quotedText(message);
}
