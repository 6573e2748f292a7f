// Fetches messages again whose content the archive did not return in time, with back-off and
// jitter.

import { fetchFragment } from "../site/fragments.js";

const MIN_DELAY = 3_000;
const MAX_DELAY = 60_000;
const MISSING = ".message:has([data-unavailable])";

export class ArchiveRetry {
  #timer = null;
  #delay = MIN_DELAY;

  constructor(timeline) {
    this.timeline = timeline;
  }

  /** Called for each placeholder; one timer serves all of them. */
  watch() {
    this.#timer ??= setTimeout(() => this.#retry(), this.#delay * (0.5 + Math.random() / 2));
  }

  async #retry() {
    const { list } = this.timeline;
    const missing = [...list.querySelectorAll(MISSING)];
    // A random one: a message that can never be read must not block the others.
    const chosen = missing[Math.floor(Math.random() * missing.length)];
    const loaded = chosen && !document.hidden ? await this.#fetchAround(chosen) : 0;
    this.#timer = null;
    this.#delay = loaded ? MIN_DELAY / 6 : Math.min(MAX_DELAY, Math.max(MIN_DELAY, this.#delay * 2));
    if (!list.isConnected) return;
    if (list.querySelector(MISSING)) this.watch();
    else document.querySelector("[data-unavailable-note]")?.remove();
  }

  async #fetchAround({ dataset: { message } }) {
    const url = `/threads/${this.timeline.thread}/messages/?at=${message}`;
    const page = await fetchFragment(url).catch(() => null);
    let loaded = 0;
    for (const fresh of page?.querySelectorAll(".message") ?? []) {
      const shown = this.timeline.byId(fresh.dataset.message);
      if (!shown?.matches(MISSING) || fresh.matches(MISSING)) continue;
      this.timeline.swap(shown, fresh);
      loaded += 1;
    }
    return loaded;
  }
}
