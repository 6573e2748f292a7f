// Messages on their way, as one sees them: there at once, until they are stored or refused.

import { fromTemplate } from "../site/fragments.js";
import { isTooOld } from "../store/outbox.js";
import { sizeLabel } from "../store/upload.js";
import { showNotice } from "./page_sections.js";

const ROOM = [360, 320]; // of a picture

export class Sending {
  constructor(timeline, outbox, courier, { onDiscard, onLate }) {
    this.timeline = timeline;
    this.outbox = outbox;
    this.courier = courier;
    this.onDiscard = onDiscard;
    this.onLate = onLate;
    courier.addEventListener("stored", ({ detail }) => this.#stored(detail));
    courier.addEventListener("noticed", ({ detail }) => showNotice(detail.notice));
    courier.addEventListener("delayed", ({ detail }) => showNotice(detail.message));
    courier.addEventListener("refused", ({ detail }) => this.#refused(detail.client_id, detail));
    outbox.addEventListener("change", ({ detail }) => this.#elsewhere(detail));
  }

  /** On the screen at once, then kept, then sent. */
  async add(message) {
    const entry = this.outbox.make({ ...message, thread: this.timeline.thread });
    this.#show(entry);
    this.timeline.jumpToEnd();
    try {
      await this.outbox.add(entry);
    } catch {
      return this.#refused(entry.client, { message: "This browser has no room to keep it." });
    }
    this.courier.flush(entry.thread);
  }

  /** What waited when the page was left, by whatever way. */
  async restore() {
    for (const entry of await this.outbox.list(this.timeline.thread)) {
      if (isTooOld(entry)) await this.#giveBack(entry.client);
      else this.#show(entry);
    }
  }

  #elsewhere({ thread, client, what }) {
    if (thread !== this.timeline.thread) return;
    if (what === "discarded") this.timeline.pending(client)?.remove();
    else if (what !== "stored") this.restore();
    // The tab it was written in may go before it is sent: then it is ours to send.
    this.courier.flush(thread);
  }

  #show(entry) {
    const shown = this.timeline.list.querySelector(`[data-client="${CSS.escape(entry.client)}"]`);
    const element = shown ?? this.#add(entry);
    if (!element.matches(".sending")) return;
    element.classList.toggle("failed", Boolean(entry.failed));
    if (entry.failed) this.#refused(entry.client, entry.failed);
  }

  #add({ client, body, attachments, links, at, quote }) {
    const element = fromTemplate("pending-message");
    element.removeAttribute("id");
    element.dataset.client = client;
    element.dataset.author = this.timeline.me;
    element.dataset.at = new Date(at).toISOString();
    if (body) element.querySelector("[data-body]").append(...lines(body));
    showAttached(element.querySelector("[data-attachments]"), { attachments, links });
    if (quote) this.#quote(element.querySelector("[data-quote]"), quote);
    element.querySelector("[data-retry]").addEventListener("click", () => this.#retry(client));
    element.querySelector("[data-discard]").addEventListener("click", () => this.#discard(client));
    this.timeline.addPending(element);
    return element;
  }

  #quote(place, { id, url, name, text }) {
    place.hidden = false;
    place.dataset.quote = id;
    place.href = url;
    place.querySelector("[data-quote-name]").textContent = name;
    place.querySelector("[data-quote-text]").textContent = text;
  }

  #stored({ client_id: client }) {
    this.timeline.pending(client)?.classList.add("stored");
  }

  #refused(client, { code, message, hint }) {
    const element = this.timeline.pending(client);
    if (!element) return;
    element.classList.add("failed");
    const why = code === "MSG_POLICY_BLOCKED" ? `${message} ${hint}` : message;
    element.querySelector("[data-reason]").textContent = why;
  }

  async #retry(client) {
    const entry = await this.outbox.find(client);
    this.timeline.pending(client)?.classList.remove("failed");
    if (entry?.failed?.code === "CLIENT_ID_REUSED") {
      await this.#remove(client);
      return this.add({ ...entry, at: Date.now() });
    }
    await this.outbox.retry(client);
    this.courier.flush(this.timeline.thread);
  }

  async #discard(client) {
    const entry = await this.#remove(client);
    if (entry) this.onDiscard(entry);
  }

  async #remove(client) {
    this.timeline.pending(client)?.remove();
    return this.outbox.remove(client, "discarded");
  }

  async #giveBack(client) {
    const entry = await this.#remove(client);
    if (entry) this.onLate(entry);
  }
}

function lines(body) {
  const paragraph = document.createElement("p");
  body.split("\n").forEach((line, index) => {
    if (index) paragraph.append(document.createElement("br"));
    paragraph.append(line);
  });
  return [paragraph];
}

/** Files and links, in the markup of the server. */
function showAttached(place, { attachments = [], links = [] }) {
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
