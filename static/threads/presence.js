// Presence of the other participants: online, or when they were last active.

import { presenceLabel } from "../site/labels.js";

const MINUTE = 60_000;

export class Presence {
  #byUser = new Map(); // user -> { online, last_seen_at }

  constructor(thread, socket) {
    socket.addEventListener("presence.changed", ({ detail }) => {
      if (detail.thread !== thread) return;
      this.#byUser.set(detail.user, detail);
      this.show();
    });
    setInterval(() => this.show(), MINUTE);
  }

  /** Visibility has changed; the server publishes presence again where it may be seen. */
  clear() {
    this.#byUser.clear();
    this.show();
  }

  show() {
    for (const place of document.querySelectorAll("[data-presence]")) {
      const presence = this.#byUser.get(place.dataset.presence);
      place.textContent = presence ? presenceLabel(presence.online, presence.last_seen_at) : "";
      place.classList.toggle("online", Boolean(presence?.online));
    }
  }
}
