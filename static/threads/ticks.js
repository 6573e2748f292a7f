// How far a message of mine has got: stored, delivered to all others, read by all others.

import { fromTemplate } from "../site/fragments.js";

export class Cursors {
  #of = new Map(); // user -> { delivered, read }

  constructor(cursors = []) {
    for (const cursor of cursors) this.move(cursor);
  }

  /** As the page writes them: user:delivered:read, one after the other. */
  static read(text) {
    const each = text.split(" ").filter(Boolean).map((one) => one.split(":"));
    return new Cursors(
      each.map(([user, delivered, read]) => ({
        user,
        delivered_seq: Number(delivered),
        read_seq: Number(read),
      })),
    );
  }

  /** They move forward only, in whatever order the news comes. */
  move({ user, delivered_seq: delivered, read_seq: read }) {
    const before = this.#of.get(user) ?? { delivered: 0, read: 0 };
    this.#of.set(user, {
      delivered: Math.max(before.delivered, delivered, read),
      read: Math.max(before.read, read),
    });
  }

  /** All there are now: whoever left no longer counts. */
  replace(cursors) {
    const here = new Set(cursors.map(({ user }) => user));
    for (const user of this.#of.keys()) if (!here.has(user)) this.#of.delete(user);
    for (const cursor of cursors) this.move(cursor);
  }

  tickOf(seq) {
    const all = [...this.#of.values()];
    if (!all.length) return "sent";
    if (all.every(({ read }) => read >= seq)) return "read";
    return all.every(({ delivered }) => delivered >= seq) ? "delivered" : "sent";
  }
}

export function showTick(message, tick) {
  const place = message.querySelector("[data-ticks]");
  if (!place || place.dataset.tick === tick) return;
  place.dataset.tick = tick;
  place.replaceChildren(...fromTemplate(`ticks-${tick}`).childNodes);
}
