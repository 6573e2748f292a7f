// Earlier and later messages load as one comes near them; the links do the same without a script.

import { fetchFragment, fromTemplate } from "../site/fragments.js";

const NEAR = "600px";

export class Pages {
  #watcher;

  constructor(timeline, { onEnd }) {
    this.timeline = timeline;
    this.onEnd = onEnd;
    const { scroller } = timeline;
    this.#watcher = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) if (isIntersecting) this.#load(target);
      },
      { root: scroller, rootMargin: NEAR },
    );
    for (const end of scroller.querySelectorAll("[data-older], [data-newer]")) {
      this.#watcher.observe(end);
    }
    scroller.addEventListener("click", (event) => {
      const end = event.target.closest("[data-older], [data-newer]");
      if (!end || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#load(end);
    });
  }

  async #load(end) {
    if (end.ariaBusy === "true") return;
    end.ariaBusy = "true";
    this.#watcher.unobserve(end);
    const page = await fetchFragment(end.querySelector("a").href).catch(() => null);
    if (!page || !end.isConnected) {
      // The link stays, and is tried again on a press.
      end.ariaBusy = "false";
      return;
    }
    const isOlder = end.matches("[data-older]");
    const items = [...page.querySelector("[data-stretch]").children];
    if (isOlder) this.timeline.prepend(items);
    else this.timeline.append(items);
    const next = page.querySelector(isOlder ? "[data-older]" : "[data-newer]");
    if (next) {
      end.replaceWith(next);
      this.#watcher.observe(next);
      return;
    }
    end.remove();
    if (!isOlder) this.onEnd();
  }

  /** Only the newest messages are here now: those above them can be had again. */
  startAt(message) {
    const { scroller, list, thread } = this.timeline;
    for (const end of scroller.querySelectorAll("[data-older], [data-newer]")) end.remove();
    const end = fromTemplate("older-messages");
    end.querySelector("a").href = `/threads/${thread}/messages/?before=${message.dataset.message}`;
    list.before(end);
    this.#watcher.observe(end);
  }
}
