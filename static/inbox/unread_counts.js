// Counts beside folders and filters, and the unread count in the title. The server counts; this
// module requests new counts when they may have changed.

import { Throttle } from "../realtime/throttle.js";

export class UnreadCounts {
  #requests = new Throttle(1_000, () => this.#request());
  #requested = 0;
  #title = document.title;

  constructor() {
    this.#showInTitle();
  }

  refresh() {
    this.#requests.push("");
  }

  async #request() {
    const number = ++this.#requested;
    const response = await fetch("/inbox/counts/").catch(() => null);
    if (!response?.ok || response.redirected) return;
    const counts = await response.json();
    // A newer request is in progress or answered.
    if (number !== this.#requested) return;
    for (const place of document.querySelectorAll("[data-count]")) {
      const count = counts[place.dataset.count] ?? "0";
      place.hidden = count === "0";
      place.querySelector("[data-count-shown]").textContent = count;
    }
    this.#showInTitle();
  }

  #showInTitle() {
    const place = document.querySelector('[data-count="unread"]:not([hidden])');
    const count = place?.querySelector("[data-count-shown]").textContent;
    document.title = count ? `(${count}) ${this.#title}` : this.#title;
  }
}
