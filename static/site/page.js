// Every page of somebody who is signed in: one socket, and what on the page wants to hear it.

import { keepInbox } from "../inbox/inbox.js";
import { Socket } from "../realtime/socket.js";
import { openThread } from "../threads/thread.js";
import { toast } from "./notices.js";

const QUIET = 2_000;

const socket = new Socket();
const timeline = document.querySelector("[data-timeline]");
if (timeline) openThread(timeline, socket);
const rows = document.querySelector("[data-rows]");
if (rows) keepInbox(rows, socket);

// A short absence is nobody's business; a longer one is said, quietly.
let sayIt = null;
socket.addEventListener("state", ({ detail: state }) => {
  clearTimeout(sayIt);
  if (state === "live") return say("");
  if (state === "closed") return location.assign(`/accounts/login/?next=${location.pathname}`);
  sayIt = setTimeout(() => say("Not live: reconnecting. What you write is kept and goes out then."), QUIET);
});
sayIt = setTimeout(() => socket.isLive || say("Not live: trying to connect."), 2 * QUIET);

function say(text) {
  for (const line of document.querySelectorAll("[data-connection]")) {
    line.textContent = text;
    line.hidden = !text;
  }
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-copy-link]");
  if (!link || event.ctrlKey || event.metaKey || !navigator.clipboard) return;
  event.preventDefault();
  await navigator.clipboard.writeText(link.href);
  toast("Link copied");
});
