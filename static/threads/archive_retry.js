// Messages whose content the archive did not give in time: they are fetched again, with back-off and
// jitter, until it does.

import { fetchFragment } from "../site/fragments.js";

const FIRST_WAIT = 3_000;
const MAX_WAIT = 60_000;
const MISSING = ".message:has([data-unavailable])";

export class Unavailable {
  #timer = null;
  #wait = FIRST_WAIT;

  constructor(timeline) {
    this.timeline = timeline;
  }

  /** Called for each placeholder; one timer serves all of them. */
  watch() {
    this.#timer ??= setTimeout(() => this.#retry(), this.#wait * (0.5 + Math.random() / 2));
  }

  async #retry() {
    const { list } = this.timeline;
    const missing = [...list.querySelectorAll(MISSING)];
    // Any of them: one that can never be read must not keep the others from being fetched.
    const some = missing[Math.floor(Math.random() * missing.length)];
    const loaded = some && !document.hidden ? await this.#fetchAround(some) : 0;
    this.#timer = null;
    this.#wait = loaded ? FIRST_WAIT / 6 : Math.min(MAX_WAIT, Math.max(FIRST_WAIT, this.#wait * 2));
    if (!list.isConnected) return;
    if (list.querySelector(MISSING)) this.watch();
    else document.querySelector("[data-unavailable-note]")?.remove();
  }

  async #fetchAround({ dataset: { message } }) {
    const url = `/threads/${this.timeline.thread}/messages/?at=${message}`;
    const page = await fetchFragment(url).catch(() => null);
    let loaded = 0;
    for (const now of page?.querySelectorAll(".message") ?? []) {
      const before = this.timeline.byId(now.dataset.message);
      if (!before?.matches(MISSING) || now.matches(MISSING)) continue;
      this.timeline.complete(before, now);
      loaded += 1;
    }
    return loaded;
  }
}
