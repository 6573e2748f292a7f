// The list of threads, updated live: an event moves or changes the row of its thread.

import { fetchFragment } from "../site/fragments.js";
import { rowLabel } from "../site/labels.js";
import { DeferredUpdates } from "../site/deferred_updates.js";
import { Throttle } from "../realtime/throttle.js";
import { UnreadCounts } from "./unread_counts.js";

const MINUTE = 60_000;

export class Inbox {
  #fetching = new Set(); // threads
  #received = new Set(); // per request in progress: events received since, by thread
  #counts = new UnreadCounts();
  #refreshing = new Throttle(1_000, () => this.refresh());
  #requested = 0; // Refreshes are numbered: their responses may arrive in another order.
  #shown = 0;
  #updates;

  /** `key` is the folder, or the filter of the inbox, that is shown. */
  constructor(list, socket) {
    this.list = list;
    this.folder = list.dataset.folder;
    this.key = list.dataset.key;
    this.me = document.documentElement.dataset.me;
    this.#updates = new DeferredUpdates(list);
    socket.addEventListener("inbox.changed", ({ detail }) => {
      this.#updates.run(() => this.change(detail));
    });
    this.loadMore();
    this.#showEmptyState();
    setInterval(() => this.#expireMutes(), MINUTE);
  }

  row(thread) {
    return this.list.querySelector(`[data-thread="${CSS.escape(thread)}"]`);
  }

  change(event) {
    for (const events of this.#received) events.set(event.thread, event);
    const row = this.row(event.thread);
    if (countsMayChange(event, row)) this.#counts.refresh();
    if (!this.#belongs(event, row)) return this.#remove(row);
    // Only the server knows which threads wait for the user.
    const waitsFor = event.waiting_for === this.me ? "you" : "them";
    if (this.key === "waiting") this.#refreshing.push("");
    if (!row && this.key === "waiting") return;
    // The server words the next step.
    const isStepShown = event.step === row?.dataset.step && (!event.step || waitsFor === row.dataset.waitsFor);
    if (!row || !isStepShown || event.unread === null || event.pinned !== "pinned" in row.dataset) {
      return this.#fetch(event.thread);
    }
    const at = new Date(event.last_message_at);
    const { author, text } = event.last_message;
    row.dataset.at = event.last_message_at;
    row.dataset.kind = event.kind;
    row.dataset.unread = event.unread;
    row.toggleAttribute("data-mine", author === this.me);
    row.toggleAttribute("data-marked", this.#isMarked(event, row));
    if ("request" in event) row.toggleAttribute("data-request", event.request);
    if (event.muted === true) row.dataset.muted = event.muted_until;
    if (event.muted === false) delete row.dataset.muted;
    row.querySelector("[data-row-text]").textContent = text;
    row.querySelector("[data-row-unread]").textContent = event.unread;
    const time = row.querySelector("[data-row-time]");
    time.dateTime = event.last_message_at;
    time.textContent = rowLabel(at);
    this.#place(row);
  }

  /** Whether the thread is in the folder and the filter that are shown. */
  #belongs(event, row) {
    if (event.folder !== this.folder) return false;
    if (this.key === "projects" && event.kind !== "project") return false;
    if (this.key !== "unread" || event.unread === null) return true;
    return event.unread > 0 || this.#isMarked(event, row);
  }

  /** Only the user's own actions set the mark explicitly; sending a message clears it. */
  #isMarked({ marked_unread: marked, last_message: { author } }, row) {
    return marked ?? (author !== this.me && row !== null && "marked" in row.dataset);
  }

  #expireMutes() {
    for (const row of this.list.querySelectorAll("[data-muted]")) {
      const { muted } = row.dataset;
      if (muted && new Date(muted) <= new Date()) delete row.dataset.muted;
    }
  }

  /** Fetches all rows that are shown in one request, after a time without events. */
  async refresh() {
    this.#counts.refresh();
    const shown = Math.min(999, this.list.querySelectorAll("[data-thread]").length);
    const address = `/inbox/rows/?folder=${this.key}&shown=${shown}`;
    const number = ++this.#requested;
    await this.#fetchRows(address, (page) => page && this.#replace(page, number));
  }

  /** Events received during the request may be newer than the response: they are applied again. */
  async #fetchRows(address, show) {
    const events = new Map();
    this.#received.add(events);
    const page = await fetchFragment(address).catch(() => null);
    await new Promise((resolve) => this.#updates.run(resolve));
    this.#received.delete(events);
    show(page);
    for (const event of events.values()) this.change(event);
  }

  loadMore() {
    const more = this.list.querySelector("[data-rows-more]");
    if (!more) return;
    const watcher = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watcher.disconnect();
      const { href } = more.querySelector("a");
      this.#fetchRows(href, (page) => page && this.#append(page, more));
    });
    watcher.observe(more);
  }

  #append(page, more) {
    const known = [...page.querySelectorAll("[data-thread]")];
    for (const row of known) this.row(row.dataset.thread)?.remove();
    more.replaceWith(page);
    this.#markCurrent();
    this.loadMore();
  }

  #replace(page, number) {
    if (number < this.#shown) return; // A later response was faster.
    this.#shown = number;
    const rows = [...page.querySelectorAll("[data-thread]")];
    const isAll = !page.querySelector("[data-rows-more]");
    const ids = new Set(rows.map((row) => row.dataset.thread));
    for (const row of this.list.querySelectorAll("[data-thread]")) {
      // A row that belongs among these and is missing was moved to another folder.
      const belongsHere = isAll || isAbove(row, rows.at(-1));
      if (belongsHere && !ids.has(row.dataset.thread)) row.remove();
    }
    for (const row of rows) this.#put(row);
    this.#markCurrent();
    this.#showEmptyState();
  }

  /** Replaces the row of the same thread and keeps its focus and selection. */
  #put(row) {
    const before = this.row(row.dataset.thread);
    const hadFocus = before?.contains(document.activeElement);
    const wasSelected = before?.querySelector("[name=thread]").checked;
    before?.remove();
    this.#place(row);
    if (wasSelected) row.querySelector("[name=thread]").checked = true;
    if (hadFocus) row.querySelector("a").focus({ preventScroll: true });
  }

  async #fetch(thread) {
    // One request for a burst of events; #fetchRows applies those received meanwhile.
    if (this.#fetching.has(thread)) return;
    this.#fetching.add(thread);
    await this.#fetchRows(`/inbox/rows/${thread}/?folder=${this.key}`, (page) => {
      this.#fetching.delete(thread);
      const row = page?.querySelector("[data-thread]");
      if (row) this.#put(row);
      this.#markCurrent();
    });
  }

  #place(row) {
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    const before = [...this.list.querySelectorAll("[data-thread]")].find(
      (other) => other !== row && isAbove(row, other),
    );
    const place = before ?? this.list.querySelector("[data-rows-more]");
    if (row.nextElementSibling !== place || !row.parentElement) this.list.insertBefore(row, place);
    focused?.focus({ preventScroll: true });
    this.#showEmptyState();
  }

  #remove(row) {
    row?.remove();
    this.#showEmptyState();
  }

  /** Shows the empty state if there are no rows. */
  #showEmptyState() {
    const isEmpty = !this.list.querySelector("[data-thread]");
    this.list.hidden = isEmpty;
    const empty = document.querySelector("[data-rows-empty]");
    if (empty) empty.hidden = !isEmpty;
  }

  #markCurrent() {
    const open = document.querySelector("[data-timeline]")?.dataset.thread;
    const link = open && this.row(open)?.querySelector(".row-link");
    link?.setAttribute("aria-current", "page");
  }
}

function countsMayChange({ unread, folder, marked_unread: marked, last_message: last }, row) {
  if (!row || unread === null || folder !== "inbox") return true;
  // Cards and system messages tell that something was proposed or answered.
  if (last.type !== "text") return true;
  const was = Number(row.dataset.unread) > 0 || "marked" in row.dataset;
  return was !== (unread > 0 || (marked ?? "marked" in row.dataset));
}

/** Pinned threads first, then the newest. */
function isAbove(row, other) {
  const pinned = ("pinned" in row.dataset) - ("pinned" in other.dataset);
  if (pinned) return pinned > 0;
  return new Date(row.dataset.at) > new Date(other.dataset.at);
}
