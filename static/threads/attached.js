// Files and links of a message that is not stored yet, in the markup of the server.

import { fromTemplate } from "../site/fragments.js";
import { sizeLabel } from "../store/uploads.js";

const ROOM = [360, 320];

export function showAttached(place, { attachments = [], links = [] }) {
  for (const file of attachments) {
    place.append(file.kind === "image" ? picture(file) : document_(file));
  }
  for (const { url, title } of links) {
    place.append(card("attached-link", url, title, new URL(url).hostname));
  }
}

function picture({ id, name, width, height, band }) {
  const element = fromTemplate("attached-image");
  element.dataset.band = band;
  const scale = Math.min(ROOM[0] / width, ROOM[1] / height, 1);
  const image = element.querySelector("img");
  image.width = Math.max(44, Math.round(width * scale));
  image.height = Math.max(44, Math.round(height * scale));
  image.alt = name;
  image.src = `/files/${id}/?size=thumb`;
  element.querySelector("a").href = `/files/${id}/`;
  return element;
}

const document_ = ({ id, name, size }) =>
  card("attached-document", `/files/${id}/?download=1`, name, sizeLabel(size));

function card(template, href, name, detail) {
  const element = fromTemplate(template);
  element.querySelector("a").href = href;
  element.querySelector("b").textContent = name;
  element.querySelector("[data-detail]").textContent = detail;
  return element;
}
