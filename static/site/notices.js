// Toasts, and announcements for screen readers.

import { fromTemplate } from "./fragments.js";

const VISIBLE_MS = 5_000;

/** `action` adds a button: { label, run }. */
export function toast(text, action = null) {
  const note = fromTemplate("toast");
  note.querySelector("[data-toast-text]").textContent = text;
  const button = note.querySelector("[data-toast-act]");
  button.hidden = !action;
  button.textContent = action?.label ?? "";
  button.addEventListener("click", () => {
    note.remove();
    action.run();
  });
  document.querySelector("[data-toasts]").append(note);
  setTimeout(() => note.remove(), VISIBLE_MS);
  return note;
}

/** Read aloud by screen readers, and not shown. */
export function announce(text) {
  const region = document.querySelector("[data-announcer]");
  if (!region) return;
  const line = document.createElement("p");
  line.textContent = text;
  region.append(line);
  setTimeout(() => line.remove(), VISIBLE_MS);
}
