// Entry point of every signed-in page: opens the socket and connects the page's modules to it.

import { ThreadActions } from "../inbox/thread_actions.js";
import { watchWidth } from "../inbox/column.js";
import { Inbox } from "../inbox/inbox.js";
import { BackgroundThreads } from "../realtime/background_threads.js";
import { Socket } from "../realtime/socket.js";
import { SendQueue } from "../store/send_queue.js";
import { Outbox } from "../store/outbox.js";
import { refreshSections } from "../threads/page_sections.js";
import { Thread } from "../threads/thread.js";
import { bindMenuKeys } from "./menu_keys.js";
import { toast } from "./notices.js";

const STATUS_DELAY = 2_000; // Shorter interruptions are not shown.
const INBOX_TIMEOUT = 3_000;
const OTHER_TAB_TIMEOUT = 10_000;

const RECONNECTING = "You're offline. Messages will be sent when you reconnect.";
const TOO_MANY_TABS =
  "Parley is open in too many tabs, so this one has stopped updating. Close some, then reload.";

const root = document.documentElement;
root.dataset.scripted = "";
const user = root.dataset.me;
const socket = new Socket({ user });
const outbox = new Outbox(user);
const sendQueue = new SendQueue(socket, outbox);
let inbox = null;
startInbox();
watchWidth(startInbox);
bindMenuKeys();
const actions = new ThreadActions({ onDone: () => socket.isLive || inbox?.refresh() });
const timeline = document.querySelector("[data-timeline]");
const thread = timeline && new Thread(timeline, socket, outbox, sendQueue);
const backgroundThreads = new BackgroundThreads(socket, sendQueue, {
  shown: () => thread?.id ?? null,
});
if (thread) socket.shown = () => thread.shown;

// Loaded last: reading and writing do not depend on it.
void import("../inbox/keyboard_shortcuts.js").then(
  ({ KeyboardShortcuts }) => new KeyboardShortcuts(() => inbox, actions),
);

function startInbox() {
  const rows = document.querySelector("[data-rows]");
  if (rows) inbox ??= new Inbox(rows, socket);
}

// The thread was pinned, muted or moved, here or on another page: the menu offers the opposite.
socket.addEventListener("inbox.changed", ({ detail: { thread: id, folder, pinned, muted } }) => {
  const menu = document.querySelector("[data-settings]");
  if (id !== thread?.id || muted === undefined || !menu || !folder) return;
  if (menu.dataset.settings !== `${folder} ${pinned} ${muted}`) refreshSections(id);
});

// Order of a sync: the open thread, the inbox, then pending messages.
if (thread) thread.addEventListener("synced", () => finishSync());
else socket.addEventListener("hello", () => finishSync());

async function finishSync() {
  const timeout = new Promise((resolve) => setTimeout(resolve, INBOX_TIMEOUT));
  await Promise.race([inbox?.refresh(), timeout]);
  if (thread) sendQueue.ready(thread.id);
  else root.dataset.live = socket.isLive ? "yes" : "no";
  backgroundThreads.flush();
}

// A tab that was closed before it sent its messages: this tab sends them.
let flushTimer = null;
outbox.addEventListener("change", () => {
  clearTimeout(flushTimer);
  flushTimer = setTimeout(() => socket.isLive && backgroundThreads.flush(), OTHER_TAB_TIMEOUT);
});

sendQueue.addEventListener("refused", ({ detail }) => {
  if (detail.thread !== thread?.id) toast("A message couldn't be sent. Open its conversation to see why.");
});

// Sent to the reporter only; a loaded inbox shows the same.
socket.addEventListener("report.answered", () => {
  const view = { label: "See the answer", run: () => location.assign("/settings/reports/") };
  toast("Our safety team replied to your report.", view);
});

let statusTimer = setTimeout(() => socket.isLive || showStatus("Connecting…"), 2 * STATUS_DELAY);
socket.addEventListener("state", ({ detail: state }) => {
  clearTimeout(statusTimer);
  if (state === "live") return showStatus("");
  if (state === "closed") return location.assign(`/accounts/login/?next=${location.pathname}`);
  if (state === "outdated") return reload();
  if (state === "replaced") return showStatus(TOO_MANY_TABS);
  statusTimer = setTimeout(() => showStatus(RECONNECTING), STATUS_DELAY);
});

// While the servers are disconnected from each other, messages are stored but published late.
socket.addEventListener("live.changed", ({ detail: { live } }) => {
  showStatus(live ? "" : "Messages are saved, but may appear with a delay.");
  if (live && !thread) finishSync();
});

function showStatus(text) {
  for (const line of document.querySelectorAll("[data-connection]")) {
    line.textContent = text;
    line.hidden = !text;
  }
}

/** Drafts and pending messages survive it. At most once a minute, in case the new page is as old. */
function reload() {
  const last = Number(sessionStorage.getItem("reloaded") ?? 0);
  if (Date.now() - last < 60_000) return showStatus("Reload this page to continue.");
  sessionStorage.setItem("reloaded", Date.now());
  location.reload();
}
