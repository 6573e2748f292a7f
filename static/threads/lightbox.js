// Photos of the conversation and its panel in full size, by mouse, keyboard and swipe.

const MIN_SWIPE = 60;

export class Lightbox {
  #current = null; // the link of the photo shown
  #startX = null;

  constructor() {
    this.dialog = document.getElementById("lightbox");
    this.image = this.dialog.querySelector("img");
    const on = (name, run) =>
      this.dialog.querySelector(`[data-${name}]`).addEventListener("click", run);
    on("close", () => this.dialog.close());
    on("before", () => this.#step(-1));
    on("after", () => this.#step(1));
    this.dialog.addEventListener("keydown", (event) => this.#key(event));
    this.dialog.addEventListener("close", () => this.#closed());
    const stage = this.dialog.querySelector(".lightbox-stage");
    stage.addEventListener("click", ({ target }) => target === stage && this.dialog.close());
    stage.addEventListener("pointerdown", ({ x }) => (this.#startX = x));
    stage.addEventListener("pointerup", ({ x }) => this.#swiped(x));
  }

  /** Opens a photo, or reveals one that safe mode blurs. */
  click(target) {
    const link = target.closest("[data-picture]");
    const picture = target.closest(".picture");
    if (isHidden(picture)) return reveal(picture);
    this.list = target.closest("[data-timeline], [data-tab], [data-gallery]"); // The photos to step through.
    if (link) this.#open(link);
  }

  /** Without photos that safe mode hides. */
  get #links() {
    const links = [...this.list.querySelectorAll("[data-picture]")];
    return links.filter((link) => !isHidden(link.closest(".picture")));
  }

  #open(link) {
    this.#show(link);
    this.dialog.showModal();
  }

  #show(link) {
    this.#current = link;
    const links = this.#links;
    const index = links.indexOf(link);
    this.image.src = link.href;
    this.image.alt = link.dataset.name;
    const setText = (name, text) => (this.dialog.querySelector(`[data-${name}]`).textContent = text);
    setText("name", link.dataset.name);
    const position = links.length > 1 ? ` · ${index + 1} of ${links.length}` : "";
    setText("detail", `${link.dataset.detail}${position}`);
    this.dialog.querySelector("[data-download]").href = link.dataset.download;
    this.dialog.querySelector("[data-before]").disabled = index === 0;
    this.dialog.querySelector("[data-after]").disabled = index === links.length - 1;
  }

  #step(by) {
    const links = this.#links;
    const next = links[links.indexOf(this.#current) + by];
    if (next) this.#show(next);
  }

  #key({ key }) {
    const links = this.#links;
    if (key === "ArrowLeft") this.#step(-1);
    else if (key === "ArrowRight") this.#step(1);
    else if (key === "Home") this.#show(links[0]);
    else if (key === "End") this.#show(links.at(-1));
  }

  #swiped(x) {
    const by = x - (this.#startX ?? x);
    this.#startX = null;
    if (Math.abs(by) > MIN_SWIPE) this.#step(by > 0 ? -1 : 1);
  }

  #closed() {
    this.image.removeAttribute("src");
    this.#current?.focus({ preventScroll: true });
    this.#current = null;
  }
}

const isHidden = (picture) =>
  picture.dataset.band !== "0" && !("shown" in picture.dataset) && Boolean(picture.closest("[data-safe-mode]"));

/** Reveals this photo until the page is left. */
function reveal(picture) {
  if (picture.dataset.band !== "1") return;
  const link = picture.querySelector("[data-picture]");
  link.href = link.dataset.shown;
  const image = picture.querySelector("img");
  image.src = `${link.dataset.shown}&size=thumb`;
  picture.dataset.shown = "";
  picture.querySelector(".picture-shade").hidden = true;
  link.focus({ preventScroll: true });
}
