// Polls the list of exports until none is in progress.

import { fetchPage } from "./fragments.js";

const POLL_INTERVAL = 2_000;

async function poll() {
  const list = document.querySelector("[data-exports]");
  if (!list?.querySelector("[data-in-progress]")) return;
  try {
    const fresh = (await fetchPage(location.pathname)).querySelector("[data-exports]");
    if (fresh.innerHTML !== list.innerHTML) replaceList(list, fresh);
  } catch {
    // The next poll tries again.
  }
  setTimeout(poll, POLL_INTERVAL);
}

function replaceList(list, fresh) {
  list.replaceWith(fresh);
  if (fresh.querySelector("[data-in-progress]")) return;
  document.querySelector("[data-announcer]").textContent = "Your export is ready.";
}

setTimeout(poll, POLL_INTERVAL);
