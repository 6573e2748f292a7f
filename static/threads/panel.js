// The project panel: shows changes live, saves input automatically, and keeps both texts when two
// users edit the same field. The server renders every tab.

import { fetchPage, fragment, fromTemplate } from "../site/fragments.js";
import { dayLabel, dayOf, REQUEST_FAILED, timeLabel } from "../site/labels.js";
import { toast } from "../site/notices.js";
import { acceptDrops, PanelUploads } from "./panel_uploads.js";
import { DragReorder } from "./drag_reorder.js";

const SAVE_DELAY = 700; // After the last input.
const RETRY_DELAY = 4_000;

export class Panel {
  #timers = new Map(); // form -> timer
  #uploads = new WeakMap(); // form -> PanelUploads
  #hasStaleMenus = false; // What can be proposed may have changed since the menus were rendered.
  #deferred = new Map(); // tab -> fragment to show once no item of it is dragged

  constructor(thread, { onFold }) {
    Object.assign(this, { thread, onFold });
    this.root = document.querySelector("[data-panel]");
    this.me = document.documentElement.dataset.me;
    document.addEventListener("click", (event) => this.#clicked(event));
    this.root.addEventListener("input", ({ target }) => this.#inputChanged(target.form));
    this.root.addEventListener("change", ({ target }) => target.matches("select") && this.#save(target.form));
    this.root.addEventListener("focusout", ({ target }) => target.form && this.#focusLeft(target.form));
    this.root.addEventListener("submit", (event) => this.#submitted(event));
    this.reorder = new DragReorder(this.root, {
      onMove: (item, place) => this.#move(item, place),
      onEnd: () => this.#showDeferred(),
    });
    acceptDrops(this.root, (tab) => this.#uploads.get(tab?.querySelector("[data-panel-upload]:not([hidden])")));
    addEventListener("pagehide", () => this.#saveAll());
    document.addEventListener("toggle", (event) => this.#menuToggled(event), true);
    this.#personalise(this.root);
    this.#restore();
  }

  // --- Changes by others

  receive(event) {
    if (event.type === "panel.changed") this.#changed(event);
    else if (event.type === "thread.synced") this.#refreshIfStale(event.tabs);
    else if (event.kind === "project" && this.root.hidden) this.#refresh();
  }

  #changed({ tab, html }) {
    if (this.root.hidden) return this.#refresh();
    const body = this.#body(tab);
    if (body) this.#replace(body, fragment(html));
    if (tab !== "overview") return;
    this.#showNextStep();
    this.#hasStaleMenus = true;
  }

  /** Replaces a tab, except for forms that the user is editing. */
  #replace(body, fresh) {
    if (versionOf(fresh) < Math.max(versionOf(body), versionOf(this.#deferred.get(body)))) return;
    if (isLarge(fresh) && !isLarge(body)) return void this.#load(body);
    if (this.reorder.isIn(body)) return void this.#deferred.set(body, fresh);
    const open = [...body.querySelectorAll("details[open]")].map(keyOf);
    const focused = body.contains(document.activeElement) ? document.activeElement : null;
    const range = focused && [focused.selectionStart, focused.selectionEnd];
    for (const form of body.querySelectorAll("[data-edit]")) {
      const next = fresh.querySelector(`[data-edit="${CSS.escape(form.dataset.edit)}"]`);
      if (!next) continue;
      // A page fetched before the last save must not undo it.
      const isNewer = Number(form.elements.version.value) > versionOf(fresh);
      if (isNewer || isBusy(form)) next.replaceWith(form);
      // "Saved" stays, whether the response or the event arrives first.
      else if (textOf(next) === textOf(form)) setStatus(next, statusOf(form));
    }
    // Uploads in progress, and the text of an item that is not added yet.
    for (const kept of ["[data-panel-upload]", "[data-reset-on-success]"]) {
      const form = body.querySelector(kept);
      const next = form && fresh.querySelector(kept);
      if (!next) continue;
      form.elements.version.value = next.elements.version.value;
      next.replaceWith(form);
    }
    for (const details of fresh.querySelectorAll("details")) details.open = open.includes(keyOf(details));
    body.replaceChildren(...fresh.childNodes);
    this.#personalise(body);
    if (focused?.isConnected && document.activeElement !== focused) {
      focused.focus({ preventScroll: true });
      if (range[0] !== undefined && range[0] !== null) focused.setSelectionRange(...range);
    }
  }

  #showDeferred() {
    const deferred = [...this.#deferred];
    this.#deferred.clear();
    for (const [body, fresh] of deferred) this.#replace(body, fresh);
  }

  /** Fetches the tabs if one is stale. */
  #refreshIfStale(tabs) {
    const names = Object.keys(tabs);
    if (!names.length) return;
    const stale = names.some((name) => versionOf(this.#body(name)) < tabs[name]);
    if (stale) this.#refresh();
  }

  async #refresh() {
    const page = await fetchPage(`/threads/${this.thread}/`).catch(() => null);
    const fresh = page?.querySelector("[data-panel]");
    if (!fresh) return;
    if (this.root.hidden || !this.root.childElementCount) {
      if (fresh.hidden) return this.#replaceSections(page);
      this.root.replaceChildren(...fresh.childNodes);
      this.root.hidden = false;
      document.body.classList.add("has-panel");
      this.#personalise(this.root);
    } else {
      for (const body of fresh.querySelectorAll("[data-tab-body]")) {
        const mine = this.#body(body.dataset.tabBody);
        if (mine) this.#replace(mine, body);
      }
    }
    this.#replaceSections(page);
    // From the tab, which has a version, unlike this section of a page.
    if (this.root.querySelector("[data-next-step]")) this.#showNextStep();
  }

  /** Loads a tab that is too large to be part of every page. */
  async #load(body) {
    const tab = body.dataset.tabBody;
    const page = await fetchPage(`/threads/${this.thread}/panel/${tab}/`).catch(() => null);
    const fresh = page?.querySelector(`[data-tab-body="${tab}"]`);
    if (fresh) this.#replace(body, fresh);
  }

  async #menuToggled({ target, newState }) {
    if (!this.#hasStaleMenus || newState !== "open" || !target.matches("#add-menu, #thread-menu")) return;
    this.#hasStaleMenus = false;
    const page = await fetchPage(`/threads/${this.thread}/`).catch(() => null);
    if (page) this.#replaceSections(page, ["menu", "proposals"]);
  }

  /** Replaces sections that depend on the booking. */
  #replaceSections(page, names = ["banners", "head-panel", "next-step", "menu", "proposals"]) {
    for (const name of names) {
      const [old, fresh] = [document, page].map((where) => where.querySelector(`[data-part="${name}"]`));
      if (old && fresh) old.replaceChildren(...fresh.childNodes);
    }
  }

  #personalise(where) {
    for (const form of where.querySelectorAll('form[method="post"]')) {
      if (!form.elements.csrfmiddlewaretoken) form.append(this.#token());
    }
    for (const time of where.querySelectorAll("time[data-moment]")) {
      const at = new Date(time.dateTime);
      time.textContent = `${dayLabel(at)}, ${timeLabel(at)}`;
    }
    for (const part of where.querySelectorAll("[data-place-time]")) {
      const at = new Date(part.querySelector("time").dateTime);
      part.hidden = `${dayOf(at)} ${timeLabel(at)}` === part.dataset.placeTime;
    }
    for (const part of where.querySelectorAll("[data-waits-for]")) {
      part.classList.toggle("mine", part.dataset.waitsFor.split(" ").includes(this.me));
    }
    for (const part of where.querySelectorAll("form[data-for], p[data-for]")) {
      part.hidden = !part.dataset.for.split(" ").includes(this.me);
    }
    for (const field of where.querySelectorAll("[data-edit] :is(textarea, select)")) {
      // The server's value: the user may have typed before this module was loaded.
      field.form.dataset.saved ??= field.defaultValue ?? field.value;
    }
    for (const form of where.querySelectorAll("[data-panel-upload]:not([hidden])")) this.#initUploads(form);
    for (const tab of where.querySelectorAll("[data-large]")) if (!tab.parentElement.hidden) void this.#load(tab.parentElement);
    this.#showCounts();
  }

  #initUploads(form) {
    if (this.#uploads.has(form)) return;
    const post = (to, fields) => {
      const data = new FormData(to);
      data.delete("files");
      for (const [name, value] of Object.entries(fields)) data.set(name, value);
      return this.#post(to, data);
    };
    this.#uploads.set(form, new PanelUploads(form, { thread: this.thread, user: this.me, post }));
  }

  #showCounts() {
    const actions = this.root.querySelector("[data-tab=actions]:not([data-large])");
    const count = this.root.querySelector("[data-tab-count]");
    if (count && actions) {
      count.textContent = actions.querySelectorAll(".waits.mine").length;
      count.hidden = count.textContent === "0";
    }
    const progress = this.root.querySelector("[data-shot-progress]")?.dataset.shotProgress;
    const shown = document.querySelector("[data-progress]");
    if (!shown || progress === undefined) return;
    shown.hidden = progress === "";
    shown.querySelector("[data-progress-shown]").textContent = progress;
  }

  /** Copies the next step of the overview to the header: the viewer's own, or another user's. */
  #showNextStep() {
    const place = document.querySelector("[data-part=next-step]");
    const steps = [...this.root.querySelectorAll("[data-next-step]")];
    const step = steps.find((one) => one.matches(".mine")) ?? steps.find((one) => one.dataset.waitsFor) ?? steps[0];
    if (!place || !step) return place?.replaceChildren();
    const isMine = step.matches(".mine");
    const line = fromTemplate("next-line");
    line.classList.toggle("mine", isMine);
    line.querySelector("[data-step-text]").textContent = step.querySelector(isMine ? ".for-me" : ".for-them").textContent;
    const button = isMine ? step.querySelector("[data-for]:not([hidden]) a")?.cloneNode(true) : null;
    if (button) {
      button.classList.remove("primary");
      line.append(button);
    }
    place.replaceChildren(line);
  }

  #token() {
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name: "csrfmiddlewaretoken", value: this.root.dataset.csrf });
    return input;
  }

  // --- Editing: saved automatically, and kept in this browser until then

  #inputChanged(form) {
    if (!form?.matches("[data-edit]")) return;
    storeLocally(this.thread, form);
    const mine = form.querySelector("[data-conflict-mine]");
    if (mine) return void (mine.textContent = form.elements.text.value);
    setStatus(form, "");
    clearTimeout(this.#timers.get(form));
    this.#timers.set(form, setTimeout(() => this.#save(form), SAVE_DELAY));
  }

  #focusLeft(form) {
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
    setStatus(form, "Saving…");
    const response = await this.#post(form, new FormData(form), keepalive);
    delete form.dataset.saving;
    if (response.ok) return this.#saved(form, sent, response.version);
    if (response.code === "PANEL_VERSION_CONFLICT") return this.#showConflict(form, response);
    setStatus(form, response.message ?? "Not saved yet. Trying again…", true);
    if (!response.code || response.code === "TRY_AGAIN") {
      this.#timers.set(form, setTimeout(() => this.#save(form), RETRY_DELAY));
    }
  }

  #saved(form, sent, version) {
    form.dataset.saved = sent;
    form.elements.version.value = version;
    setStatus(form, "Saved");
    if (isDirty(form)) this.#inputChanged(form);
    else localStorage.removeItem(storageKey(this.thread, form));
  }

  async #post(form, data, keepalive = false) {
    try {
      const response = await fetch(form.action, {
        method: "POST",
        body: new URLSearchParams(data),
        headers: { Accept: "application/json" },
        keepalive,
      });
      return { ok: response.ok, ...(await response.json()) };
    } catch {
      return { ok: false };
    }
  }

  /** Shows both texts until the user chooses; typing changes the user's own. */
  #showConflict(form, { theirs, by_name, current }) {
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
        localStorage.removeItem(storageKey(this.thread, form));
        setStatus(form, "");
      } else if (choice === "mine") this.#save(form);
      else this.#inputChanged(form);
    });
    form.append(block);
    setStatus(form, "Not saved. Choose a version.", true);
  }

  /** Restores input that a closed page had not saved, and saves input typed before this ran. */
  #restore() {
    for (const form of this.root.querySelectorAll("[data-edit]")) {
      const { text, version } = form.elements;
      const stored = JSON.parse(localStorage.getItem(storageKey(this.thread, form)) ?? "null");
      const isMissing = stored && !isDirty(form) && stored.text !== text.value;
      if (isMissing) [text.value, version.value] = [stored.text, stored.version];
      if (isDirty(form)) this.#inputChanged(form);
    }
  }

  // --- Submitting

  async #submitted(event) {
    const form = event.target;
    if (form.matches("[data-edit]")) {
      event.preventDefault();
      return this.#save(form);
    }
    if (!form.matches("[data-async-form]")) return;
    event.preventDefault();
    const { text } = form.elements;
    const sent = text?.value;
    const response = await this.#post(form, new FormData(form, event.submitter));
    if (!response.ok) return toast(response.message ?? REQUEST_FAILED);
    if (form.matches("[data-reset-on-success]") && text.value === sent) form.reset();
  }

  #move(item, place) {
    const form = item.querySelector("[data-async-form] [name=op][value=remove]").form;
    const data = new FormData(form);
    data.set("op", "move");
    data.set("place", place);
    this.#post(form, data).then((response) => {
      if (!response.ok) {
        toast(response.message ?? REQUEST_FAILED);
        this.#refresh();
      }
    });
  }

  // --- Navigation

  #clicked(event) {
    const link = event.target.closest("[data-show-tab], [data-panel-open], [data-panel-close], [data-panel-fold]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.matches("[data-show-tab]")) return this.#show(link.dataset.showTab);
    if (link.matches("[data-panel-fold]")) return this.onFold(true);
    if (link.matches("[data-panel-open]") && innerWidth >= 1100) {
      return this.onFold();
    }
    const opens = link.matches("[data-panel-open]");
    document.body.classList.toggle("at-panel", opens);
    history.replaceState(null, "", link.href);
    if (opens) this.root.querySelector("[data-show-tab][aria-current]")?.focus();
  }

  #show(tab) {
    if (!this.root.checkVisibility()) {
      document.body.classList.add("at-panel");
      this.onFold(false);
    }
    for (const link of this.root.querySelectorAll("nav [data-show-tab]")) {
      link.toggleAttribute("aria-current", link.dataset.showTab === tab);
      if (link.dataset.showTab !== tab) continue;
      link.setAttribute("aria-current", "true");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    for (const body of this.root.querySelectorAll("[data-tab-body]")) {
      body.hidden = body.dataset.tabBody !== tab;
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
const statusOf = (form) => form.querySelector("[data-edit-state]").textContent;
const isDirty = (form) => form.elements.text.value !== form.dataset.saved;
const isBusy = (form) => isDirty(form) || form.contains(document.activeElement) || form.querySelector(".conflict");
const storageKey = (thread, form) => `panel ${thread} ${form.closest("[data-tab]").dataset.tab} ${form.dataset.edit}`;

function storeLocally(thread, form) {
  const { text, version } = form.elements;
  localStorage.setItem(storageKey(thread, form), JSON.stringify({ text: text.value, version: version.value }));
}

function setStatus(form, text, failed = false) {
  const place = form.querySelector("[data-edit-state]");
  place.textContent = text;
  place.classList.toggle("failed", failed);
}
