// A person or a conversation by a few letters of a name. The server finds; this moves about in it.

import { fetchFragment } from "../site/fragments.js";

const PAUSE = 120;
const AWAY = "You are not connected just now.";

export class Finder {
  #timer = null;
  #asked = null; // what the answer on its way is to
  #shown = null; // what the list answers
  #goes = false; // Enter was pressed before the answer was there

  constructor(dialog) {
    this.dialog = dialog;
    this.box = dialog.querySelector("[role=combobox]");
    this.list = dialog.querySelector("[role=listbox]");
    this.status = dialog.querySelector("[data-finder-status]");
    this.box.addEventListener("input", () => this.#typed());
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("click", ({ target }) => go(target.closest("[role=option]")));
    dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
    dialog.addEventListener("close", () => this.#closed());
  }

  open() {
    if (this.dialog.open) return;
    this.dialog.showModal();
    this.#ask();
  }

  get #text() {
    return this.box.value.trim();
  }

  get #options() {
    return [...this.list.querySelectorAll("[role=option]")];
  }

  get #active() {
    return this.list.querySelector("[aria-selected=true]");
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#goes = false;
    this.#timer = setTimeout(() => this.#ask(), PAUSE);
  }

  async #ask() {
    const text = this.#text;
    if (text === this.#shown || text === this.#asked) return;
    this.#asked = text;
    const query = new URLSearchParams({ q: text });
    let why = "";
    const found = await fetchFragment(`/inbox/find/?${query}`).catch(({ message }) => {
      why = message === "429" ? "That was a lot of names. Wait a moment, and type on." : AWAY;
    });
    // Somebody typed on: the answer to that is on its way, or will be.
    if (text !== this.#asked || !this.dialog.open) return;
    this.#asked = null;
    if (!found) return void (this.status.textContent = why);
    this.#show(text, found);
  }

  #show(text, found) {
    this.#shown = text;
    this.list.replaceChildren(found);
    const options = this.#options;
    this.list.hidden = !options.length;
    this.box.setAttribute("aria-expanded", String(Boolean(options.length)));
    this.#choose(options[0] ?? null);
    this.status.textContent = said(options.length, text);
    if (this.#goes) go(this.#active);
  }

  #key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isOurs = by || event.key === "Enter";
    if (!isOurs || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (by) return this.#step(by);
    if (this.#shown === this.#text) return go(this.#active);
    this.#goes = true;
    clearTimeout(this.#timer);
    this.#ask();
  }

  #step(by) {
    const options = this.#options;
    const place = options.indexOf(this.#active) + by;
    this.#choose(options.at(place % options.length) ?? null);
  }

  #choose(option) {
    this.#active?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.box.setAttribute("aria-activedescendant", option.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #closed() {
    clearTimeout(this.#timer);
    this.box.value = "";
    this.#asked = this.#shown = null;
    this.#goes = false;
    this.list.replaceChildren();
    this.list.hidden = true;
    this.box.setAttribute("aria-expanded", "false");
    this.#choose(null);
    this.status.textContent = "";
  }
}

function go(option) {
  if (option) location.assign(option.dataset.href);
}

function said(count, text) {
  if (!count) return text ? "Nobody and nothing of that name." : "No conversations yet.";
  return count === 1 ? "1 found" : `${count} found`;
}
