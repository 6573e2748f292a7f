// The list of conversations: what happens elsewhere moves its row, without a reload.

import { rowLabel } from "../site/labels.js";

export function keepInbox(list, socket) {
  const inbox = new Inbox(list);
  socket.addEventListener("inbox.changed", ({ detail }) => inbox.change(detail));
  socket.addEventListener("hello", () => inbox.refresh());
  inbox.loadMore();
}

class Inbox {
  #greeted = false;
  #fetching = new Map();

  constructor(list) {
    this.list = list;
    this.folder = list.dataset.folder;
    this.me = document.documentElement.dataset.me;
  }

  row(thread) {
    return this.list.querySelector(`[data-thread="${CSS.escape(thread)}"]`);
  }

  async change(event) {
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

  /** After having been away: what changed meanwhile, in one request. */
  async refresh() {
    if (this.#greeted) {
      const page = await fetchFragment(`/inbox/rows/?folder=${this.folder}`).catch(() => null);
      if (page) this.#replace(page);
    }
    this.#greeted = true;
  }

  loadMore() {
    const more = this.list.querySelector("[data-rows-more]");
    if (!more) return;
    const watcher = new IntersectionObserver(async ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watcher.disconnect();
      const page = await fetchFragment(more.querySelector("a").href).catch(() => null);
      if (!page) return;
      const known = [...page.querySelectorAll("[data-thread]")];
      for (const row of known) this.row(row.dataset.thread)?.remove();
      more.replaceWith(page);
      this.#markCurrent();
      this.loadMore();
    });
    watcher.observe(more);
  }

  #replace(page) {
    for (const row of [...page.querySelectorAll("[data-thread]")]) {
      this.row(row.dataset.thread)?.remove();
      this.#place(row);
    }
    this.#markCurrent();
  }

  async #fetch(thread) {
    // One request for a burst: the row that comes is the newest there is.
    if (this.#fetching.has(thread)) return this.#fetching.set(thread, true);
    this.#fetching.set(thread, false);
    const page = await fetchFragment(`/inbox/rows/${thread}/`).catch(() => null);
    const again = this.#fetching.get(thread);
    this.#fetching.delete(thread);
    const row = page?.querySelector("[data-thread]");
    if (row) {
      this.row(thread)?.remove();
      this.#place(row);
      this.#markCurrent();
    }
    if (again) this.#fetch(thread);
  }

  #place(row) {
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    const before = [...this.list.querySelectorAll("[data-thread]")].find(
      (other) => other !== row && isAbove(row, other),
    );
    const place = before ?? this.list.querySelector("[data-rows-more]");
    if (row.nextElementSibling !== place || !row.parentElement) this.list.insertBefore(row, place);
    focused?.focus({ preventScroll: true });
    this.#showEmpty();
  }

  #remove(row) {
    row?.remove();
    this.#showEmpty();
  }

  #showEmpty() {
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

async function fetchFragment(url) {
  const answer = await fetch(url, { headers: { "X-Fragment": "1" } });
  if (!answer.ok) throw new Error(answer.status);
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  return holder.content;
}
