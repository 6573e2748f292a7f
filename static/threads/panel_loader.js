// Loads the panel module once the thread has a project; most threads have none.

const FOLDED = "panel-folded";
const EVENTS = ["panel.changed", "thread.changed", "thread.synced"];

export class PanelLoader {
  #panel = null; // a promise

  constructor(thread, socket) {
    this.thread = thread;
    // Before the module is loaded, so that the layout does not shift.
    document.body.classList.toggle(FOLDED, localStorage.getItem(FOLDED) === "yes");
    for (const type of EVENTS) {
      socket.addEventListener(type, ({ detail }) => detail.thread === thread && this.#receive(detail));
    }
    if (!document.querySelector("[data-panel]").hidden) this.#load();
  }

  /** Events received while the module loads are handled in order afterwards. */
  #receive(event) {
    if (this.#panel || isOfProject(event)) this.#load().then((panel) => panel?.receive(event));
  }

  #load() {
    this.#panel ??= import("./panel.js").then(
      ({ Panel }) => new Panel(this.thread, { onFold: fold }),
      () => (this.#panel = null), // The next event tries again.
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
