// At most once in a while for each key; of what comes in between the newest counts.

export class Pace {
  #last = new Map();
  #waiting = new Map();

  constructor(every, work) {
    this.every = every;
    this.work = work;
  }

  push(key, value) {
    const isWaiting = this.#waiting.has(key);
    this.#waiting.set(key, value);
    if (isWaiting) return;
    const wait = (this.#last.get(key) ?? -Infinity) + this.every - performance.now();
    setTimeout(() => this.#run(key), Math.max(0, wait));
  }

  #run(key) {
    const value = this.#waiting.get(key);
    this.#waiting.delete(key);
    this.#last.set(key, performance.now());
    this.work(value);
  }
}
