// The actions on a message: shown on hover, on keyboard focus and, on a phone, after a long press.
// One toolbar and one menu serve the whole page and are moved to the message.

import { fromTemplate } from "../site/fragments.js";
import { toast } from "../site/notices.js";
import { quotedText } from "./timeline.js";

const LONG_PRESS = 450;
const MAX_MOVEMENT = 10; // Pixels that a finger may move during a long press.
const CLICK_DELAY = 100; // The longest delay between a touch and its click.

export class MessageActions {
  #toolbar = fromTemplate("message-tools");
  #menu = document.getElementById("message-menu");
  #target = null;
  #isHeld = false; // The finger that opened the menu is still down, maybe on one of its buttons.

  constructor(timeline, { onReply, onReact, onEdit, onRemove }) {
    this.timeline = timeline;
    const { list } = timeline;
    this.actions = {
      reply: (message) => onReply(quoteOf(message)),
      react: (message, button) => onReact(message, button.dataset.react, !isPressed(message, button)),
      edit: onEdit,
      remove: onRemove,
      report: (message) => location.assign(`${message.querySelector(".message-link").pathname}report/`),
      "copy-link": (message) => copy(message.querySelector(".message-link").href, "Link copied"),
      "copy-text": (message) => copy(message.querySelector("[data-body]").innerText, "Text copied"),
    };
    list.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse" && !this.#isBusy) this.#showToolbar(messageOf(event));
    });
    list.addEventListener("pointerleave", () => this.#isBusy || this.#toolbar.remove());
    list.addEventListener("focusin", (event) => this.#focused(messageOf(event)));
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("replacing", ({ detail: { shown, fresh } }) => this.#replacing(shown, fresh));
    for (const place of [list, this.#menu]) {
      place.addEventListener("click", (event) => this.#click(event));
    }
    const newest = timeline.newest;
    if (newest) newest.tabIndex = 0;
    this.#watchTouch(list);
  }

  /** While in use, the toolbar does not follow the mouse. */
  get #isBusy() {
    return this.#toolbar.contains(document.activeElement) || this.#menu.matches(":popover-open");
  }

  #showToolbar(message) {
    if (!message?.dataset.seq || message.dataset.type === "system") return;
    if (message.contains(this.#toolbar)) return;
    this.#showAllowed(this.#toolbar, message);
    this.#toolbar.querySelector("time").textContent = message.querySelector("time").textContent;
    message.querySelector(".message-body").append(this.#toolbar);
  }

  #focused(message) {
    if (!message) return;
    for (const other of this.timeline.list.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    message.tabIndex = 0;
    if (!this.#toolbar.contains(document.activeElement)) this.#showToolbar(message);
  }

  #replacing(shown, fresh) {
    if (!shown.contains(this.#toolbar)) return;
    const focused = this.#toolbar.contains(document.activeElement) ? document.activeElement : null;
    fresh.querySelector(".message-body").append(this.#toolbar);
    this.#showAllowed(this.#toolbar, fresh);
    // After the new message is in the document: a detached element cannot have the focus.
    if (focused) queueMicrotask(() => focused.focus({ preventScroll: true }));
  }

  #showAllowed(place, message) {
    const isMine = message.matches(".mine");
    const hasBody = Boolean(message.querySelector("[data-body]"));
    const canWrite = Boolean(document.querySelector("[data-composer] .send:not([hidden])"));
    const allowed = {
      reply: canWrite && hasBody,
      react: canWrite && hasBody,
      more: hasBody,
      edit: canWrite && hasBody && isMine && new Date(message.dataset.until) > new Date(),
      remove: canWrite && hasBody && isMine && message.dataset.type !== "action",
      "copy-text": hasBody && message.querySelector("[data-body]").textContent !== "",
      report: hasBody && !isMine,
    };
    for (const button of place.querySelectorAll("[data-act]")) {
      button.hidden = allowed[button.dataset.act] === false;
    }
  }

  #click(event) {
    const button = event.target.closest("[data-act]");
    if (!button || this.#isHeld) return;
    const message = this.#menu.contains(button) ? this.#target : messageOf(event);
    const { act } = button.dataset;
    if (button.hasAttribute("popovertarget")) return this.#setTarget(message, act === "react");
    if (this.#menu.contains(button)) this.#menu.hidePopover();
    this.actions[act]?.(message, button);
  }

  /** Sets the message that the menu applies to. */
  #setTarget(message, onlyReactions) {
    this.#target = message;
    this.#menu.classList.toggle("only-reactions", onlyReactions);
    this.#showAllowed(this.#menu, message);
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

  /** As a manual popover: an automatic one would close when the finger is lifted. */
  #openByTouch() {
    const menu = this.#menu;
    const closeOutside = ({ target }) => {
      this.#isHeld = false;
      if (!menu.contains(target)) menu.hidePopover();
    };
    menu.popover = "manual";
    menu.showPopover();
    this.#isHeld = true;
    document.addEventListener("pointerdown", closeOutside);
    menu.addEventListener("toggle", () => {
      if (menu.matches(":popover-open")) return;
      document.removeEventListener("pointerdown", closeOutside);
      menu.popover = "auto";
    });
    navigator.vibrate?.(10);
  }

  #watchTouch(list) {
    let timer = null;
    let start = null;
    const cancel = () => clearTimeout(timer);
    list.addEventListener("pointerdown", (event) => {
      const message = messageOf(event);
      if (event.pointerType === "mouse" || !message?.dataset.seq) return;
      if (message.dataset.type === "system" || event.target.closest("a, button, textarea")) return;
      start = event;
      timer = setTimeout(() => {
        this.#setTarget(message, false);
        this.#openByTouch();
      }, LONG_PRESS);
    });
    list.addEventListener("pointermove", (event) => {
      if (start && Math.hypot(event.x - start.x, event.y - start.y) > MAX_MOVEMENT) cancel();
    });
    for (const type of ["pointerup", "pointercancel"]) {
      list.addEventListener(type, () => {
        cancel();
        setTimeout(() => (this.#isHeld = false), CLICK_DELAY);
      });
    }
    // On touch screens this menu replaces the browser's.
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

async function copy(text, confirmation) {
  try {
    await navigator.clipboard.writeText(text);
    toast(confirmation);
  } catch {
    toast("Your browser doesn't allow copying here.");
  }
}
