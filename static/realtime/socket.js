// The page's WebSocket connection. It reconnects with exponential back-off and jitter, dispatches
// each frame as an event of its type, and dispatches "state" when its state changes.

// The newest protocol that this page supports; a server with a newer one requires a reload.
const PROTOCOL = 2;
const HEARTBEAT = 25_000;
const FIRST_HEARTBEAT = 3_500; // An index shows what was missed before connecting only after a delay.
const PONG_TIMEOUT = 10_000;
const MIN_DELAY = 500;
const MAX_DELAY = 15_000;
const SIGNED_OUT = 4401;
const REPLACED = 4409;
const GOING_AWAY = 1001;
const RATE_LIMITED = 4429;

export class Socket extends EventTarget {
  #url;
  #socket = null;
  #attempts = 0;
  #timers = {};
  state = "connecting"; // connecting, live, away, closed, replaced, outdated
  wasLive = false;
  /** Returns the thread, seq and rev that the page shows, for the heartbeat. */
  shown = () => ({});

  constructor({ user, url = socketUrl() }) {
    super();
    this.user = user;
    this.#url = url;
    addEventListener("online", () => this.#retryNow());
    addEventListener("offline", () => this.#socket && this.#abandon());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#retryNow();
    });
    this.#open();
  }

  get isLive() {
    return this.state === "live";
  }

  /** Returns whether the frame was written to the socket; only a reply confirms its arrival. */
  send(frame) {
    if (!this.isLive || this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  #open() {
    clearTimeout(this.#timers.retry);
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket) this.#receive(JSON.parse(data));
    });
    socket.addEventListener("close", ({ code }) => {
      if (socket === this.#socket) this.#closed(code);
    });
  }

  #receive(event) {
    clearTimeout(this.#timers.pong);
    if (event.type === "hello" && !this.#acceptHello(event)) return;
    this.dispatchEvent(new CustomEvent(event.type, { detail: event }));
  }

  #acceptHello({ protocol, user }) {
    // The page is too old, or another user has signed in since: it has to be reloaded.
    if (protocol > PROTOCOL || user !== this.user) {
      this.#setState("outdated");
      return false;
    }
    this.#attempts = 0;
    this.wasLive = true;
    this.#setState("live");
    clearTimeout(this.#timers.heartbeat);
    this.#timers.heartbeat = setTimeout(() => this.#heartbeat(), FIRST_HEARTBEAT);
    return true;
  }

  #heartbeat() {
    this.#timers.heartbeat = setTimeout(() => this.#heartbeat(), HEARTBEAT);
    this.#ping();
  }

  #ping() {
    if (!this.send({ type: "ping", t: Date.now(), ...this.shown() })) return;
    clearTimeout(this.#timers.pong);
    this.#timers.pong = setTimeout(() => this.#abandon(), PONG_TIMEOUT);
  }

  #abandon() {
    const socket = this.#socket;
    this.#closed();
    socket.close();
  }

  #closed(code) {
    this.#socket = null;
    clearTimeout(this.#timers.heartbeat);
    clearTimeout(this.#timers.pong);
    if (code === SIGNED_OUT) return this.#setState("closed");
    if (code === REPLACED) return this.#setState("replaced");
    if (this.state === "outdated") return;
    this.#setState("away");
    this.#timers.retry = setTimeout(() => this.#open(), reconnectDelay(code, this.#attempts++));
  }

  #retryNow() {
    if (this.state === "away" && !this.#socket) this.#open();
    else this.#ping();
  }

  #setState(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }
}

/** Exponential back-off with jitter, so that clients do not reconnect all at once. */
export function reconnectDelay(code, attempts, random = Math.random()) {
  if (code === GOING_AWAY && !attempts) return 500 + random * 4_500;
  const base = code === RATE_LIMITED ? MAX_DELAY / 2 : MIN_DELAY;
  const delay = Math.min(MAX_DELAY, base * 2 ** attempts);
  return delay / 2 + (random * delay) / 2;
}

function socketUrl() {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/`;
}
