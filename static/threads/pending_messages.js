// Pending messages in the timeline: shown at once, until they are stored or refused.

import { fromTemplate } from "../site/fragments.js";
import { isTooOld } from "../store/outbox.js";
import { sizeLabel } from "../store/upload.js";
import { showNotice } from "./page_sections.js";

const MAX_THUMBNAIL = [360, 320];

export class PendingMessages {
  constructor(timeline, outbox, sendQueue, { onDiscard, onExpired }) {
    this.timeline = timeline;
    this.outbox = outbox;
    this.sendQueue = sendQueue;
    this.onDiscard = onDiscard;
    this.onExpired = onExpired;
    sendQueue.addEventListener("stored", ({ detail }) => this.#stored(detail));
    sendQueue.addEventListener("noticed", ({ detail }) => showNotice(detail.notice));
    sendQueue.addEventListener("delayed", ({ detail }) => showNotice(detail.message));
    sendQueue.addEventListener("refused", ({ detail }) => this.#refused(detail.client_id, detail));
    outbox.addEventListener("change", ({ detail }) => this.#otherTabChanged(detail));
  }

  /** Shows the message, stores it in the outbox, then sends it. */
  async add(message) {
    const entry = this.outbox.make({ ...message, thread: this.timeline.thread });
    this.#show(entry);
    this.timeline.jumpToEnd();
    try {
      await this.outbox.add(entry);
    } catch {
      return this.#refused(entry.client, { message: "Your browser is out of storage space. Copy the text and try again." });
    }
    this.sendQueue.flush(entry.thread);
  }

  /** Shows the thread's messages from the outbox. */
  async restore() {
    for (const entry of await this.outbox.list(this.timeline.thread)) {
      if (isTooOld(entry)) await this.#expire(entry.client);
      else this.#show(entry);
    }
  }

  #otherTabChanged({ thread, client, change }) {
    if (thread !== this.timeline.thread) return;
    if (change === "discarded") this.timeline.pending(client)?.remove();
    else if (change !== "stored") this.restore();
    // The other tab may close before it sends the message; this one sends it then.
    this.sendQueue.flush(thread);
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
    showAttachments(element.querySelector("[data-attachments]"), { attachments, links });
    if (quote) this.#showQuote(element.querySelector("[data-quote]"), quote);
    element.querySelector("[data-retry]").addEventListener("click", () => this.#retry(client));
    element.querySelector("[data-discard]").addEventListener("click", () => this.#discard(client));
    this.timeline.addPending(element);
    return element;
  }

  #showQuote(place, { id, url, name, text }) {
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
    const reason = code === "MSG_POLICY_BLOCKED" ? `${message} ${hint}` : message;
    element.querySelector("[data-reason]").textContent = reason;
  }

  async #retry(client) {
    const entry = await this.outbox.find(client);
    this.timeline.pending(client)?.classList.remove("failed");
    if (entry?.failed?.code === "CLIENT_ID_REUSED") {
      await this.#remove(client);
      return this.add({ ...entry, at: Date.now() });
    }
    await this.outbox.retry(client);
    this.sendQueue.flush(this.timeline.thread);
  }

  async #discard(client) {
    const entry = await this.#remove(client);
    if (entry) this.onDiscard(entry);
  }

  async #remove(client) {
    this.timeline.pending(client)?.remove();
    return this.outbox.remove(client, "discarded");
  }

  async #expire(client) {
    const entry = await this.#remove(client);
    if (entry) this.onExpired(entry);
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

/** Shows files and links with the server's templates. */
function showAttachments(place, { attachments = [], links = [] }) {
  for (const file of attachments) {
    place.append(file.kind === "image" ? imageItem(file) : documentItem(file));
  }
  for (const { url, title } of links) {
    place.append(linkItem("attached-link", url, title, new URL(url).hostname));
  }
}

function imageItem({ id, name, width, height, band }) {
  const element = fromTemplate("attached-image");
  element.dataset.band = band;
  const scale = Math.min(MAX_THUMBNAIL[0] / width, MAX_THUMBNAIL[1] / height, 1);
  const image = element.querySelector("img");
  image.width = Math.max(44, Math.round(width * scale));
  image.height = Math.max(44, Math.round(height * scale));
  image.alt = name;
  image.src = `/files/${id}/?size=thumb`;
  element.querySelector("a").href = `/files/${id}/`;
  return element;
}

const documentItem = ({ id, name, size }) =>
  linkItem("attached-document", `/files/${id}/?download=1`, name, sizeLabel(size));

function linkItem(template, href, name, detail) {
  const element = fromTemplate(template);
  element.querySelector("a").href = href;
  element.querySelector("b").textContent = name;
  element.querySelector("[data-detail]").textContent = detail;
  return element;
}
