// Messages on their way: shown at once, sent in order, each until it is stored or refused.

const AGAIN = 2_000;

export class Sending {
  #waiting = new Map(); // client id -> { body, element, handed }
  #template = document.getElementById("pending-message");

  constructor(timeline, socket, { onDiscard }) {
    this.timeline = timeline;
    this.socket = socket;
    this.onDiscard = onDiscard;
    socket.addEventListener("message.accepted", ({ detail }) => this.#stored(detail));
    socket.addEventListener("error", ({ detail }) => this.#refused(detail));
    socket.addEventListener("state", () => this.#notHanded());
    addEventListener("beforeunload", (event) => {
      if (this.#waiting.size) event.preventDefault();
    });
  }

  add(body) {
    const clientId = newId();
    const element = this.#show(clientId, body);
    this.#waiting.set(clientId, { body, element, handed: false });
    this.flush();
  }

  /** Only after the thread was caught up with: in any other order messages get lost. */
  flush() {
    if (!this.timeline.isSynced) return;
    for (const [clientId, one] of this.#waiting) {
      if (one.handed || one.element.classList.contains("failed")) continue;
      one.handed = this.socket.send({
        type: "message.send",
        thread: this.timeline.thread,
        client_id: clientId,
        body: one.body,
        seen_seq: this.timeline.lastSeq,
      });
    }
  }

  #notHanded() {
    // The connection went: whether it arrived nobody knows, and sending it again is safe.
    for (const one of this.#waiting.values()) one.handed = false;
  }

  #stored({ client_id: clientId }) {
    const one = this.#waiting.get(clientId);
    if (!one) return;
    this.#waiting.delete(clientId);
    one.element.classList.add("stored");
  }

  #refused({ client_id: clientId, code, message }) {
    const one = this.#waiting.get(clientId);
    if (!one) return;
    one.handed = false;
    if (code === "TRY_AGAIN") return setTimeout(() => this.flush(), AGAIN * (1 + Math.random()));
    one.element.classList.add("failed");
    one.element.querySelector("[data-reason]").textContent = message;
  }

  #show(clientId, body) {
    const element = this.#template.content.firstElementChild.cloneNode(true);
    element.id = "";
    element.dataset.client = clientId;
    element.dataset.author = this.timeline.me;
    element.dataset.at = new Date().toISOString();
    element.querySelector("[data-body]").append(...lines(body));
    element.querySelector("[data-retry]").addEventListener("click", () => this.#retry(clientId));
    element.querySelector("[data-discard]").addEventListener("click", () => this.#drop(clientId));
    this.timeline.addPending(element);
    return element;
  }

  #retry(clientId) {
    this.#waiting.get(clientId)?.element.classList.remove("failed");
    this.flush();
  }

  #drop(clientId) {
    const one = this.#waiting.get(clientId);
    this.#waiting.delete(clientId);
    one.element.remove();
    this.onDiscard(one.body);
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

function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // Plain http on a local network has no randomUUID, but has random numbers.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
