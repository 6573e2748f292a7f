// Cards: buttons submit in place, and forms open in a dialog. Without scripts they are pages of
// their own.

import { dayLabel, dayOf, REQUEST_FAILED, timeLabel } from "../site/labels.js";
import { toast } from "../site/notices.js";

/** Adapts a card to the viewer; idempotent. */
export function personaliseCard(card, me) {
  card.classList.toggle("to-answer", (card.dataset.waitsFor ?? "").split(" ").includes(me));
  for (const part of card.querySelectorAll("[data-for]")) {
    part.hidden = !part.dataset.for.split(" ").includes(me);
  }
  for (const form of card.querySelectorAll("form")) addToken(form);
  for (const time of card.querySelectorAll("time[data-moment]")) {
    const at = new Date(time.dateTime);
    time.textContent = `${dayLabel(at)}, ${timeLabel(at)}`;
  }
  for (const time of card.querySelectorAll("[data-own-time]")) showOwnTimes(time);
}

/** The viewer's own times, unless they are the same at the place. */
function showOwnTimes(time) {
  const [start, end] = [new Date(time.dateTime), new Date(time.dataset.end)];
  const at = (timeZone) => start.toLocaleString("en-GB", { timeZone });
  time.hidden = at(time.dataset.ownTime) === at(document.documentElement.dataset.zone || undefined);
  const day = dayOf(start) === dayOf(end) ? "" : `${dayLabel(end)}, `;
  time.textContent = `${dayLabel(start)}, ${timeLabel(start)} to ${day}${timeLabel(end)} your time`;
}

function addToken(form) {
  if (form.elements.csrfmiddlewaretoken) return;
  const input = document.createElement("input");
  const value = document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
  Object.assign(input, { type: "hidden", name: "csrfmiddlewaretoken", value });
  form.prepend(input);
}

export class Cards {
  #dialog = document.getElementById("card-dialog");

  constructor() {
    document.addEventListener("submit", (event) => this.#submitted(event));
    document.addEventListener("click", (event) => this.#clicked(event));
    this.#dialog?.addEventListener("change", ({ target }) => {
      // Times, terms and amounts depend on the booking.
      if (target.name === "leg") this.#load(`${target.form.action}?leg=${target.value}`);
    });
  }

  #clicked(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest("[data-card-dialog]");
    if (link) {
      event.preventDefault();
      link.closest("[popover]")?.hidePopover();
      this.#open(link.href);
    } else if (event.target.closest("[data-card-close]") && this.#dialog.open) {
      event.preventDefault();
      this.#dialog.close();
    }
  }

  #submitted(event) {
    const form = event.target;
    if (form.matches("[data-card-transition]")) {
      event.preventDefault();
      this.#submitTransition(form);
    } else if (form.matches("#card-dialog [data-card-form]")) {
      event.preventDefault();
      this.#submitForm(form, event.submitter);
    }
  }

  /** The event that all participants receive updates the card. */
  async #submitTransition(form) {
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    const headers = { Accept: "application/json" };
    try {
      const response = await fetch(form.action, { method: "POST", body: new FormData(form), headers });
      if (response.ok) return;
      const { message, confirm } = await response.json();
      if (confirm) this.#open(confirm);
      else toast(message);
    } catch {
      toast(REQUEST_FAILED);
    }
    button.disabled = false;
  }

  async #open(url) {
    if (await this.#load(url)) this.#dialog.showModal();
  }

  async #load(url) {
    const response = await fetch(url).catch(() => null);
    return (response?.ok && this.#show(await response.text())) || location.assign(url);
  }

  /** Shows the form of a page in the dialog; returns false if the page has none. */
  #show(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    const form = page.querySelector("[data-card-form]");
    if (!form) return false;
    form.classList.remove("card");
    this.#dialog.querySelector("h2").textContent = form.dataset.title;
    this.#dialog.querySelector("[data-card-place]").replaceChildren(form);
    return true;
  }

  async #submitForm(form, button) {
    const body = new FormData(form, button);
    button.disabled = true;
    try {
      const response = await fetch(form.action, { method: "POST", body });
      if (response.redirected && response.ok) return this.#dialog.close();
      if (!this.#show(await response.text())) throw new Error(response.status);
      this.#dialog.querySelector("[data-review]")?.focus();
    } catch {
      toast(REQUEST_FAILED);
      button.disabled = false;
    }
  }
}
