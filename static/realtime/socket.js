// The page's one connection to the server. It comes back by itself, with growing and jittered
// waits, and says what state it is in; who listens decides what to do about it.

// What this page understands. A server that speaks a newer one asks for a newer page.
const PROTOCOL = 2;
const HEARTBEAT = 25_000;
const FIRST_BEAT = 3_500; // What was missed just before may show in an index only a little later.
const SILENCE = 10_000; // After a ping: longer than this without an answer is a dead connection.
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const SIGNED_OUT = 4401;
const REPLACED = 4409;
const LEAVING = 1001;
const TOO_MANY = 4429;

export class Socket extends EventTarget {
  #url;
  #socket = null;
  #attempts = 0;
  #timers = {};
  state = "connecting"; // connecting, live, away, closed, replaced, outdated
  wasLive = false;
  /** What the page shows, for the heartbeat: thread, seq and rev. */
  shown = () => ({});

  constructor({ user, url = socketUrl() }) {
    super();
    this.user = user;
    this.#url = url;
    addEventListener("online", () => this.#retryNow());
    addEventListener("offline", () => this.#socket && this.#giveUp());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#retryNow();
    });
    this.#open();
  }

  get isLive() {
    return this.state === "live";
  }

  /** Whether it was handed over; what happened to it, only an answer can say. */
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
    clearTimeout(this.#timers.silence);
    if (event.type === "hello" && !this.#greeted(event)) return;
    this.dispatchEvent(new CustomEvent(event.type, { detail: event }));
  }

  #greeted({ protocol, user }) {
    // Somebody else signed in meanwhile, or the page is too old: it has to be loaded again.
    if (protocol > PROTOCOL || user !== this.user) {
      this.#become("outdated");
      return false;
    }
    this.#attempts = 0;
    this.wasLive = true;
    this.#become("live");
    clearTimeout(this.#timers.beat);
    this.#timers.beat = setTimeout(() => this.#beat(), FIRST_BEAT);
    return true;
  }

  #beat() {
    this.#timers.beat = setTimeout(() => this.#beat(), HEARTBEAT);
    this.#check();
  }

  /** A ping that has to be answered. */
  #check() {
    if (!this.send({ type: "ping", t: Date.now(), ...this.shown() })) return;
    clearTimeout(this.#timers.silence);
    this.#timers.silence = setTimeout(() => this.#giveUp(), SILENCE);
  }

  #giveUp() {
    const dead = this.#socket;
    this.#closed();
    dead.close();
  }

  #closed(code) {
    this.#socket = null;
    clearTimeout(this.#timers.beat);
    clearTimeout(this.#timers.silence);
    if (code === SIGNED_OUT) return this.#become("closed");
    if (code === REPLACED) return this.#become("replaced");
    if (this.state === "outdated") return;
    this.#become("away");
    this.#timers.retry = setTimeout(() => this.#open(), waitAfter(code, this.#attempts++));
  }

  #retryNow() {
    if (this.state === "away" && !this.#socket) this.#open();
    else this.#check();
  }

  #become(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }
}

/** Growing, and never all at once. */
export function waitAfter(code, attempts, random = Math.random()) {
  if (code === LEAVING && !attempts) return 500 + random * 4_500;
  const first = code === TOO_MANY ? LONGEST_WAIT / 2 : FIRST_WAIT;
  const most = Math.min(LONGEST_WAIT, first * 2 ** attempts);
  return most / 2 + (random * most) / 2;
}

function socketUrl() {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/`;
}
