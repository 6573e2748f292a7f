// Sections of the thread page rendered by the server (participants, menu, banners), marked with
// data-part. When they may have changed, the page is fetched and they are replaced.

import { fetchPage, fromTemplate } from "../site/fragments.js";

/** Replaces all sections except messages and composer. Returns the new composer area. */
export async function refreshSections(thread) {
  const page = await fetchPage(`/threads/${thread}/`).catch(() => null);
  if (!page) return null;
  // The panel has versions; this page may have been rendered before its last change.
  const isStepInPanel = document.querySelector("[data-next-step]");
  for (const part of document.querySelectorAll("[data-part]")) {
    if (isStepInPanel && part.dataset.part === "next-step") continue;
    const fresh = page.querySelector(`[data-part="${part.dataset.part}"]`);
    if (fresh) part.replaceChildren(...fresh.childNodes);
  }
  const isInSafeMode = page.querySelector("[data-timeline]")?.hasAttribute("data-safe-mode");
  for (const place of document.querySelectorAll("[data-timeline], [data-panel]")) {
    place.toggleAttribute("data-safe-mode", Boolean(isInSafeMode));
  }
  return page.querySelector("[data-composer-place]");
}

/** Shows a text of the server above the messages. */
export function showBanner(text) {
  const banner = fromTemplate("banner");
  banner.querySelector("p").textContent = text;
  document.querySelector("[data-banners]").replaceChildren(banner);
}

/** Shows a notice above the composer until the next message is sent. */
export function showNotice(text) {
  const banner = fromTemplate("banner");
  banner.querySelector("p").textContent = text;
  document.querySelector("[data-composer-error]")?.replaceChildren(banner);
}
