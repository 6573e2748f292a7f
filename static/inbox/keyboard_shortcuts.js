// Going through the list by keyboard. Single letters are for whoever is not writing; they can be
// turned off, since speech and some readers of screens type letters of their own.

import { fetchFragment } from "../site/fragments.js";
import { toast } from "../site/notices.js";
import { Finder } from "./command_palette.js";

const TYPING = `textarea, select, [contenteditable],
  input:not([type="checkbox"], [type="radio"], [type="button"], [type="submit"], [type="reset"])`;
const OFF = "single-keys-off";

export class Keys {
  #singles = {
    j: () => this.#step(1),
    k: () => this.#step(-1),
    "/": () => this.#search(),
    e: () => this.#act((all) => (this.#isPutAway(all) ? "restore" : "archive")),
    m: () => this.#act((all) => (all.every((one) => one.isMuted) ? "unmute" : "mute good")),
    u: () => this.#act((all) => (all.every((one) => one.isUnread) ? "read" : "unread")),
    n: () => this.#nextUnread(),
    "?": () => this.#list(),
  };

  constructor(inbox, acts) {
    Object.assign(this, { inbox, acts });
    document.addEventListener("keydown", (event) => this.#press(event));
    document.addEventListener("change", ({ target }) => {
      if (target.matches("[data-single-keys]")) turn(target.checked);
    });
    showWhetherOn(document);
    const styles = Object.assign(document.createElement("link"), { rel: "stylesheet" });
    styles.href = document.getElementById("finder").dataset.styles;
    document.head.append(styles);
    document.documentElement.dataset.keys = "";
  }

  #press(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && !event.altKey && !event.shiftKey && nameOf(event) === "k") {
      event.preventDefault();
      return this.#find();
    }
    const run = this.#singles[nameOf(event)];
    if (!run || isCommand || event.altKey || isBusy(event.target) || !areOn()) return;
    event.preventDefault();
    run();
  }

  // --- The list

  get #rows() {
    return [...this.inbox.list.querySelectorAll("[data-thread]")];
  }

  get #open() {
    return document.querySelector("[data-timeline]")?.dataset.thread ?? null;
  }

  /** The one that has the focus; before the first step, the one that is open. */
  get #at() {
    return document.activeElement?.closest(".rows [data-thread]") ?? null;
  }

  #step(by) {
    const rows = this.#rows;
    const from = this.#at ?? (this.#open && this.inbox.row(this.#open));
    const place = from ? rows.indexOf(from) + by : 0;
    focus(rows[Math.max(0, Math.min(place, rows.length - 1))]);
  }

  async #nextUnread() {
    const page = await fetchFragment("/inbox/rows/?folder=unread").catch(() => null);
    if (!page) return toast("You are not connected just now.");
    const found = [...page.querySelectorAll("[data-thread]")].map((row) => row.dataset.thread);
    const next = found.find((thread) => thread !== this.#open);
    if (!next) return toast("Everything is read.");
    const { key } = this.inbox;
    location.assign(`/threads/${next}/${key === "inbox" ? "" : `?in=${key}`}`);
  }

  // --- What one does to conversations

  /** Those that are picked; else the one that has the focus; else the one that is open. */
  get #targets() {
    const picked = this.#rows.filter((row) => row.querySelector("[name=thread]").checked);
    const row = this.#at;
    if (picked.length || row) return (picked.length ? picked : [row]).map(standing);
    return this.#open ? [standingOfOpen(this.#open)] : [];
  }

  #isPutAway(all) {
    return all.every(({ folder }) => ["archived", "spam"].includes(folder ?? this.inbox.folder));
  }

  async #act(choose) {
    const targets = this.#targets;
    if (!targets.length) return toast("Choose a conversation first: j and k go through them.");
    const act = choose(targets);
    const threads = targets.map(({ thread }) => thread);
    // An open one would be read again at once, or stay beside a list that no longer has it.
    const leave = ["archive", "unread"].includes(act) && threads.includes(this.#open);
    const at = this.#at;
    const beside = at && ["archive", "restore"].includes(act) ? neighbour(at) : null;
    const outcome = await this.acts.run({ act, thread: threads }, { leave });
    if (!outcome || leave) return;
    document.getElementById("act-on-rows")?.reset();
    // It goes when the server says so, which may have been before the answer.
    const isLost = document.activeElement === document.body || this.#at === at;
    if (beside && isLost) focus(this.inbox.row(beside));
  }

  // --- Elsewhere

  #search() {
    const box = document.getElementById("search-words");
    if (!box) return location.assign("/inbox/search/");
    box.focus();
    box.select();
  }

  /** Not fetched only now: somebody types on at once, and Enter. */
  #find() {
    this.finder ??= new Finder(document.getElementById("finder"));
    this.finder.open();
  }

  async #list() {
    this.listed ??= (await fetchFragment("/inbox/keys/").catch(() => null))?.querySelector("dialog");
    if (!this.listed) return location.assign("/inbox/keys/");
    if (!this.listed.isConnected) document.body.append(this.listed);
    showWhetherOn(this.listed);
    this.listed.showModal();
  }
}

/** By the place on the keyboard, where the letters are not Latin ones. */
function nameOf({ key, code }) {
  const isLatin = key.length === 1 && key < "\u0080";
  return isLatin ? key.toLowerCase() : code.replace(/^Key/, "").toLowerCase();
}

function isBusy(target) {
  return Boolean(target.closest?.(TYPING) || document.querySelector("dialog[open], :popover-open"));
}

function standing(row) {
  const { thread, unread, muted, marked } = row.dataset;
  return { thread, isMuted: muted !== undefined, isUnread: unread !== "0" || marked !== undefined };
}

/** As its menu has it. Who looks at it has read it. */
function standingOfOpen(thread) {
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

// --- Whether they are on, on this device

function areOn() {
  return localStorage.getItem(OFF) === null;
}

function turn(on) {
  if (on) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "");
}

function showWhetherOn(place) {
  for (const box of place.querySelectorAll("[data-single-keys]")) box.checked = areOn();
}
