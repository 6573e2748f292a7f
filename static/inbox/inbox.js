// The list of conversations: what happens elsewhere moves its row, without a reload.

import { fetchFragment } from "../site/fragments.js";
import { rowLabel } from "../site/labels.js";
import { Press } from "../site/deferred_updates.js";
import { Pace } from "../realtime/throttle.js";
import { Counts } from "./unread_counts.js";

const A_MINUTE = 60_000;

export class Inbox {
  #fetching = new Set(); // threads
  #onTheWay = new Set(); // what was heard since each request that is not answered yet
  #counts = new Counts();
  #refreshing = new Pace(1_000, () => this.refresh());
  #press;

  /** `key` is the folder, or the filter of the inbox, that is shown. */
  constructor(list, socket) {
    this.list = list;
    this.folder = list.dataset.folder;
    this.key = list.dataset.key;
    this.me = document.documentElement.dataset.me;
    this.#press = new Press(list);
    socket.addEventListener("inbox.changed", ({ detail }) => {
      this.#press.after(() => this.change(detail));
    });
    this.loadMore();
    this.#settle();
    setInterval(() => this.#endMutes(), A_MINUTE);
  }

  row(thread) {
    return this.list.querySelector(`[data-thread="${CSS.escape(thread)}"]`);
  }

  change(event) {
    for (const heard of this.#onTheWay) heard.set(event.thread, event);
    const row = this.row(event.thread);
    if (countsMayChange(event, row)) this.#counts.later();
    if (!this.#belongs(event, row)) return this.#remove(row);
    // What waits for somebody is known to the server alone.
    if (this.key === "action-required") this.#refreshing.push("");
    if (!row && this.key === "action-required") return;
    if (!row || event.unread === null || event.pinned !== "pinned" in row.dataset) {
      return this.#fetch(event.thread);
    }
    const at = new Date(event.last_message_at);
    const { author, text } = event.last_message;
    row.dataset.at = event.last_message_at;
    row.dataset.kind = event.kind;
    row.dataset.unread = event.unread;
    row.dataset.waitsFor = !event.waiting_for ? "" : event.waiting_for === this.me ? "you" : "them";
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

  /** In the folder that is shown, and let through by the filter. */
  #belongs(event, row) {
    if (event.folder !== this.folder) return false;
    if (this.key === "projects" && event.kind !== "project") return false;
    if (this.key !== "unread" || event.unread === null) return true;
    return event.unread > 0 || this.#isMarked(event, row);
  }

  /** Only what one does oneself says so outright; whoever writes has read. */
  #isMarked({ marked_unread: marked, last_message: { author } }, row) {
    return marked ?? (author !== this.me && row !== null && "marked" in row.dataset);
  }

  #endMutes() {
    for (const row of this.list.querySelectorAll("[data-muted]")) {
      const { muted } = row.dataset;
      if (muted && new Date(muted) <= new Date()) delete row.dataset.muted;
    }
  }

  /** After having been away, if only since the page was made: what changed, in one request. */
  async refresh() {
    this.#counts.later();
    const shown = Math.min(999, this.list.querySelectorAll("[data-thread]").length);
    const address = `/inbox/rows/?folder=${this.key}&shown=${shown}`;
    await this.#take(address, (page) => page && this.#replace(page));
  }

  /** What was heard meanwhile may be newer than the answer: it is heard once more. */
  async #take(address, put) {
    const heard = new Map();
    this.#onTheWay.add(heard);
    const page = await fetchFragment(address).catch(() => null);
    await new Promise((lifted) => this.#press.after(lifted));
    this.#onTheWay.delete(heard);
    put(page);
    for (const event of heard.values()) this.change(event);
  }

  loadMore() {
    const more = this.list.querySelector("[data-rows-more]");
    if (!more) return;
    const watcher = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watcher.disconnect();
      const { href } = more.querySelector("a");
      this.#take(href, (page) => page && this.#append(page, more));
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

  #replace(page) {
    const rows = [...page.querySelectorAll("[data-thread]")];
    const isAll = !page.querySelector("[data-rows-more]");
    const here = new Set(rows.map((row) => row.dataset.thread));
    for (const row of this.list.querySelectorAll("[data-thread]")) {
      // What should be among these and is not has gone elsewhere.
      const isMissing = isAll || isAbove(row, rows.at(-1));
      if (isMissing && !here.has(row.dataset.thread)) row.remove();
    }
    for (const row of rows) this.#put(row);
    this.#markCurrent();
    this.#settle();
  }

  /** In place of the one that is there, so that the focus stays. */
  #put(row) {
    const before = this.row(row.dataset.thread);
    const hadFocus = before?.contains(document.activeElement);
    const wasPicked = before?.querySelector("[name=thread]").checked;
    before?.remove();
    this.#place(row);
    if (wasPicked) row.querySelector("[name=thread]").checked = true;
    if (hadFocus) row.querySelector("a").focus({ preventScroll: true });
  }

  async #fetch(thread) {
    // One request for a burst: what is heard meanwhile asks again, once.
    if (this.#fetching.has(thread)) return;
    this.#fetching.add(thread);
    await this.#take(`/inbox/rows/${thread}/?folder=${this.key}`, (page) => {
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
    this.#settle();
  }

  #remove(row) {
    row?.remove();
    this.#settle();
  }

  /** Whether there is anything. */
  #settle() {
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
  // The service says so when an offer was made or answered.
  if (last.type !== "text") return true;
  const was = Number(row.dataset.unread) > 0 || "marked" in row.dataset;
  return was !== (unread > 0 || (marked ?? "marked" in row.dataset));
}

/** Pinned first, then the newest. */
function isAbove(row, other) {
  const pinned = ("pinned" in row.dataset) - ("pinned" in other.dataset);
  if (pinned) return pinned > 0;
  return new Date(row.dataset.at) > new Date(other.dataset.at);
}
