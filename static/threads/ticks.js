// Ticks of the user's own messages: sent, delivered to all others, read by all others.

import { fromTemplate } from "../site/fragments.js";

export class Cursors {
  #byUser = new Map(); // user -> { delivered, read }

  constructor(cursors = []) {
    for (const cursor of cursors) this.move(cursor);
  }

  /** Parses the page's format: user:delivered:read, separated by spaces. */
  static parse(text) {
    const each = text.split(" ").filter(Boolean).map((one) => one.split(":"));
    return new Cursors(
      each.map(([user, delivered, read]) => ({
        user,
        delivered_seq: Number(delivered),
        read_seq: Number(read),
      })),
    );
  }

  /** Cursors only move forward, in any order of events. */
  move({ user, delivered_seq: delivered, read_seq: read }) {
    const before = this.#byUser.get(user) ?? { delivered: 0, read: 0 };
    this.#byUser.set(user, {
      delivered: Math.max(before.delivered, delivered, read),
      read: Math.max(before.read, read),
    });
  }

  /** Removes the cursors of users who have left. */
  replace(cursors) {
    const here = new Set(cursors.map(({ user }) => user));
    for (const user of this.#byUser.keys()) if (!here.has(user)) this.#byUser.delete(user);
    for (const cursor of cursors) this.move(cursor);
  }

  tickOf(seq) {
    const all = [...this.#byUser.values()];
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
