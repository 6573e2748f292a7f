// Calls `work` at most once per interval and key, with the newest value pushed for that key.

export class Throttle {
  #lastRun = new Map();
  #pending = new Map();

  constructor(interval, work) {
    this.interval = interval;
    this.work = work;
  }

  push(key, value) {
    const isPending = this.#pending.has(key);
    this.#pending.set(key, value);
    if (isPending) return;
    const delay = (this.#lastRun.get(key) ?? -Infinity) + this.interval - performance.now();
    setTimeout(() => this.#run(key), Math.max(0, delay));
  }

  #run(key) {
    const value = this.#pending.get(key);
    this.#pending.delete(key);
    this.#lastRun.set(key, performance.now());
    this.work(value);
  }
}
