// The page's one connection to the server. It comes back by itself, with growing and jittered
// waits, and says what state it is in; who listens decides what to do about it.

const HEARTBEAT = 25_000;
const SILENCE = 10_000; // After a ping: longer than this without an answer is a dead connection.
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const SIGNED_OUT = 4401;

export class Socket extends EventTarget {
  #url;
  #socket = null;
  #attempts = 0;
  #timers = {};
  state = "connecting"; // connecting, live, away, closed
  wasLive = false;

  constructor(url = socketUrl()) {
    super();
    this.#url = url;
    addEventListener("online", () => this.#retryNow());
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
    if (!this.isLive) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  #open() {
    clearTimeout(this.#timers.retry);
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(data)));
    socket.addEventListener("close", ({ code }) => {
      if (socket === this.#socket) this.#closed(code);
    });
  }

  #receive(event) {
    clearTimeout(this.#timers.silence);
    if (event.type === "hello") {
      this.#attempts = 0;
      this.wasLive = true;
      this.#become("live");
      this.#beat();
    }
    this.dispatchEvent(new CustomEvent(event.type, { detail: event }));
  }

  #beat() {
    clearInterval(this.#timers.beat);
    this.#timers.beat = setInterval(() => {
      if (!this.send({ type: "ping", t: Date.now() })) return;
      this.#timers.silence = setTimeout(() => this.#giveUp(), SILENCE);
    }, HEARTBEAT);
  }

  #giveUp() {
    const dead = this.#socket;
    this.#closed();
    dead.close();
  }

  #closed(code) {
    this.#socket = null;
    clearInterval(this.#timers.beat);
    clearTimeout(this.#timers.silence);
    if (code === SIGNED_OUT) return this.#become("closed");
    this.#become("away");
    this.#timers.retry = setTimeout(() => this.#open(), this.#nextWait());
  }

  #nextWait() {
    const most = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#attempts++);
    return most / 2 + (Math.random() * most) / 2;
  }

  #retryNow() {
    if (this.state === "away" && !this.#socket) this.#open();
  }

  #become(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }
}

function socketUrl() {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/`;
}
