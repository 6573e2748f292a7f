// The list of conversations: what happens elsewhere moves its row, without a reload.

import { fetchFragment } from "../site/fragments.js";
import { rowLabel } from "../site/labels.js";

export class Inbox {
  #fetching = new Set(); // threads
  #onTheWay = new Set(); // what was heard since each request that is not answered yet
  #title = document.title;

  constructor(list, socket) {
    this.list = list;
    this.folder = list.dataset.folder;
    this.me = document.documentElement.dataset.me;
    socket.addEventListener("inbox.changed", ({ detail }) => this.change(detail));
    this.loadMore();
    this.#settle();
  }

  row(thread) {
    return this.list.querySelector(`[data-thread="${CSS.escape(thread)}"]`);
  }

  change(event) {
    for (const heard of this.#onTheWay) heard.set(event.thread, event);
    const row = this.row(event.thread);
    if (event.folder !== this.folder) return this.#remove(row);
    if (!row || event.unread === null || event.pinned !== "pinned" in row.dataset) {
      return this.#fetch(event.thread);
    }
    const at = new Date(event.last_message_at);
    const { author, text } = event.last_message;
    row.dataset.at = event.last_message_at;
    row.dataset.unread = event.unread;
    row.toggleAttribute("data-mine", author === this.me);
    row.querySelector("[data-row-text]").textContent = text;
    row.querySelector("[data-row-unread]").textContent = event.unread;
    const time = row.querySelector("[data-row-time]");
    time.dateTime = event.last_message_at;
    time.textContent = rowLabel(at);
    this.#place(row);
  }

  /** After having been away, if only since the page was made: what changed, in one request. */
  async refresh() {
    await this.#take(`/inbox/rows/?folder=${this.folder}`, (page) => page && this.#replace(page));
  }

  /** What was heard meanwhile may be newer than the answer: it is heard once more. */
  async #take(address, put) {
    const heard = new Map();
    this.#onTheWay.add(heard);
    const page = await fetchFragment(address).catch(() => null);
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
    before?.remove();
    this.#place(row);
    if (hadFocus) row.querySelector("a").focus({ preventScroll: true });
  }

  async #fetch(thread) {
    // One request for a burst: what is heard meanwhile asks again, once.
    if (this.#fetching.has(thread)) return;
    this.#fetching.add(thread);
    await this.#take(`/inbox/rows/${thread}/`, (page) => {
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

  /** What depends on all rows: the number in the title, and whether there is anything. */
  #settle() {
    const rows = [...this.list.querySelectorAll("[data-thread]")];
    const unread = rows.reduce((sum, row) => sum + Number(row.dataset.unread), 0);
    document.title = unread ? `(${unread}) ${this.#title}` : this.#title;
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

/** Pinned first, then the newest. */
function isAbove(row, other) {
  const pinned = ("pinned" in row.dataset) - ("pinned" in other.dataset);
  if (pinned) return pinned > 0;
  return new Date(row.dataset.at) > new Date(other.dataset.at);
}
