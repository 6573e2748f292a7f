// Keyboard shortcuts of the inbox. Single letters work outside of text fields only, and can be
// turned off, because speech input and some screen readers type letters of their own.

import { fetchFragment } from "../site/fragments.js";
import { OFFLINE } from "../site/labels.js";
import { toast } from "../site/notices.js";
import { CommandPalette } from "./command_palette.js";

const TEXT_FIELDS = `textarea, select, [contenteditable],
  input:not([type="checkbox"], [type="radio"], [type="button"], [type="submit"], [type="reset"])`;
const DISABLED_KEY = "single-keys-off";

export class KeyboardShortcuts {
  #shortcuts = {
    j: () => this.#step(1),
    k: () => this.#step(-1),
    "/": () => this.#search(),
    e: () => this.#act((all) => (this.#isArchived(all) ? "restore" : "archive")),
    m: () => this.#act((all) => (all.every((one) => one.isMuted) ? "unmute" : "mute good")),
    u: () => this.#act((all) => (all.every((one) => one.isUnread) ? "read" : "unread")),
    n: () => this.#nextUnread(),
    "?": () => this.#showShortcuts(),
  };

  #getInbox;

  /** On a narrow screen there is no inbox beside a thread. */
  constructor(getInbox, actions) {
    this.#getInbox = getInbox;
    this.actions = actions;
    document.addEventListener("keydown", (event) => this.#press(event));
    document.addEventListener("change", ({ target }) => {
      if (target.matches("[data-single-keys]")) setEnabled(target.checked);
    });
    showEnabled(document);
    const styles = Object.assign(document.createElement("link"), { rel: "stylesheet" });
    styles.href = document.getElementById("palette").dataset.styles;
    document.head.append(styles);
    document.documentElement.dataset.keys = "";
  }

  #press(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && !event.altKey && !event.shiftKey && keyOf(event) === "k") {
      event.preventDefault();
      return this.#openPalette();
    }
    const run = this.#shortcuts[keyOf(event)];
    if (!run || isCommand || event.altKey || isBusy(event.target) || !isEnabled()) return;
    event.preventDefault();
    run();
  }

  // --- Moving in the list

  get #inbox() {
    return this.#getInbox();
  }

  get #rows() {
    return [...(this.#inbox?.list.querySelectorAll("[data-thread]") ?? [])];
  }

  get #open() {
    return document.querySelector("[data-timeline]")?.dataset.thread ?? null;
  }

  get #focusedRow() {
    return document.activeElement?.closest(".rows [data-thread]") ?? null;
  }

  #step(by) {
    const rows = this.#rows;
    const from = this.#focusedRow ?? (this.#open && this.#inbox?.row(this.#open));
    const place = from ? rows.indexOf(from) + by : 0;
    focus(rows[Math.max(0, Math.min(place, rows.length - 1))]);
  }

  async #nextUnread() {
    const page = await fetchFragment("/inbox/rows/?folder=unread").catch(() => null);
    if (!page) return toast(OFFLINE);
    const found = [...page.querySelectorAll("[data-thread]")].map((row) => row.dataset.thread);
    const next = found.find((thread) => thread !== this.#open);
    if (!next) return toast("You're all caught up.");
    const key = this.#inbox?.key ?? "inbox";
    location.assign(`/threads/${next}/${key === "inbox" ? "" : `?in=${key}`}`);
  }

  // --- Actions on threads

  /** The selected threads, else the focused one, else the open one. */
  get #targets() {
    const selected = this.#rows.filter((row) => row.querySelector("[name=thread]").checked);
    const row = this.#focusedRow;
    if (selected.length || row) return (selected.length ? selected : [row]).map(stateOf);
    return this.#open ? [stateOfOpen(this.#open)] : [];
  }

  #isArchived(all) {
    return all.every(({ folder }) => ["archived", "spam"].includes(folder ?? this.#inbox.folder));
  }

  async #act(choose) {
    const targets = this.#targets;
    if (!targets.length) return toast("Select a conversation first. Press j or k to move through the list.");
    const act = choose(targets);
    const threads = targets.map(({ thread }) => thread);
    // An open thread would be marked as read again, or stay open while its row is gone.
    const leave = ["archive", "unread"].includes(act) && threads.includes(this.#open);
    const row = this.#focusedRow;
    const next = row && ["archive", "restore"].includes(act) ? neighbour(row) : null;
    const outcome = await this.actions.run({ act, thread: threads }, { leave });
    if (!outcome || leave) return;
    document.getElementById("act-on-rows")?.reset();
    // The row is removed by an event, which may arrive before the response.
    const isLost = document.activeElement === document.body || this.#focusedRow === row;
    if (next && isLost) focus(this.#inbox.row(next));
  }

  // --- Search, command palette and the list of shortcuts

  #search() {
    const box = document.getElementById("search-words");
    if (!box) return location.assign("/inbox/search/");
    box.focus();
    box.select();
  }

  /** The dialog is part of the page: users type on at once. */
  #openPalette() {
    this.palette ??= new CommandPalette(document.getElementById("palette"));
    this.palette.open();
  }

  async #showShortcuts() {
    this.dialog ??= (await fetchFragment("/inbox/keys/").catch(() => null))?.querySelector("dialog");
    if (!this.dialog) return location.assign("/inbox/keys/");
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    showEnabled(this.dialog);
    this.dialog.showModal();
  }
}

/** The physical key, for keyboards without Latin letters. */
function keyOf({ key, code }) {
  const isLatin = key.length === 1 && key < "\u0080";
  return isLatin ? key.toLowerCase() : code.replace(/^Key/, "").toLowerCase();
}

function isBusy(target) {
  return Boolean(target.closest?.(TEXT_FIELDS) || document.querySelector("dialog[open], :popover-open"));
}

function stateOf(row) {
  const { thread, unread, muted, marked } = row.dataset;
  return { thread, isMuted: muted !== undefined, isUnread: unread !== "0" || marked !== undefined };
}

/** From the thread's menu. An open thread is read. */
function stateOfOpen(thread) {
  const [folder, , muted] = document.querySelector("[data-settings]").dataset.settings.split(" ");
  return { thread, folder, isMuted: muted === "true", isUnread: false };
}

function neighbour(row) {
  const rows = [...row.parentElement.querySelectorAll("[data-thread]")];
  const place = rows.indexOf(row);
  return (rows[place + 1] ?? rows[place - 1])?.dataset.thread;
}

function focus(row) {
  row?.querySelector(".row-link").focus();
}

// --- Whether single-letter shortcuts are enabled on this device

function isEnabled() {
  return localStorage.getItem(DISABLED_KEY) === null;
}

function setEnabled(on) {
  if (on) localStorage.removeItem(DISABLED_KEY);
  else localStorage.setItem(DISABLED_KEY, "");
}

function showEnabled(place) {
  for (const box of place.querySelectorAll("[data-single-keys]")) box.checked = isEnabled();
}
