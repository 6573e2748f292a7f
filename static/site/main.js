// Every page of somebody who is signed in: one socket, and what on the page wants to hear it.

import { Acts } from "../inbox/thread_actions.js";
import { Inbox } from "../inbox/inbox.js";
import { Elsewhere } from "../realtime/background_threads.js";
import { Socket } from "../realtime/socket.js";
import { Courier } from "../store/send_queue.js";
import { Outbox } from "../store/outbox.js";
import { refreshParts } from "../threads/page_sections.js";
import { Thread } from "../threads/thread.js";
import { toast } from "./notices.js";

const QUIET = 2_000;
const INBOX_PATIENCE = 3_000;
const ANOTHER_TAB = 10_000;

const root = document.documentElement;
root.dataset.scripted = "";
const user = root.dataset.me;
const socket = new Socket({ user });
const outbox = new Outbox(user);
const courier = new Courier(socket, outbox);
const rows = document.querySelector("[data-rows]");
const inbox = rows && new Inbox(rows, socket);
const timeline = document.querySelector("[data-timeline]");
const thread = timeline && new Thread(timeline, socket, outbox, courier);
if (rows) {
  const acts = new Acts({ onDone: () => socket.isLive || inbox.refresh() });
  // Nobody waits for these to read or to write.
  void import("../inbox/keyboard_shortcuts.js").then(({ Keys }) => new Keys(inbox, acts));
}
const elsewhere = new Elsewhere(socket, courier, { shown: () => thread?.id ?? null });
if (thread) socket.shown = () => thread.shown;

// Pinned, muted or moved, here or on another page of mine: the menu offers the opposite.
socket.addEventListener("inbox.changed", ({ detail: { thread: id, folder, pinned, muted } }) => {
  const menu = document.querySelector("[data-settings]");
  if (id !== thread?.id || muted === undefined || !menu || !folder) return;
  if (menu.dataset.settings !== `${folder} ${pinned} ${muted}`) refreshParts(id);
});

// First what others said, then the list, and only then what waits to be sent.
if (thread) thread.addEventListener("synced", () => catchUp());
else socket.addEventListener("hello", () => catchUp());

async function catchUp() {
  const patience = new Promise((resolve) => setTimeout(resolve, INBOX_PATIENCE));
  await Promise.race([inbox?.refresh(), patience]);
  if (thread) courier.ready(thread.id);
  else root.dataset.live = socket.isLive ? "yes" : "no";
  elsewhere.flush();
}

// Written in another tab, which may be gone by then: whatever still waits is sent from here.
let look = null;
outbox.addEventListener("change", () => {
  clearTimeout(look);
  look = setTimeout(() => socket.isLive && elsewhere.flush(), ANOTHER_TAB);
});

courier.addEventListener("refused", ({ detail }) => {
  if (detail.thread !== thread?.id) toast("A message could not be sent. Its conversation says why.");
});

// Only to whoever reported something; the list of conversations says so, too, when it is loaded.
socket.addEventListener("report.answered", () => {
  const see = { label: "See the answer", run: () => location.assign("/settings/reports/") };
  toast("Our safety team has answered a report of yours.", see);
});

// A short absence is nobody's business; a longer one is said, quietly.
let sayIt = setTimeout(() => socket.isLive || say("Not live: trying to connect."), 2 * QUIET);
socket.addEventListener("state", ({ detail: state }) => {
  clearTimeout(sayIt);
  if (state === "live") return say("");
  if (state === "closed") return location.assign(`/accounts/login/?next=${location.pathname}`);
  if (state === "outdated") return reload();
  if (state === "replaced") return say("Parley is open in too many tabs, so this one no longer updates. Close some others, then reload it.");
  sayIt = setTimeout(() => say("Not live: reconnecting. What you write is kept and goes out then."), QUIET);
});

// The servers cannot hear each other: what is written is stored, and others see it a little later.
socket.addEventListener("live.changed", ({ detail: { live } }) => {
  say(live ? "" : "Not quite live: messages are stored, and appear with some delay.");
  if (live && !thread) catchUp();
});

function say(text) {
  for (const line of document.querySelectorAll("[data-connection]")) {
    line.textContent = text;
    line.hidden = !text;
  }
}

/** Drafts and what waits are kept; but not over and over, if the new page is no newer. */
function reload() {
  const last = Number(sessionStorage.getItem("reloaded") ?? 0);
  if (Date.now() - last < 60_000) return say("Please reload this page.");
  sessionStorage.setItem("reloaded", Date.now());
  location.reload();
}
