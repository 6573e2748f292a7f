// The composer with its draft, attachments and typing indicator. The server decides whether a thread
// has a composer, and may change that; the typed text is kept either way.

import { fromTemplate } from "../site/fragments.js";
import { dayLabel } from "../site/labels.js";
import { Composer } from "./composer.js";
import { Draft } from "./draft.js";
import { AttachmentTray, bindAttachMenu } from "./attachment_tray.js";

export class ComposerArea {
  #composer = null;
  #draft = null;
  #isSynced = false;

  constructor(thread, socket, typing, { user, onSend }) {
    Object.assign(this, { thread, socket, typing, user, onSend });
    const form = document.querySelector("[data-composer]");
    if (form) this.#init(form);
  }

  #init(form) {
    const { thread, user, typing } = this;
    const tray = new AttachmentTray(form, { thread, user });
    const composer = new Composer(form, { tray, onSend: this.onSend });
    bindAttachMenu(form, tray);
    const draft = new Draft(this.socket, {
      user,
      thread,
      read: () => composer.text,
      write: (text, options) => composer.write(text, options),
    });
    composer.addEventListener("change", () => {
      draft.changed();
      typing.typed(composer.text);
    });
    composer.addEventListener("sent", ({ detail }) => {
      draft.sent(detail);
      typing.stopped();
    });
    composer.addEventListener("posted", () => draft.posted());
    composer.box.addEventListener("blur", () => typing.stopped());
    draft.restore();
    tray.restore();
    if (this.#isSynced) draft.synced();
    this.#composer = composer;
    this.#draft = draft;
  }

  /** The thread is synced. */
  synced() {
    this.#isSynced = true;
    this.#draft?.synced();
  }

  replyTo(quote) {
    this.#composer?.replyTo(quote);
  }

  /** Returns an unsent message to the composer, without files that no longer exist. */
  restore({ body, attachments, links, failed }) {
    this.#composer?.restore(body);
    const areFilesGone = failed?.code === "UPLOAD_GONE";
    this.#composer?.tray.restoreSent({ attachments: areFilesGone ? [] : attachments, links });
  }

  /** Another tab has sent a message. */
  refreshTray() {
    this.#composer?.tray.refresh();
  }

  /** Returns a message that is too old to be sent without asking its author. */
  restoreExpired(entry) {
    this.restore(entry);
    const note = fromTemplate("late-message");
    note.querySelector("[data-late-day]").textContent = dayLabel(new Date(entry.at));
    this.#composer?.place.replaceChildren(note);
  }

  close() {
    this.#composer?.close();
  }

  /** Applies the server's current composer area: a composer, or the reason why there is none. */
  update(fresh) {
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
      this.#init(form);
    }
  }
}
