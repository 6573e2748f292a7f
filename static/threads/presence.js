// Presence and typing indicators.

import { presenceLabel } from "../site/labels.js";

const TYPING_INTERVAL = 4_000;
const TYPING_TIMEOUT = 10_000;
const MINUTE = 60_000;

export class Presence {
  #typing = new Map(); // user -> timer
  #presence = new Map(); // user -> { online, last_seen_at }
  #sentAt = -Infinity;

  constructor(thread, socket) {
    this.thread = thread;
    this.socket = socket;
    this.place = document.querySelector("[data-typing]");
    const on = (type, handle) =>
      socket.addEventListener(type, ({ detail }) => detail.thread === thread && handle(detail));
    on("typing.started", ({ user }) => this.#started(user));
    on("typing.stopped", ({ user }) => this.#stopped(user));
    on("message.sent", ({ author }) => this.#stopped(author));
    on("presence.changed", (event) => {
      this.#presence.set(event.user, event);
      this.showPresence();
    });
    setInterval(() => this.showPresence(), MINUTE);
  }

  /** Publishes that the user is typing, or has cleared the text. */
  typed(text) {
    if (!text.trim()) return this.stopped();
    if (performance.now() - this.#sentAt < TYPING_INTERVAL) return;
    if (this.socket.send({ type: "typing.start", thread: this.thread })) {
      this.#sentAt = performance.now();
    }
  }

  stopped() {
    if (this.#sentAt === -Infinity) return;
    this.#sentAt = -Infinity;
    this.socket.send({ type: "typing.stop", thread: this.thread });
  }

  #started(user) {
    clearTimeout(this.#typing.get(user));
    this.#typing.set(
      user,
      setTimeout(() => this.#stopped(user), TYPING_TIMEOUT),
    );
    this.#showTyping();
  }

  #stopped(user) {
    clearTimeout(this.#typing.get(user));
    if (this.#typing.delete(user)) this.#showTyping();
  }

  #showTyping() {
    const names = [...this.#typing.keys()].map(nameOf).filter(Boolean);
    this.place.textContent = typingLabel(names);
  }

  /** Visibility has changed; the server publishes presence again where it may be seen. */
  clear() {
    this.#presence.clear();
    this.showPresence();
  }

  showPresence() {
    for (const place of document.querySelectorAll("[data-presence]")) {
      const known = this.#presence.get(place.dataset.presence);
      place.textContent = known ? presenceLabel(known.online, known.last_seen_at) : "";
      place.classList.toggle("online", Boolean(known?.online));
    }
  }
}

export function typingLabel(names) {
  if (!names.length) return "";
  if (names.length === 1) return `${names[0]} is typing`;
  if (names.length === 2) return `${names[0]} and ${names[1]} are typing`;
  return "Several people are typing";
}

function nameOf(user) {
  const person = document.querySelector(`[data-person="${CSS.escape(user)}"]`);
  return person?.querySelector(".name")?.textContent ?? "";
}
