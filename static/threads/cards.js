// Cards: answered with one press, filled in in a dialog. Forms and pages are the server's; without
// this they are simply followed.

import { dayLabel, timeLabel } from "../site/labels.js";
import { toast } from "../site/notices.js";

/** What a reader of their own sees of it; the same whenever it is asked again. */
export function dressCard(card, me) {
  card.classList.toggle("to-answer", (card.dataset.waitsFor ?? "").split(" ").includes(me));
  for (const part of card.querySelectorAll("[data-for]")) {
    part.hidden = !part.dataset.for.split(" ").includes(me);
  }
  for (const form of card.querySelectorAll("form")) addToken(form);
  for (const time of card.querySelectorAll("time[data-moment]")) {
    const at = new Date(time.dateTime);
    time.textContent = `${dayLabel(at)}, ${timeLabel(at)}`;
  }
}

function addToken(form) {
  if (form.elements.csrfmiddlewaretoken) return;
  const input = document.createElement("input");
  const value = document.querySelector("[data-panel]")?.dataset.csrf ?? "";
  Object.assign(input, { type: "hidden", name: "csrfmiddlewaretoken", value });
  form.prepend(input);
}

export class Cards {
  #dialog = document.getElementById("card-dialog");

  constructor() {
    document.addEventListener("submit", (event) => this.#submitted(event));
    document.addEventListener("click", (event) => this.#clicked(event));
    this.#dialog?.addEventListener("change", ({ target }) => {
      // Times, terms and amounts of the form are those of the booking that is chosen.
      if (target.name === "leg") this.#fill(`${target.form.action}?leg=${target.value}`);
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
    if (form.matches("[data-card-move]")) {
      event.preventDefault();
      this.#move(form);
    } else if (form.matches("#card-dialog [data-card-form]")) {
      event.preventDefault();
      this.#send(form, event.submitter);
    }
  }

  /** One press. What comes of it is told to everybody, us too. */
  async #move(form) {
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    const headers = { Accept: "application/json" };
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers });
      if (answer.ok) return;
      const { message } = await answer.json();
      toast(message);
    } catch {
      toast("That did not get through. Try again in a moment.");
    }
    button.disabled = false;
  }

  async #open(url) {
    if (await this.#fill(url)) this.#dialog.showModal();
  }

  async #fill(url) {
    const answer = await fetch(url).catch(() => null);
    return (answer?.ok && this.#show(await answer.text())) || location.assign(url);
  }

  /** The form of a page, in the dialog; false if the page has none. */
  #show(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    const form = page.querySelector("[data-card-form]");
    if (!form) return false;
    form.classList.remove("card");
    this.#dialog.querySelector("h2").textContent = form.dataset.title;
    this.#dialog.querySelector("[data-card-place]").replaceChildren(form);
    return true;
  }

  async #send(form, button) {
    const body = new FormData(form, button);
    button.disabled = true;
    try {
      const answer = await fetch(form.action, { method: "POST", body });
      if (answer.redirected && answer.ok) return this.#dialog.close();
      if (!this.#show(await answer.text())) throw new Error(answer.status);
      this.#dialog.querySelector("[data-review]")?.focus();
    } catch {
      toast("That did not get through. Try again in a moment.");
      button.disabled = false;
    }
  }
}
