// The photos of a portfolio in full size. Without this script their links open them.

import { Lightbox } from "../threads/lightbox.js";

const lightbox = new Lightbox();

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-picture], [data-show]")) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  lightbox.click(event.target);
});
