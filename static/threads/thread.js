// An open conversation: what arrives is shown in order, gaps are asked for, and only then is what
// waits sent. The parts do the rest.

import { announce, toast } from "../site/notices.js";
import { Actions } from "./message_actions.js";
import { Changing } from "./message_edits.js";
import { Cards } from "./cards.js";
import { Company } from "./presence.js";
import { Pages } from "./pagination.js";
import { refreshParts, showBanner } from "./page_sections.js";
import { Project } from "./panel_loader.js";
import { Reading } from "./read_tracking.js";
import { Sending } from "./pending_messages.js";
import { Sources } from "./message_sources.js";
import { Timeline } from "./timeline.js";
import { Writing } from "./composer_area.js";

const AGAIN = 500;
const ECHO = 1_500; // After this a stored message should have come back to its author.
const UNANSWERED = 8_000;
const SPOKEN_AT_ONCE = 3;

export class Thread extends EventTarget {
  #asked = false; // the answer to come is whole: everything after what is here
  #toEnd = false; // the next answer is the newest page, in place of what is here
  #timers = {};
  #hasLeft = false;
  isSynced = false;

  constructor(list, socket, outbox, courier) {
    super();
    Object.assign(this, { socket, outbox, courier });
    this.timeline = new Timeline(list);
    this.id = this.timeline.thread;
    this.pages = new Pages(this.timeline, { onEnd: () => this.#open() });
    this.reading = new Reading(this.timeline, socket, { onJump: () => this.#jump() });
    this.company = new Company(this.id, socket);
    new Project(this.id, socket);
    this.changing = new Changing(this.timeline, socket, new Sources(this.timeline, socket));
    this.writing = new Writing(this.id, socket, this.company, {
      user: outbox.user,
      onSend: (message) => this.#send(message),
    });
    this.sending = new Sending(this.timeline, outbox, courier, {
      onDiscard: (entry) => this.writing.giveBack(entry),
      onLate: (entry) => this.writing.giveBackLate(entry),
    });
    new Actions(this.timeline, {
      onReply: (quote) => this.writing.answer(quote),
      onReact: (...given) => this.changing.react(...given),
      onEdit: (message) => this.changing.edit(message),
      onRemove: (message) => this.changing.remove(message),
    });
    new Cards();
    showLarge();
    outbox.addEventListener("change", ({ detail: { thread, what } }) => {
      if (thread === this.id && what === "added") this.writing.sentElsewhere();
    });
    this.#listen();
    this.#start();
  }

  /** For the heartbeat. */
  get shown() {
    if (!this.isSynced || !this.timeline.hasEnd) return {};
    const { seq, rev } = this.timeline.held;
    return { thread: this.id, seq, rev };
  }

  #listen() {
    this.socket.addEventListener("hello", () => this.#open());
    // What was told while the servers could not hear each other is asked for.
    this.socket.addEventListener("live.changed", ({ detail }) => detail.live && this.#open());
    this.socket.addEventListener("state", ({ detail }) => detail !== "live" && this.#away());
    this.courier.addEventListener("stored", ({ detail }) => this.#expectEcho(detail));
    const ofThis = (type, heard) =>
      this.socket.addEventListener(type, ({ detail }) => detail.thread === this.id && heard(detail));
    ofThis("thread.synced", (event) => this.#synced(event));
    ofThis("message.sent", (event) => this.#sent(event));
    for (const what of ["edited", "removed", "hidden", "reacted"]) {
      ofThis(`message.${what}`, (event) => this.#revised(event));
    }
    ofThis("card.changed", (event) => this.#revised(event));
    ofThis("panel.changed", (event) => this.#heardChange(event.rev));
    ofThis("cursor.moved", (event) => this.#moved(event));
    ofThis("thread.changed", (event) => this.#changed(event));
    this.socket.addEventListener("error", ({ detail: { code, client_id, message_id, message } }) => {
      if (code !== "THREAD_NOT_FOUND" || client_id || message_id || !this.#asked) return;
      this.#left(message);
    });
  }

  async #start() {
    if (!this.#goToTarget()) this.reading.openAtLine();
    await this.sending.restore();
  }

  #send(message) {
    // Without a socket the form itself is posted: nothing is held back for want of being live.
    if (!this.socket.wasLive && !this.timeline.firstPending && navigator.onLine) return false;
    if (!this.timeline.hasEnd) this.#jump();
    this.reading.answered();
    this.sending.add({ ...message, seenSeq: this.reading.seenSeq });
    return true;
  }

  // --- Catching up: open, take what is missing, then the inbox, then send what waits

  #open() {
    const { oldest, newest, held } = this.timeline;
    const has = newest
      ? { after: newest.dataset.message, oldest: oldest.dataset.message, rev: held.rev }
      : {};
    this.#ask(has);
  }

  #ask(has) {
    this.#asked = this.socket.send({ type: "thread.open", thread: this.id, ...has });
    clearTimeout(this.#timers.asked);
    this.#timers.asked = setTimeout(() => this.#asked && this.#open(), UNANSWERED);
    return this.#asked;
  }

  #away() {
    this.isSynced = false;
    this.#asked = false;
    this.#toEnd = false;
    document.documentElement.dataset.live = "no";
  }

  #synced(event) {
    const isWhole = this.#asked;
    const { rev } = this.timeline.held;
    this.#asked = false;
    const fresh = this.#take(event.messages, { isWhole });
    for (const change of event.changed) this.timeline.revise(change);
    if (event.window_from && event.window_from !== this.timeline.oldest?.dataset.message) {
      this.timeline.dropBefore(event.window_from);
      this.pages.startAt(this.timeline.oldest);
    }
    this.#takeCursors(event.cursors);
    if (event.more && this.timeline.hasEnd) return this.#open();
    if (isWhole) {
      this.timeline.held.caughtUp(event.rev);
      // Not only messages change: it may have been locked meanwhile.
      if (event.rev > rev) this.#refresh();
    } else if (event.rev > this.timeline.held.rev) return this.#open();
    this.#speak(fresh);
    this.#becomeLive();
    this.#lookAgain();
  }

  #take(messages, { isWhole }) {
    const { timeline } = this;
    if (!messages.length || !this.#makeRoom(messages[0].seq, isWhole)) return [];
    const shown = messages.map((message) => this.#show(message)).filter(Boolean);
    if (this.#toEnd) {
      this.#toEnd = false;
      this.pages.startAt(timeline.oldest);
      timeline.jumpToEnd();
      history.replaceState(null, "", `/threads/${this.id}/`);
      this.reading.leapt();
    }
    return shown;
  }

  /** Whether these messages belong on this page; it is begun anew where they do not join on. */
  #makeRoom(first, isWhole) {
    const { timeline } = this;
    if (!timeline.hasEnd && !this.#toEnd) return false;
    const { seq } = timeline.held;
    if (this.#toEnd || (isWhole && seq && first > seq + 1)) {
      this.#toEnd = true;
      timeline.clear();
    }
    return true;
  }

  #show(event) {
    const { timeline } = this;
    const is = timeline.held.hear(event.seq);
    if (is === "known") timeline.settle(event);
    if (is !== "next") return null;
    const message = timeline.place(event);
    if (event.author && event.author !== timeline.me) this.reading.arrived(message);
    else this.reading.look();
    return message;
  }

  #takeCursors(cursors) {
    const { timeline } = this;
    const mine = cursors.find(({ user }) => user === timeline.me);
    timeline.cursors.replace(cursors.filter((cursor) => cursor !== mine));
    timeline.showTicks();
    if (mine) this.reading.begin(mine);
  }

  #becomeLive() {
    document.documentElement.dataset.live = "yes";
    if (this.isSynced) return;
    this.isSynced = true;
    this.writing.synced();
    this.dispatchEvent(new Event("synced"));
  }

  /** What was heard while the answer was on its way may not have been in it. */
  #lookAgain() {
    clearTimeout(this.#timers.again);
    if (!this.timeline.held.isBehind || !this.timeline.hasEnd) return;
    this.#timers.again = setTimeout(() => this.timeline.held.isBehind && this.#open(), AGAIN);
  }

  // --- What happens meanwhile

  #sent(event) {
    if (!this.timeline.hasEnd || !this.isSynced) return void this.timeline.held.note(event.seq);
    const message = this.#show(event);
    if (message) this.#speak([message]);
    else if (this.timeline.held.isBehind && !this.#asked) this.#open();
  }

  #revised(event) {
    this.timeline.revise(event);
    this.#heardChange(event.rev);
  }

  #heardChange(rev) {
    if (!this.timeline.held.hearChange(rev) && this.isSynced && !this.#asked) this.#open();
  }

  #moved(event) {
    if (event.user === this.timeline.me) return this.reading.moved(event);
    this.timeline.cursors.move(event);
    this.timeline.showTicks();
  }

  async #changed({ status, banner, rev }) {
    if (status === "left") return this.#left(banner);
    if (this.#hasLeft) return location.reload();
    this.timeline.held.hearChange(rev);
    // Whose cursors count and who may be seen may be different now.
    this.company.forget();
    if (this.isSynced) this.#open();
    await this.#refresh();
  }

  /** Who is there and what may be done, as the server would show it now. */
  async #refresh() {
    const place = await refreshParts(this.id);
    if (place) this.writing.place(place);
    this.company.showPresence();
  }

  #left(banner) {
    this.isSynced = false;
    this.#hasLeft = true;
    document.querySelector(".room").classList.add("left");
    showBanner(banner);
    this.writing.close();
  }

  #expectEcho({ thread, seq }) {
    if (thread !== this.id) return;
    setTimeout(() => {
      if (this.isSynced && this.timeline.hasEnd && this.timeline.held.seq < seq) this.#open();
    }, ECHO);
  }

  #speak(messages) {
    const theirs = messages.filter((one) => one.dataset.author && !one.matches(".mine"));
    if (theirs.length > SPOKEN_AT_ONCE) return announce(`${theirs.length} new messages`);
    for (const message of theirs) announce(spoken(message));
  }

  // --- Moving about

  #jump() {
    if (this.timeline.hasEnd) {
      this.timeline.jumpToEnd();
      return this.reading.leapt();
    }
    this.#toEnd = this.#ask({});
    if (!this.#toEnd) toast("You are not connected just now.");
  }

  #goToTarget() {
    const { target } = this.timeline.list.dataset;
    const message = document.getElementById(target || location.hash.slice(1));
    if (!message?.matches(".message")) return false;
    message.scrollIntoView({ block: "center" });
    message.focus({ preventScroll: true });
    return true;
  }
}

/** Pictures, large. What shows them is fetched with the first that somebody wants to see. */
function showLarge() {
  let lightbox = null;
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (!target.closest("[data-picture], [data-show]")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    lightbox ??= import("./lightbox.js").then(({ Lightbox }) => new Lightbox());
    lightbox.then(
      (box) => box.press(target),
      () => location.assign(target.closest("a").href),
    );
  });
}

function spoken(message) {
  const name = message.querySelector(".message-name")?.textContent ?? "";
  const text = message.querySelector(".prose")?.textContent ?? "";
  return `${name}: ${[message.dataset.label, text].filter(Boolean).join(". ")}`.trim();
}
