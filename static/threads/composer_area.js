// Writing in a conversation: the box, its draft, and that others see one typing. Whether there is a
// box is the server's to say, and may change; what was typed stays either way.

import { fromTemplate } from "../site/fragments.js";
import { dayLabel } from "../site/labels.js";
import { Composer } from "./composer.js";
import { Draft } from "./draft.js";
import { offerAttaching, Tray } from "./attachment_tray.js";

export class Writing {
  #composer = null;
  #draft = null;
  #isSynced = false;

  constructor(thread, socket, company, { user, onSend }) {
    Object.assign(this, { thread, socket, company, user, onSend });
    const form = document.querySelector("[data-composer]");
    if (form) this.#begin(form);
  }

  #begin(form) {
    const { thread, user, company } = this;
    const tray = new Tray(form, { thread, user });
    const composer = new Composer(form, { tray, onSend: this.onSend });
    offerAttaching(form, tray);
    const draft = new Draft(this.socket, {
      user,
      thread,
      read: () => composer.text,
      write: (text, options) => composer.write(text, options),
    });
    composer.addEventListener("change", () => {
      draft.changed();
      company.typed(composer.text);
    });
    composer.addEventListener("sent", ({ detail }) => {
      draft.sent(detail);
      company.stopped();
    });
    composer.addEventListener("posted", () => draft.posted());
    composer.box.addEventListener("blur", () => company.stopped());
    draft.restore();
    tray.restore();
    if (this.#isSynced) draft.synced();
    this.#composer = composer;
    this.#draft = draft;
  }

  /** The conversation was caught up with. */
  synced() {
    this.#isSynced = true;
    this.#draft?.synced();
  }

  answer(quote) {
    this.#composer?.answer(quote);
  }

  /** What could not be sent; files that are no longer there do not come back. */
  giveBack({ body, attachments, links, failed }) {
    this.#composer?.restore(body);
    const isGone = failed?.code === "UPLOAD_GONE";
    this.#composer?.tray.giveBack({ attachments: isGone ? [] : attachments, links });
  }

  /** Another tab has sent something. */
  sentElsewhere() {
    this.#composer?.tray.refresh();
  }

  /** It waited so long that it is for its author to say whether it is still right. */
  giveBackLate(entry) {
    this.giveBack(entry);
    const note = fromTemplate("late-message");
    note.querySelector("[data-late-day]").textContent = dayLabel(new Date(entry.at));
    this.#composer?.place.replaceChildren(note);
  }

  close() {
    this.#composer?.close();
  }

  /** As the server would make it now: with a box, or with a word on why there is none. */
  place(fresh) {
    const place = document.querySelector("[data-composer-place]");
    const form = fresh.querySelector("[data-composer]");
    const composer = this.#composer;
    if (!form) {
      composer?.close();
      place.replaceChildren(...fresh.childNodes, ...(composer ? [composer.form] : []));
    } else if (composer) {
      if (composer.box.readOnly) place.replaceChildren(composer.form);
      composer.reopen();
    } else {
      place.replaceChildren(form);
      this.#begin(form);
    }
  }
}
