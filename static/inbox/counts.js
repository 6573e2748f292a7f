// The numbers beside folders and filters. The server counts; this asks when they may be different.

import { Pace } from "../realtime/pace.js";

export class Counts {
  #asking = new Pace(1_000, () => this.#ask());

  later() {
    this.#asking.push("");
  }

  async #ask() {
    const answer = await fetch("/inbox/counts/").catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const counts = await answer.json();
    for (const place of document.querySelectorAll("[data-count]")) {
      const count = counts[place.dataset.count] ?? "0";
      place.hidden = count === "0";
      place.querySelector("[data-count-shown]").textContent = count;
    }
  }
}
