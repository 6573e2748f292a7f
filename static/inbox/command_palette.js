// Command palette (Ctrl+K): finds a person or a conversation by a few letters. The server searches.

import { fetchFragment } from "../site/fragments.js";
import { OFFLINE } from "../site/labels.js";

const INPUT_DELAY = 120;
const TOO_FAST = "You're searching too quickly. Wait a moment, then continue.";

export class CommandPalette {
  #timer = null;
  #requested = null; // text of the request in progress
  #shown = null; // text of the results shown
  #opensFirst = false; // Enter was pressed before the results arrived

  constructor(dialog) {
    this.dialog = dialog;
    this.box = dialog.querySelector("[role=combobox]");
    this.list = dialog.querySelector("[role=listbox]");
    this.status = dialog.querySelector("[data-palette-status]");
    this.box.addEventListener("input", () => this.#inputChanged());
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("click", ({ target }) => openOption(target.closest("[role=option]")));
    dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
    dialog.addEventListener("close", () => this.#closed());
  }

  open() {
    if (this.dialog.open) return;
    this.dialog.showModal();
    this.#search();
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

  #inputChanged() {
    clearTimeout(this.#timer);
    this.#opensFirst = false;
    this.#timer = setTimeout(() => this.#search(), INPUT_DELAY);
  }

  async #search() {
    const text = this.#text;
    if (text === this.#shown || text === this.#requested) return;
    this.#requested = text;
    const query = new URLSearchParams({ q: text });
    let error = "";
    const found = await fetchFragment(`/inbox/find/?${query}`).catch(({ message }) => {
      error = message === "429" ? TOO_FAST : OFFLINE;
    });
    // The text has changed since; its own request follows.
    if (text !== this.#requested || !this.dialog.open) return;
    this.#requested = null;
    if (!found) return void (this.status.textContent = error);
    this.#show(text, found);
  }

  #show(text, found) {
    this.#shown = text;
    this.list.replaceChildren(found);
    const options = this.#options;
    this.list.hidden = !options.length;
    this.box.setAttribute("aria-expanded", String(Boolean(options.length)));
    this.#select(options[0] ?? null);
    this.status.textContent = resultLabel(options.length, text);
    if (this.#opensFirst) openOption(this.#active);
  }

  #key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isOurs = by || event.key === "Enter";
    if (!isOurs || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (by) return this.#step(by);
    if (this.#shown === this.#text) return openOption(this.#active);
    this.#opensFirst = true;
    clearTimeout(this.#timer);
    this.#search();
  }

  #step(by) {
    const options = this.#options;
    const place = options.indexOf(this.#active) + by;
    this.#select(options.at(place % options.length) ?? null);
  }

  #select(option) {
    this.#active?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.box.setAttribute("aria-activedescendant", option.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #closed() {
    clearTimeout(this.#timer);
    this.box.value = "";
    this.#requested = this.#shown = null;
    this.#opensFirst = false;
    this.list.replaceChildren();
    this.list.hidden = true;
    this.box.setAttribute("aria-expanded", "false");
    this.#select(null);
    this.status.textContent = "";
  }
}

function openOption(option) {
  if (option) location.assign(option.dataset.href);
}

function resultLabel(count, text) {
  if (!count) return text ? "No people or conversations found." : "No conversations yet.";
  return count === 1 ? "1 result" : `${count} results`;
}
