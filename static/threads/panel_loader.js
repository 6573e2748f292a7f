// A conversation that has a panel, or gets one. What runs the panel is fetched with the first that
// does: most conversations are only talk.

const FOLDED = "panel-folded";
const HEARD = ["panel.changed", "thread.changed", "thread.synced"];

export class Project {
  #panel = null; // the promise of it

  constructor(thread, socket) {
    this.thread = thread;
    // At once, so that nothing jumps when the rest is there.
    document.body.classList.toggle(FOLDED, localStorage.getItem(FOLDED) === "yes");
    for (const type of HEARD) {
      socket.addEventListener(type, ({ detail }) => detail.thread === thread && this.#hear(detail));
    }
    if (!document.querySelector("[data-panel]").hidden) this.#fetch();
  }

  /** What is heard while the panel is on its way waits for it, in its order. */
  #hear(event) {
    if (this.#panel || isOfProject(event)) this.#fetch().then((panel) => panel?.hear(event));
  }

  #fetch() {
    this.#panel ??= import("./panel.js").then(
      ({ Panel }) => new Panel(this.thread, { onFold: fold }),
      () => (this.#panel = null), // Tried again with what is heard next.
    );
    return this.#panel;
  }
}

function fold(folded = !document.body.classList.contains(FOLDED)) {
  document.body.classList.toggle(FOLDED, folded);
  localStorage.setItem(FOLDED, folded ? "yes" : "no");
}

const isOfProject = ({ type, kind, tabs }) =>
  type === "panel.changed" || kind === "project" || Object.keys(tabs ?? {}).length > 0;
