// What is said to the person beside the page itself: toasts, and a voice for screen readers.

import { fromTemplate } from "./fragments.js";

const STAYS = 5_000;

/** With something that can be done about it, if `act` is given: { label, run }. */
export function toast(text, act = null) {
  const note = fromTemplate("toast");
  note.querySelector("[data-toast-text]").textContent = text;
  const button = note.querySelector("[data-toast-act]");
  button.hidden = !act;
  button.textContent = act?.label ?? "";
  button.addEventListener("click", () => {
    note.remove();
    act.run();
  });
  document.querySelector("[data-toasts]").append(note);
  setTimeout(() => note.remove(), STAYS);
  return note;
}

/** Read aloud once, and not shown. */
export function announce(text) {
  const region = document.querySelector("[data-announcer]");
  if (!region) return;
  const line = document.createElement("p");
  line.textContent = text;
  region.append(line);
  setTimeout(() => line.remove(), STAYS);
}
