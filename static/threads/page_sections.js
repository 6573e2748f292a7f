// Who is in a conversation, what may be done in it and what is said above it are made by the
// server; when they change, they are fetched and put in place of the old ones.

import { fetchPage, fromTemplate } from "../site/fragments.js";

/** Everything but the messages and the box one writes in, which is returned as it would be now. */
export async function refreshParts(thread) {
  const page = await fetchPage(`/threads/${thread}/`).catch(() => null);
  if (!page) return null;
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.querySelector(`[data-part="${part.dataset.part}"]`);
    if (fresh) part.replaceChildren(...fresh.childNodes);
  }
  const isSafe = page.querySelector("[data-timeline]")?.hasAttribute("data-safe-mode");
  for (const place of document.querySelectorAll("[data-timeline], [data-panel]")) {
    place.toggleAttribute("data-safe-mode", Boolean(isSafe));
  }
  return page.querySelector("[data-composer-place]");
}

/** A sentence above the messages, in the words of the server. */
export function showBanner(text) {
  const banner = fromTemplate("banner");
  banner.querySelector("p").textContent = text;
  document.querySelector("[data-banners]").replaceChildren(banner);
}

/** A word to the author, above the box; the next message takes it away. */
export function showNotice(text) {
  const banner = fromTemplate("banner");
  banner.querySelector("p").textContent = text;
  document.querySelector("[data-composer-error]")?.replaceChildren(banner);
}
