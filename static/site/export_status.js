// While something is being put together the list looks again, until it is there.

import { fetchPage } from "./fragments.js";

const EVERY = 2_000;

async function look() {
  const list = document.querySelector("[data-exports]");
  if (!list?.querySelector("[data-coming]")) return;
  try {
    const now = (await fetchPage(location.pathname)).querySelector("[data-exports]");
    if (now.innerHTML !== list.innerHTML) announce(list, now);
  } catch {
    // Not now; in a moment again.
  }
  setTimeout(look, EVERY);
}

function announce(list, now) {
  list.replaceWith(now);
  if (now.querySelector("[data-coming]")) return;
  document.querySelector("[data-announcer]").textContent = "Your export is ready.";
}

setTimeout(look, EVERY);
