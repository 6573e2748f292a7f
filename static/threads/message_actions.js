// What can be done with a message: by mouse when one points at it, by keyboard when it has the
// focus, on a phone by a long press. One set of buttons for the whole page, moved to where it is
// wanted.

import { fromTemplate } from "../site/fragments.js";
import { toast } from "../site/notices.js";
import { quotedText } from "./timeline.js";

const LONG_PRESS = 450;
const SLIP = 10;
const LIFTED = 100;

export class Actions {
  #tools = fromTemplate("message-tools");
  #menu = document.getElementById("message-menu");
  #target = null;
  #isHeld = false; // the finger that opened the menu is still down, maybe on one of its buttons

  constructor(timeline, { onReply, onReact, onEdit, onRemove }) {
    this.timeline = timeline;
    const { list } = timeline;
    this.acts = {
      reply: (message) => onReply(quoteOf(message)),
      react: (message, button) => onReact(message, button.dataset.react, !isPressed(message, button)),
      edit: onEdit,
      remove: onRemove,
      report: (message) => location.assign(`${message.querySelector(".message-link").pathname}report/`),
      "copy-link": (message) => copy(message.querySelector(".message-link").href, "Link copied"),
      "copy-text": (message) => copy(message.querySelector("[data-body]").innerText, "Text copied"),
    };
    list.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse" && !this.#isBusy) this.#offer(messageOf(event));
    });
    list.addEventListener("pointerleave", () => this.#isBusy || this.#tools.remove());
    list.addEventListener("focusin", (event) => this.#focused(messageOf(event)));
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("revising", ({ detail: { before, now } }) => this.#revising(before, now));
    for (const place of [list, this.#menu]) {
      place.addEventListener("click", (event) => this.#press(event));
    }
    const newest = timeline.newest;
    if (newest) newest.tabIndex = 0;
    this.#watchTouch(list);
  }

  /** In use: it does not run away to wherever the mouse happens to point. */
  get #isBusy() {
    return this.#tools.contains(document.activeElement) || this.#menu.matches(":popover-open");
  }

  #offer(message) {
    if (!message?.dataset.seq || message.dataset.type === "system") return;
    if (message.contains(this.#tools)) return;
    this.#permit(this.#tools, message);
    this.#tools.querySelector("time").textContent = message.querySelector("time").textContent;
    message.querySelector(".message-body").append(this.#tools);
  }

  #focused(message) {
    if (!message) return;
    for (const other of this.timeline.list.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    message.tabIndex = 0;
    if (!this.#tools.contains(document.activeElement)) this.#offer(message);
  }

  #revising(before, now) {
    if (!before.contains(this.#tools)) return;
    const focused = this.#tools.contains(document.activeElement) ? document.activeElement : null;
    now.querySelector(".message-body").append(this.#tools);
    this.#permit(this.#tools, now);
    // After it is in the page: what is not cannot have the focus.
    if (focused) queueMicrotask(() => focused.focus({ preventScroll: true }));
  }

  #permit(place, message) {
    const isMine = message.matches(".mine");
    const isHere = Boolean(message.querySelector("[data-body]"));
    const mayWrite = Boolean(document.querySelector("[data-composer] .send:not([hidden])"));
    const may = {
      reply: mayWrite && isHere,
      react: mayWrite && isHere,
      more: isHere,
      edit: mayWrite && isHere && isMine && new Date(message.dataset.until) > new Date(),
      remove: mayWrite && isHere && isMine && message.dataset.type !== "action",
      "copy-text": isHere && message.querySelector("[data-body]").textContent !== "",
      report: isHere && !isMine,
    };
    for (const button of place.querySelectorAll("[data-act]")) {
      button.hidden = may[button.dataset.act] === false;
    }
  }

  #press(event) {
    const button = event.target.closest("[data-act]");
    if (!button || this.#isHeld) return;
    const message = this.#menu.contains(button) ? this.#target : messageOf(event);
    const { act } = button.dataset;
    if (button.hasAttribute("popovertarget")) return this.#prepare(message, act === "react");
    if (this.#menu.contains(button)) this.#menu.hidePopover();
    this.acts[act]?.(message, button);
  }

  /** The menu is about this message now. */
  #prepare(message, onlyReactions) {
    this.#target = message;
    this.#menu.classList.toggle("only-reactions", onlyReactions);
    this.#permit(this.#menu, message);
    for (const button of this.#menu.querySelectorAll("[data-react]")) {
      button.setAttribute("aria-pressed", String(isPressed(message, button)));
    }
  }

  #key(event) {
    if (!event.target.matches(".message")) return;
    if (event.key === "Escape") return document.getElementById("compose")?.focus();
    const step = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" }[event.key];
    if (!step) return;
    let next = event.target[step];
    while (next && !next.matches(".message")) next = next[step];
    event.preventDefault();
    next?.focus();
  }

  /** By hand: an automatic one would close again as soon as the finger is lifted. */
  #openByTouch() {
    const menu = this.#menu;
    const away = ({ target }) => {
      this.#isHeld = false;
      if (!menu.contains(target)) menu.hidePopover();
    };
    menu.popover = "manual";
    menu.showPopover();
    this.#isHeld = true;
    document.addEventListener("pointerdown", away);
    menu.addEventListener("toggle", () => {
      if (menu.matches(":popover-open")) return;
      document.removeEventListener("pointerdown", away);
      menu.popover = "auto";
    });
    navigator.vibrate?.(10);
  }

  #watchTouch(list) {
    let timer = null;
    let start = null;
    const forget = () => clearTimeout(timer);
    list.addEventListener("pointerdown", (event) => {
      const message = messageOf(event);
      if (event.pointerType === "mouse" || !message?.dataset.seq) return;
      if (message.dataset.type === "system" || event.target.closest("a, button, textarea")) return;
      start = event;
      timer = setTimeout(() => {
        this.#prepare(message, false);
        this.#openByTouch();
      }, LONG_PRESS);
    });
    list.addEventListener("pointermove", (event) => {
      if (start && Math.hypot(event.x - start.x, event.y - start.y) > SLIP) forget();
    });
    for (const type of ["pointerup", "pointercancel"]) {
      list.addEventListener(type, () => {
        forget();
        setTimeout(() => (this.#isHeld = false), LIFTED);
      });
    }
    // Ours instead of the browser's, where a finger asks for it.
    list.addEventListener("contextmenu", (event) => {
      if (event.pointerType === "touch" && !event.target.closest("a")) event.preventDefault();
    });
  }
}

const messageOf = (event) => event.target.closest?.(".message");

function isPressed(message, { dataset }) {
  const given = message.querySelector(`.reaction[data-react="${dataset.react}"]`);
  return given?.getAttribute("aria-pressed") === "true";
}

function quoteOf(message) {
  return {
    id: message.dataset.message,
    url: message.querySelector(".message-link").getAttribute("href"),
    name: message.querySelector(".message-name").textContent,
    text: quotedText(message),
  };
}

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    toast(said);
  } catch {
    toast("The browser does not allow copying here.");
  }
}
