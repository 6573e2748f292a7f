// The numbers beside folders and filters, and the one in the title: how many conversations have
// something unread. The server counts; this asks when they may be different.

import { Pace } from "../realtime/throttle.js";

export class Counts {
  #asking = new Pace(1_000, () => this.#ask());
  #asked = 0;
  #title = document.title;

  constructor() {
    this.#entitle();
  }

  later() {
    this.#asking.push("");
  }

  async #ask() {
    const number = ++this.#asked;
    const answer = await fetch("/inbox/counts/").catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const counts = await answer.json();
    // One that was asked for later may have come before.
    if (number !== this.#asked) return;
    for (const place of document.querySelectorAll("[data-count]")) {
      const count = counts[place.dataset.count] ?? "0";
      place.hidden = count === "0";
      place.querySelector("[data-count-shown]").textContent = count;
    }
    this.#entitle();
  }

  #entitle() {
    const place = document.querySelector('[data-count="unread"]:not([hidden])');
    const count = place?.querySelector("[data-count-shown]").textContent;
    document.title = count ? `(${count}) ${this.#title}` : this.#title;
  }
}
