// Actions on one or more threads (archive, mute, mark as read, …): applied at once, with undo.

import { REQUEST_FAILED, UNDO } from "../site/labels.js";
import { toast } from "../site/notices.js";

const OUTCOME_KEY = "thread-action-outcome"; // In sessionStorage, for the next page.

/** Handles every form with data-act-form; without scripts the browser submits it. */
export class ThreadActions {
  constructor({ onDone }) {
    this.onDone = onDone;
    document.addEventListener("submit", (event) => {
      const form = event.target.closest("[data-act-form]");
      if (!form) return;
      event.preventDefault();
      this.#submit(form, event.submitter);
    });
    document.addEventListener("change", ({ target }) => target.name === "thread" && this.count());
    document.addEventListener("reset", () => queueMicrotask(() => this.count()));
    this.#showPreviousOutcome();
    this.count();
  }

  /** Shows how many threads are selected. */
  count() {
    const shown = document.querySelector("[data-bulk-count]");
    if (!shown) return;
    const selected = document.querySelectorAll('.rows [name="thread"]:checked').length;
    shown.textContent = selected ? `${selected} selected` : "";
  }

  /** `fields`: act, thread (one or more) and what the act needs. `leave`: opens the inbox after it. */
  async run(fields, { leave = false } = {}) {
    const outcome = await post(fields);
    if (!outcome) return null;
    if (!leave) this.#showOutcome(outcome);
    else {
      sessionStorage.setItem(OUTCOME_KEY, JSON.stringify(outcome));
      location.assign("/inbox/");
    }
    return outcome;
  }

  async #submit(form, submitter) {
    const fields = new FormData(form, submitter);
    fields.delete("csrfmiddlewaretoken");
    form.querySelector(":popover-open")?.hidePopover();
    form.closest(":popover-open")?.hidePopover();
    const outcome = await this.run(fields, { leave: form.dataset.actForm === "leave" });
    if (outcome && form.dataset.actForm === "rows") form.reset();
  }

  #showOutcome({ said, undo }) {
    const action = { label: UNDO, run: () => this.#undo(undo) };
    toast(said, undo.length ? action : null);
    this.onDone();
  }

  async #undo(steps) {
    for (const step of steps) await post(step);
    this.onDone();
  }

  /** Shows the outcome of an action on the previous page. */
  #showPreviousOutcome() {
    const outcome = sessionStorage.getItem(OUTCOME_KEY);
    sessionStorage.removeItem(OUTCOME_KEY);
    if (outcome) this.#showOutcome(JSON.parse(outcome));
  }
}

async function post(fields) {
  const body = fields instanceof FormData ? fields : formData(fields);
  body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
  const headers = { "X-Fragment": "1", Accept: "application/json" };
  const response = await fetch("/inbox/act/", { method: "POST", body, headers }).catch(() => null);
  if (response?.ok && !response.redirected) return response.json();
  const refusal = await response?.json().catch(() => null);
  toast(refusal?.message ?? REQUEST_FAILED);
  return null;
}

function formData(fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value].flat()) body.append(name, one);
  }
  return body;
}
