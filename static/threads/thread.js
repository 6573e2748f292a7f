// The open thread: shows messages in order, requests missing ones, and sends pending messages only
// once it is synced. The imported modules do the rest.

import { OFFLINE } from "../site/labels.js";
import { announce, toast } from "../site/notices.js";
import { Cards } from "./cards.js";
import { ComposerArea } from "./composer_area.js";
import { MessageActions } from "./message_actions.js";
import { MessageEdits } from "./message_edits.js";
import { MessageSources } from "./message_sources.js";
import { refreshSections, showBanner } from "./page_sections.js";
import { Pagination } from "./pagination.js";
import { PanelLoader } from "./panel_loader.js";
import { PendingMessages } from "./pending_messages.js";
import { Presence } from "./presence.js";
import { ReadTracker } from "./read_tracking.js";
import { Timeline } from "./timeline.js";
import { TypingIndicator } from "./typing_indicator.js";

const RESYNC_DELAY = 500;
const ECHO_TIMEOUT = 1_500; // Within it, a stored message returns to its author as an event.
const SYNC_TIMEOUT = 8_000;
const MAX_ANNOUNCED = 3;

export class Thread extends EventTarget {
  #isSyncing = false; // The next thread.synced answers a request of this page, and is complete.
  #isJumping = false; // The next thread.synced is the newest page and replaces what is shown.
  #timers = {};
  #hasLeft = false;
  isSynced = false;

  constructor(list, socket, outbox, sendQueue) {
    super();
    Object.assign(this, { socket, outbox, sendQueue });
    this.timeline = new Timeline(list);
    this.id = this.timeline.thread;
    this.pagination = new Pagination(this.timeline, { onNewest: () => this.#sync() });
    this.readTracker = new ReadTracker(this.timeline, socket, { onJump: () => this.#jump() });
    this.presence = new Presence(this.id, socket);
    new PanelLoader(this.id, socket);
    this.edits = new MessageEdits(this.timeline, socket, new MessageSources(this.timeline, socket));
    this.composer = new ComposerArea(this.id, socket, new TypingIndicator(this.id, socket), {
      user: outbox.user,
      onSend: (message) => this.#send(message),
    });
    this.pending = new PendingMessages(this.timeline, outbox, sendQueue, {
      onDiscard: (entry) => this.composer.restore(entry),
      onExpired: (entry) => this.composer.restoreExpired(entry),
    });
    new MessageActions(this.timeline, {
      onReply: (quote) => this.composer.replyTo(quote),
      onReact: (...args) => this.edits.react(...args),
      onEdit: (message) => this.edits.edit(message),
      onRemove: (message) => this.edits.remove(message),
    });
    new Cards();
    bindLightbox();
    outbox.addEventListener("change", ({ detail: { thread, change } }) => {
      if (thread === this.id && change === "added") this.composer.refreshTray();
    });
    this.#listen();
    this.#start();
  }

  /** For the heartbeat. */
  get shown() {
    if (!this.isSynced || !this.timeline.hasEnd) return {};
    const { seq, rev } = this.timeline.sync;
    return { thread: this.id, seq, rev };
  }

  #listen() {
    this.socket.addEventListener("hello", () => this.#sync());
    // Events published while the servers were disconnected from each other are missing.
    this.socket.addEventListener("live.changed", ({ detail }) => detail.live && this.#sync());
    this.socket.addEventListener("state", ({ detail }) => detail !== "live" && this.#disconnected());
    this.sendQueue.addEventListener("stored", ({ detail }) => this.#expectEcho(detail));
    const on = (type, handle) =>
      this.socket.addEventListener(type, ({ detail }) => detail.thread === this.id && handle(detail));
    on("thread.synced", (event) => this.#synced(event));
    on("message.sent", (event) => this.#sent(event));
    for (const what of ["edited", "removed", "hidden", "reacted"]) {
      on(`message.${what}`, (event) => this.#messageChanged(event));
    }
    on("card.changed", (event) => this.#messageChanged(event));
    on("panel.changed", (event) => this.#receiveChange(event.rev));
    on("cursor.moved", (event) => this.#moved(event));
    on("thread.changed", (event) => this.#changed(event));
    this.socket.addEventListener("error", ({ detail: { code, client_id, message_id, message } }) => {
      if (code !== "THREAD_NOT_FOUND" || client_id || message_id || !this.#isSyncing) return;
      this.#left(message);
    });
  }

  async #start() {
    if (!this.#goToTarget()) this.readTracker.scrollToUnread();
    await this.pending.restore();
  }

  #send(message) {
    // Until a socket was open once, the browser posts the form.
    if (!this.socket.wasLive && !this.timeline.firstPending && navigator.onLine) return false;
    if (!this.timeline.hasEnd) this.#jump();
    this.readTracker.replied();
    // The server searches the messages since. There may be too many of them when a message that is
    // written offline is sent, and 0 means that the page has none.
    const afterSeq = (this.isSynced && this.timeline.sync.seq) || undefined;
    this.pending.add({ ...message, seenSeq: this.readTracker.seenSeq, afterSeq });
    return true;
  }

  // --- Sync: open the thread, add missing messages, then the inbox, then send pending messages

  #sync() {
    const { oldest, newest, sync } = this.timeline;
    const range = newest
      ? { after: newest.dataset.message, oldest: oldest.dataset.message, rev: sync.rev }
      : {};
    this.#request(range);
  }

  #request(range) {
    this.#isSyncing = this.socket.send({ type: "thread.open", thread: this.id, ...range });
    clearTimeout(this.#timers.sync);
    this.#timers.sync = setTimeout(() => this.#isSyncing && this.#sync(), SYNC_TIMEOUT);
    return this.#isSyncing;
  }

  #disconnected() {
    this.isSynced = false;
    this.#isSyncing = false;
    this.#isJumping = false;
    document.documentElement.dataset.live = "no";
  }

  #synced(event) {
    const isComplete = this.#isSyncing;
    const { rev } = this.timeline.sync;
    this.#isSyncing = false;
    const added = this.#addMessages(event.messages, { isComplete });
    for (const change of event.changed) this.timeline.replace(change);
    if (event.window_from && event.window_from !== this.timeline.oldest?.dataset.message) {
      this.timeline.dropBefore(event.window_from);
      this.pagination.startAt(this.timeline.oldest);
    }
    this.#applyCursors(event.cursors);
    if (event.more && this.timeline.hasEnd) return this.#sync();
    if (isComplete) {
      this.timeline.sync.completeSync(event.rev);
      // Not only messages change: the thread may have been locked.
      if (event.rev > rev) this.#refresh();
    } else if (event.rev > this.timeline.sync.rev) return this.#sync();
    this.#announce(added);
    this.#setLive();
    this.#resyncIfBehind();
  }

  #addMessages(messages, { isComplete }) {
    const { timeline } = this;
    if (!messages.length || !this.#clearIfDisjoint(messages[0].seq, isComplete)) return [];
    const shown = messages.map((message) => this.#show(message)).filter(Boolean);
    if (this.#isJumping) {
      this.#isJumping = false;
      this.pagination.startAt(timeline.oldest);
      timeline.jumpToEnd();
      history.replaceState(null, "", `/threads/${this.id}/`);
      this.readTracker.jumped();
    }
    return shown;
  }

  /** Returns whether to show these messages; clears the page if they do not continue it. */
  #clearIfDisjoint(first, isComplete) {
    const { timeline } = this;
    if (!timeline.hasEnd && !this.#isJumping) return false;
    const { seq } = timeline.sync;
    if (this.#isJumping || (isComplete && seq && first > seq + 1)) {
      this.#isJumping = true;
      timeline.clear();
    }
    return true;
  }

  #show(event) {
    const { timeline } = this;
    const status = timeline.sync.receive(event.seq);
    if (status === "duplicate") timeline.removePending(event);
    if (status !== "next") return null;
    const message = timeline.add(event);
    if (event.author && event.author !== timeline.me) this.readTracker.arrived(message);
    else this.readTracker.check();
    return message;
  }

  #applyCursors(cursors) {
    const { timeline } = this;
    const mine = cursors.find(({ user }) => user === timeline.me);
    timeline.cursors.replace(cursors.filter((cursor) => cursor !== mine));
    timeline.showTicks();
    if (mine) this.readTracker.start(mine);
  }

  #setLive() {
    document.documentElement.dataset.live = "yes";
    if (this.isSynced) return;
    this.isSynced = true;
    this.composer.synced();
    this.dispatchEvent(new Event("synced"));
  }

  /** Events received during the request may be missing from its response. */
  #resyncIfBehind() {
    clearTimeout(this.#timers.resync);
    if (!this.timeline.sync.isBehind || !this.timeline.hasEnd) return;
    this.#timers.resync = setTimeout(() => this.timeline.sync.isBehind && this.#sync(), RESYNC_DELAY);
  }

  // --- Events

  #sent(event) {
    if (!this.timeline.hasEnd || !this.isSynced) return void this.timeline.sync.expect(event.seq);
    const message = this.#show(event);
    if (message) this.#announce([message]);
    else if (this.timeline.sync.isBehind && !this.#isSyncing) this.#sync();
  }

  #messageChanged(event) {
    this.timeline.replace(event);
    this.#receiveChange(event.rev);
  }

  #receiveChange(rev) {
    if (!this.timeline.sync.receiveChange(rev) && this.isSynced && !this.#isSyncing) this.#sync();
  }

  #moved(event) {
    if (event.user === this.timeline.me) return this.readTracker.moved(event);
    this.timeline.cursors.move(event);
    this.timeline.showTicks();
  }

  async #changed({ status, banner, rev }) {
    if (status === "left") return this.#left(banner);
    if (this.#hasLeft) return location.reload();
    this.timeline.sync.receiveChange(rev);
    // The participants, and who may see whose presence, may have changed.
    this.presence.clear();
    if (this.isSynced) this.#sync();
    await this.#refresh();
  }

  /** Fetches the server's current sections and composer. */
  async #refresh() {
    const area = await refreshSections(this.id);
    if (area) this.composer.update(area);
    this.presence.show();
  }

  #left(banner) {
    this.isSynced = false;
    this.#hasLeft = true;
    document.querySelector(".room").classList.add("left");
    showBanner(banner);
    this.composer.close();
  }

  #expectEcho({ thread, seq }) {
    if (thread !== this.id) return;
    setTimeout(() => {
      if (this.isSynced && this.timeline.hasEnd && this.timeline.sync.seq < seq) this.#sync();
    }, ECHO_TIMEOUT);
  }

  #announce(messages) {
    const theirs = messages.filter((one) => one.dataset.author && !one.matches(".mine"));
    if (theirs.length > MAX_ANNOUNCED) return announce(`${theirs.length} new messages`);
    for (const message of theirs) announce(spokenText(message));
  }

  // --- Navigation

  #jump() {
    if (this.timeline.hasEnd) {
      this.timeline.jumpToEnd();
      return this.readTracker.jumped();
    }
    this.#isJumping = this.#request({});
    if (!this.#isJumping) toast(OFFLINE);
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

/** Loads the lightbox when a photo is first opened. */
function bindLightbox() {
  let lightbox = null;
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (!target.closest("[data-picture], [data-show]")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    lightbox ??= import("./lightbox.js").then(({ Lightbox }) => new Lightbox());
    lightbox.then(
      (box) => box.click(target),
      () => location.assign(target.closest("a").href),
    );
  });
}

function spokenText(message) {
  const name = message.querySelector(".message-name")?.textContent ?? "";
  const text = message.querySelector(".prose")?.textContent ?? "";
  return `${name}: ${[message.dataset.label, text].filter(Boolean).join(". ")}`.trim();
}
