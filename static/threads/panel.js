// The project panel: shows what changed, saves what is typed, and loses nothing when two people
// write at once. Every tab is made by the server; nothing here holds markup of its own.

import { fetchPage, fragment, fromTemplate } from "../site/fragments.js";
import { dayLabel, timeLabel } from "../site/labels.js";
import { toast } from "../site/notices.js";
import { Bringing, takeDrops } from "./panel_uploads.js";
import { Sorting } from "./drag_reorder.js";

const PAUSE = 700; // after the last letter
const AGAIN = 4_000;

export class Panel {
  #timers = new Map(); // form -> timer
  #bringing = new WeakMap(); // form -> what it brings
  #held = new Map(); // tab -> what it will show when nothing in it is in somebody's hand

  constructor(thread, { onFold }) {
    Object.assign(this, { thread, onFold });
    this.root = document.querySelector("[data-panel]");
    this.me = document.documentElement.dataset.me;
    document.addEventListener("click", (event) => this.#clicked(event));
    this.root.addEventListener("input", ({ target }) => this.#typed(target.form));
    this.root.addEventListener("change", ({ target }) => target.matches("select") && this.#save(target.form));
    this.root.addEventListener("focusout", ({ target }) => target.form && this.#leave(target.form));
    this.root.addEventListener("submit", (event) => this.#submitted(event));
    this.sorting = new Sorting(this.root, {
      onMove: (item, place) => this.#move(item, place),
      onRest: () => this.#catchUp(),
    });
    takeDrops(this.root, (tab) => this.#bringing.get(tab?.querySelector("[data-bring]:not([hidden])")));
    addEventListener("pagehide", () => this.#saveAll());
    this.#settle(this.root);
    this.#restore();
  }

  // --- What others did

  hear(event) {
    if (event.type === "panel.changed") this.#changed(event);
    else if (event.type === "thread.synced") this.#compare(event.tabs);
    else if (event.kind === "project" && this.root.hidden) this.#open();
  }

  #changed({ tab, html }) {
    if (this.root.hidden) return this.#open();
    const body = this.#body(tab);
    if (body) this.#put(body, fragment(html));
  }

  /** The new tab in place of the old one; but what somebody is writing in stays as they left it. */
  #put(body, fresh) {
    if (versionOf(fresh) < Math.max(versionOf(body), versionOf(this.#held.get(body)))) return;
    if (isLarge(fresh) && !isLarge(body)) return void this.#load(body);
    if (this.sorting.isIn(body)) return void this.#held.set(body, fresh);
    const open = [...body.querySelectorAll("details[open]")].map(keyOf);
    const focused = body.contains(document.activeElement) ? document.activeElement : null;
    const range = focused && [focused.selectionStart, focused.selectionEnd];
    for (const form of body.querySelectorAll("[data-edit]")) {
      const next = fresh.querySelector(`[data-edit="${CSS.escape(form.dataset.edit)}"]`);
      if (!next) continue;
      // A page fetched before the last save must not undo it.
      const isNewer = Number(form.elements.version.value) > versionOf(fresh);
      if (isNewer || isBusy(form)) next.replaceWith(form);
      // That it was saved stays said, whether the answer or the echo was faster.
      else if (textOf(next) === textOf(form)) state(next, stateOf(form));
    }
    // Uploads in progress, and the text of an item that is not added yet.
    for (const kept of ["[data-bring]", "[data-clears]"]) {
      const form = body.querySelector(kept);
      const next = form && fresh.querySelector(kept);
      if (!next) continue;
      form.elements.version.value = next.elements.version.value;
      next.replaceWith(form);
    }
    for (const details of fresh.querySelectorAll("details")) details.open = open.includes(keyOf(details));
    body.replaceChildren(...fresh.childNodes);
    this.#settle(body);
    if (focused?.isConnected && document.activeElement !== focused) {
      focused.focus({ preventScroll: true });
      if (range[0] !== undefined && range[0] !== null) focused.setSelectionRange(...range);
    }
  }

  #catchUp() {
    const held = [...this.#held];
    this.#held.clear();
    for (const [body, fresh] of held) this.#put(body, fresh);
  }

  /** After being away: tabs whose version is another one are fetched. */
  #compare(tabs) {
    const names = Object.keys(tabs);
    if (!names.length) return;
    const stale = names.some((name) => versionOf(this.#body(name)) < tabs[name]);
    if (stale) this.#open();
  }

  async #open() {
    const page = await fetchPage(`/threads/${this.thread}/`).catch(() => null);
    const fresh = page?.querySelector("[data-panel]");
    if (!fresh) return;
    if (this.root.hidden || !this.root.childElementCount) {
      if (fresh.hidden) return this.#banners(page);
      this.root.replaceChildren(...fresh.childNodes);
      this.root.hidden = false;
      document.body.classList.add("has-panel");
      this.#settle(this.root);
    } else {
      for (const body of fresh.querySelectorAll("[data-tab-body]")) {
        const mine = this.#body(body.dataset.tabBody);
        if (mine) this.#put(mine, body);
      }
    }
    this.#banners(page);
  }

  /** What is too large to come with every page, when somebody looks at it. */
  async #load(body) {
    const tab = body.dataset.tabBody;
    const page = await fetchPage(`/threads/${this.thread}/panel/${tab}/`).catch(() => null);
    const fresh = page?.querySelector(`[data-tab-body="${tab}"]`);
    if (fresh) this.#put(body, fresh);
  }

  /** An offer that waits stands above the messages until there is a panel. */
  #banners(page) {
    for (const name of ["banners", "head-panel", "proposals"]) {
      const [old, fresh] = [document, page].map((where) => where.querySelector(`[data-part="${name}"]`));
      if (old && fresh) old.replaceChildren(...fresh.childNodes);
    }
  }

  #settle(where) {
    for (const form of where.querySelectorAll('form[method="post"]')) {
      if (!form.elements.csrfmiddlewaretoken) form.append(this.#token());
    }
    for (const time of where.querySelectorAll("time[data-moment]")) {
      const at = new Date(time.dateTime);
      time.textContent = `${dayLabel(at)}, ${timeLabel(at)}`;
    }
    for (const part of where.querySelectorAll("[data-waits-for]")) {
      part.classList.toggle("mine", part.dataset.waitsFor.split(" ").includes(this.me));
    }
    for (const part of where.querySelectorAll("form[data-for], p[data-for]")) {
      part.hidden = !part.dataset.for.split(" ").includes(this.me);
    }
    for (const field of where.querySelectorAll("[data-edit] :is(textarea, select)")) {
      // As the server made it: somebody may have begun to write before this was here.
      field.form.dataset.saved ??= field.defaultValue ?? field.value;
    }
    for (const form of where.querySelectorAll("[data-bring]:not([hidden])")) this.#bring(form);
    for (const tab of where.querySelectorAll("[data-large]")) if (!tab.parentElement.hidden) void this.#load(tab.parentElement);
    this.#count();
  }

  #bring(form) {
    if (this.#bringing.has(form)) return;
    const post = (to, fields) => {
      const data = new FormData(to);
      data.delete("files");
      for (const [name, value] of Object.entries(fields)) data.set(name, value);
      return this.#post(to, data);
    };
    this.#bringing.set(form, new Bringing(form, { thread: this.thread, user: this.me, post }));
  }

  #count() {
    const waiting = this.root.querySelector("[data-open]")?.dataset.open;
    const count = this.root.querySelector("[data-tab-count]");
    if (count && waiting !== undefined) {
      count.textContent = waiting;
      count.hidden = waiting === "0";
    }
    const percent = this.root.querySelector("[data-percent]")?.dataset.percent;
    const shown = document.querySelector("[data-progress]");
    if (!shown || percent === undefined) return;
    shown.hidden = percent === "";
    shown.firstChild.textContent = `${percent}%`;
  }

  #token() {
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name: "csrfmiddlewaretoken", value: this.root.dataset.csrf });
    return input;
  }

  // --- Writing: saved by itself, kept here until it is

  #typed(form) {
    if (!form?.matches("[data-edit]")) return;
    keep(this.thread, form);
    const mine = form.querySelector("[data-conflict-mine]");
    if (mine) return void (mine.textContent = form.elements.text.value);
    state(form, "");
    clearTimeout(this.#timers.get(form));
    this.#timers.set(form, setTimeout(() => this.#save(form), PAUSE));
  }

  #leave(form) {
    if (form.matches("[data-edit]") && isDirty(form)) this.#save(form);
  }

  #saveAll() {
    for (const form of this.root.querySelectorAll("[data-edit]")) if (isDirty(form)) this.#save(form, true);
  }

  async #save(form, keepalive = false) {
    clearTimeout(this.#timers.get(form));
    const { text } = form.elements;
    if (!isDirty(form) || form.dataset.saving || form.querySelector(".conflict")) return;
    const sent = text.value;
    form.dataset.saving = "yes";
    state(form, "Saving");
    const answer = await this.#post(form, new FormData(form), keepalive);
    delete form.dataset.saving;
    if (answer.ok) return this.#saved(form, sent, answer.version);
    if (answer.code === "PANEL_VERSION_CONFLICT") return this.#conflict(form, answer);
    state(form, answer.message ?? "Not saved yet: trying again", true);
    if (!answer.code || answer.code === "TRY_AGAIN") {
      this.#timers.set(form, setTimeout(() => this.#save(form), AGAIN));
    }
  }

  #saved(form, sent, version) {
    form.dataset.saved = sent;
    form.elements.version.value = version;
    state(form, "Saved");
    if (isDirty(form)) this.#typed(form);
    else localStorage.removeItem(slot(this.thread, form));
  }

  async #post(form, data, keepalive = false) {
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        body: new URLSearchParams(data),
        headers: { Accept: "application/json" },
        keepalive,
      });
      return { ok: answer.ok, ...(await answer.json()) };
    } catch {
      return { ok: false };
    }
  }

  /** Both stand there until one of them is chosen; who goes on writing changes their own. */
  #conflict(form, { theirs, by_name, current }) {
    const block = fromTemplate("conflict");
    block.querySelector("[data-conflict-by]").textContent = by_name;
    block.querySelector("[data-conflict-theirs]").textContent = theirs;
    block.querySelector("[data-conflict-mine]").textContent = form.elements.text.value;
    block.addEventListener("click", ({ target }) => {
      const { keep: choice } = target.dataset;
      if (!choice) return;
      const { text, version } = form.elements;
      version.value = current;
      form.dataset.saved = theirs;
      block.remove();
      if (choice === "theirs") text.value = theirs;
      if (choice === "both") text.value = `${theirs}\n\n${text.value}`;
      text.focus();
      if (choice === "theirs") {
        localStorage.removeItem(slot(this.thread, form));
        state(form, "");
      } else if (choice === "mine") this.#save(form);
      else this.#typed(form);
    });
    form.append(block);
    state(form, "Not saved: two versions", true);
  }

  /** What a closed page had not saved yet, and what was typed before this ran. */
  #restore() {
    for (const form of this.root.querySelectorAll("[data-edit]")) {
      const { text, version } = form.elements;
      const kept = JSON.parse(localStorage.getItem(slot(this.thread, form)) ?? "null");
      const lacks = kept && !isDirty(form) && kept.text !== text.value;
      if (lacks) [text.value, version.value] = [kept.text, kept.version];
      if (isDirty(form)) this.#typed(form);
    }
  }

  // --- Pressing

  async #submitted(event) {
    const form = event.target;
    if (form.matches("[data-edit]")) {
      event.preventDefault();
      return this.#save(form);
    }
    if (!form.matches("[data-press]")) return;
    event.preventDefault();
    const { text } = form.elements;
    const sent = text?.value;
    const answer = await this.#post(form, new FormData(form, event.submitter));
    if (!answer.ok) return toast(answer.message ?? "That did not go through. Try again.");
    if (form.matches("[data-clears]") && text.value === sent) form.reset();
  }

  #move(item, place) {
    const form = item.querySelector("[data-press] [name=op][value=remove]").form;
    const data = new FormData(form);
    data.set("op", "move");
    data.set("place", place);
    this.#post(form, data).then((answer) => {
      if (!answer.ok) {
        toast(answer.message ?? "That could not be moved. Try again.");
        this.#open();
      }
    });
  }

  // --- Moving about

  #clicked(event) {
    const link = event.target.closest("[data-show-tab], [data-panel-open], [data-panel-close], [data-panel-fold]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.matches("[data-show-tab]")) return this.#show(link);
    if (link.matches("[data-panel-fold]")) return this.onFold(true);
    if (link.matches("[data-panel-open]") && innerWidth >= 1100) {
      return this.onFold();
    }
    const opens = link.matches("[data-panel-open]");
    document.body.classList.toggle("at-panel", opens);
    history.replaceState(null, "", link.href);
    if (opens) this.root.querySelector("[data-show-tab][aria-current]")?.focus();
  }

  #show(link) {
    for (const each of this.root.querySelectorAll("[data-show-tab]")) each.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    link.scrollIntoView({ block: "nearest", inline: "nearest" });
    for (const body of this.root.querySelectorAll("[data-tab-body]")) {
      body.hidden = body.dataset.tabBody !== link.dataset.showTab;
      if (!body.hidden && isLarge(body)) void this.#load(body);
    }
  }

  #body(tab) {
    return this.root.querySelector(`[data-tab-body="${tab}"]`);
  }
}

const versionOf = (place) => Number(place?.querySelector("[data-version]")?.dataset.version ?? -1);
const isLarge = (place) => !!place.querySelector("[data-large]");
const keyOf = (details) => details.closest("[data-item]")?.dataset.item;
const textOf = (form) => form.querySelector("[name=text]").value;
const stateOf = (form) => form.querySelector("[data-edit-state]").textContent;
const isDirty = (form) => form.elements.text.value !== form.dataset.saved;
const isBusy = (form) => isDirty(form) || form.contains(document.activeElement) || form.querySelector(".conflict");
const slot = (thread, form) => `panel ${thread} ${form.closest("[data-tab]").dataset.tab} ${form.dataset.edit}`;

function keep(thread, form) {
  const { text, version } = form.elements;
  localStorage.setItem(slot(thread, form), JSON.stringify({ text: text.value, version: version.value }));
}

function state(form, text, failed = false) {
  const place = form.querySelector("[data-edit-state]");
  place.textContent = text;
  place.classList.toggle("failed", failed);
}
