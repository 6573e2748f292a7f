// An open conversation: what arrives is shown in order, gaps are asked for, what was seen is said.

import { announce } from "../site/notices.js";
import { Composer } from "./composer.js";
import { keepLoading } from "./pages.js";
import { Sending } from "./sending.js";
import { Timeline } from "./timeline.js";

const READ_AT_MOST_EVERY = 1_000;

export function openThread(list, socket) {
  const timeline = new Timeline(list);
  const thread = new Thread(timeline, socket);
  const form = document.querySelector("[data-composer]");
  if (form) thread.writeIn(form);
  keepLoading(timeline);
  return thread;
}

class Thread {
  #read = { seq: 0, timer: null };

  constructor(timeline, socket) {
    this.timeline = timeline;
    this.socket = socket;
    this.jump = document.querySelector("[data-jump]");
    timeline.isSynced = false;
    const on = (type, heard) => socket.addEventListener(type, ({ detail }) => heard(detail));
    on("hello", () => this.#sync());
    on("state", (state) => this.#state(state));
    this.#ofThis("thread.synced", (event) => this.#synced(event));
    this.#ofThis("message.sent", (event) => this.#sent(event));
    this.#watchReading();
    this.#goToTarget();
  }

  writeIn(form) {
    const composer = new Composer(form, {
      // Without a socket the form itself is posted: nothing is held back for want of being live.
      onSend: (text) => {
        if (!this.socket.wasLive || !this.timeline.hasEnd) return false;
        this.sending.add(text);
        return true;
      },
    });
    this.sending = new Sending(this.timeline, this.socket, {
      onDiscard: (text) => composer.restore(text),
    });
  }

  #ofThis(type, heard) {
    this.socket.addEventListener(type, ({ detail }) => {
      if (detail.thread === this.timeline.thread) heard(detail);
    });
  }

  #state(state) {
    if (state === "live") return;
    this.timeline.isSynced = false;
    document.documentElement.dataset.live = "no";
  }

  #sync() {
    this.socket.send({
      type: "thread.open",
      thread: this.timeline.thread,
      after: this.timeline.newest?.dataset.message ?? null,
    });
  }

  #synced({ messages, more }) {
    for (const message of messages) this.#show(message);
    if (more) return this.#sync();
    this.timeline.isSynced = true;
    document.documentElement.dataset.live = "yes";
    this.sending?.flush();
    this.#seen();
  }

  #sent(event) {
    if (event.seq > this.timeline.lastSeq + 1 && this.timeline.hasEnd) return this.#sync();
    this.#show(event);
    if (event.author !== this.timeline.me) announce(spoken(event));
    this.#seen();
  }

  #show(event) {
    if (!this.timeline.hasEnd) return;
    const wasAtEnd = this.timeline.isAtEnd;
    this.timeline.place(event);
    this.#offerJump(!wasAtEnd && event.author !== this.timeline.me);
  }

  #offerJump(offered) {
    if (offered) this.jump.hidden = false;
  }

  #watchReading() {
    const { scroller } = this.timeline;
    scroller.addEventListener("scroll", () => this.#seen(), { passive: true });
    addEventListener("focus", () => this.#seen());
    document.addEventListener("visibilitychange", () => this.#seen());
    this.jump.hidden = this.timeline.hasEnd;
    this.jump.addEventListener("click", () => {
      if (this.timeline.hasEnd) this.timeline.jumpToEnd();
      else location.assign(`/threads/${this.timeline.thread}/`);
    });
  }

  /** Read is what was on the screen of somebody who was there. */
  #seen() {
    if (!this.timeline.isAtEnd) return;
    this.jump.hidden = true;
    if (document.visibilityState !== "visible" || !document.hasFocus()) return;
    const newest = this.timeline.newest;
    if (!newest || !this.timeline.isSynced || Number(newest.dataset.seq) <= this.#read.seq) return;
    this.#read.timer ??= setTimeout(() => this.#markRead(), READ_AT_MOST_EVERY / 4);
  }

  #markRead() {
    this.#read.timer = null;
    const { message, seq, tally } = this.timeline.newest.dataset;
    const { thread } = this.timeline;
    const frame = { type: "thread.mark_read", thread, message, seq: Number(seq), tally: Number(tally) };
    if (this.socket.send(frame)) this.#read.seq = Number(seq);
  }

  #goToTarget() {
    const target = document.getElementById(this.timeline.list.dataset.target || location.hash.slice(1));
    if (!target?.matches(".message")) return;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  }
}

function spoken({ html }) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const name = holder.content.querySelector(".message-name")?.textContent ?? "";
  const text = holder.content.querySelector(".prose")?.textContent ?? "";
  return `${name}: ${text}`.trim();
}
