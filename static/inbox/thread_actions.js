// What one does to conversations, to one or to many: done at once, said, and taken back if wanted.

import { toast } from "../site/notices.js";

const KEPT = "said-before-leaving";

/** Every form that asks for such a thing; without a script it is simply sent. */
export class Acts {
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
    this.#sayWhatWasDone();
    this.count();
  }

  /** How many are selected. */
  count() {
    const shown = document.querySelector("[data-bulk-count]");
    if (!shown) return;
    const picked = document.querySelectorAll('.rows [name="thread"]:checked').length;
    shown.textContent = picked ? `${picked} selected` : "";
  }

  /** `fields`: act, thread (one or many), and what else that act needs. `leave`: said there. */
  async run(fields, { leave = false } = {}) {
    const outcome = await post(fields);
    if (!outcome) return null;
    if (!leave) this.#say(outcome);
    else {
      sessionStorage.setItem(KEPT, JSON.stringify(outcome));
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

  #say({ said, undo }) {
    const again = { label: "Undo", run: () => this.#undo(undo) };
    toast(said, undo.length ? again : null);
    this.onDone();
  }

  async #undo(steps) {
    for (const step of steps) await post(step);
    this.onDone();
  }

  /** On the page before this one. */
  #sayWhatWasDone() {
    const kept = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    if (kept) this.#say(JSON.parse(kept));
  }
}

async function post(fields) {
  const body = fields instanceof FormData ? fields : filled(fields);
  body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
  const headers = { "X-Fragment": "1", Accept: "application/json" };
  const answer = await fetch("/inbox/act/", { method: "POST", body, headers }).catch(() => null);
  if (answer?.ok && !answer.redirected) return answer.json();
  const refusal = await answer?.json().catch(() => null);
  toast(refusal?.message ?? "That did not work. Try again in a moment.");
  return null;
}

function filled(fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value].flat()) body.append(name, one);
  }
  return body;
}
