// Loads older and newer messages when their links come near the viewport.

import { fetchFragment, fromTemplate } from "../site/fragments.js";

const LOAD_MARGIN = "600px";

export class Pagination {
  #watcher;

  constructor(timeline, { onNewest }) {
    this.timeline = timeline;
    this.onNewest = onNewest;
    const { scroller } = timeline;
    this.#watcher = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) if (isIntersecting) this.#load(target);
      },
      { root: scroller, rootMargin: LOAD_MARGIN },
    );
    for (const link of scroller.querySelectorAll("[data-older], [data-newer]")) {
      this.#watcher.observe(link);
    }
    scroller.addEventListener("click", (event) => {
      const link = event.target.closest("[data-older], [data-newer]");
      if (!link || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#load(link);
    });
  }

  async #load(link) {
    if (link.ariaBusy === "true") return;
    link.ariaBusy = "true";
    this.#watcher.unobserve(link);
    const page = await fetchFragment(link.querySelector("a").href).catch(() => null);
    if (!page || !link.isConnected) {
      // The link stays: a click tries again.
      link.ariaBusy = "false";
      return;
    }
    const isOlder = link.matches("[data-older]");
    const items = [...page.querySelector("[data-history-page]").children];
    if (isOlder) this.timeline.prepend(items);
    else this.timeline.append(items);
    const next = page.querySelector(isOlder ? "[data-older]" : "[data-newer]");
    if (next) {
      link.replaceWith(next);
      this.#watcher.observe(next);
      return;
    }
    link.remove();
    if (!isOlder) this.onNewest();
  }

  /** Only the newest messages are shown: adds a link to those above them. */
  startAt(message) {
    const { scroller, list, thread } = this.timeline;
    for (const link of scroller.querySelectorAll("[data-older], [data-newer]")) link.remove();
    const link = fromTemplate("older-messages");
    link.querySelector("a").href = `/threads/${thread}/messages/?before=${message.dataset.message}`;
    list.before(link);
    this.#watcher.observe(link);
  }
}
