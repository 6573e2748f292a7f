// The others: who is typing, who is there.

import { presenceLabel } from "../site/labels.js";

const TYPING_EVERY = 4_000;
const TYPING_LASTS = 10_000;
const MINUTE = 60_000;

export class Company {
  #typing = new Map(); // user -> timer
  #presence = new Map(); // user -> { online, last_seen_at }
  #saidAt = -Infinity;

  constructor(thread, socket) {
    this.thread = thread;
    this.socket = socket;
    this.place = document.querySelector("[data-typing]");
    const ofThis = (type, heard) =>
      socket.addEventListener(type, ({ detail }) => detail.thread === thread && heard(detail));
    ofThis("typing.started", ({ user }) => this.#started(user));
    ofThis("typing.stopped", ({ user }) => this.#stopped(user));
    ofThis("message.sent", ({ author }) => this.#stopped(author));
    ofThis("presence.changed", (event) => {
      this.#presence.set(event.user, event);
      this.showPresence();
    });
    setInterval(() => this.showPresence(), MINUTE);
  }

  /** I am typing, or have stopped to. */
  typed(text) {
    if (!text.trim()) return this.stopped();
    if (performance.now() - this.#saidAt < TYPING_EVERY) return;
    if (this.socket.send({ type: "typing.start", thread: this.thread })) {
      this.#saidAt = performance.now();
    }
  }

  stopped() {
    if (this.#saidAt === -Infinity) return;
    this.#saidAt = -Infinity;
    this.socket.send({ type: "typing.stop", thread: this.thread });
  }

  #started(user) {
    clearTimeout(this.#typing.get(user));
    this.#typing.set(
      user,
      setTimeout(() => this.#stopped(user), TYPING_LASTS),
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

  /** Who may be seen is different now; those who may are told of anew. */
  forget() {
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
