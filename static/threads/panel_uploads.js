// Uploads of photos to a tab of the panel: each is uploaded as for a message, then added to the tab.

import { AttachmentTray } from "./attachment_tray.js";

const RETRY_DELAY = 4_000;

export class PanelUploads {
  #isAdding = false;

  /** `post` submits the form with additional fields and returns the response. */
  constructor(form, { thread, user, post }) {
    this.form = form;
    this.post = post;
    this.isBatch = form.dataset.panelUpload === "files"; // One system message for all of them.
    this.tray = new AttachmentTray(form, { thread: `${thread} ${form.dataset.panelUpload}`, user });
    const input = form.querySelector("[data-panel-upload-input]");
    input.addEventListener("change", () => {
      this.tray.add(input.files);
      input.value = "";
    });
    this.tray.addEventListener("change", () => this.#addUploaded());
    this.tray.restore();
  }

  add(files) {
    this.tray.add(files);
  }

  async #addUploaded() {
    const { tray } = this;
    if (this.#isAdding || (this.isBatch && tray.isBusy)) return;
    const ids = tray.ready.attachments.map(({ id }) => id);
    if (!ids.length) return;
    this.#isAdding = true;
    const added = this.isBatch ? ids : ids.slice(0, 1);
    const fields = this.isBatch ? { file_ids: added.join(" ") } : { picture: added[0] };
    const response = await this.post(this.form, fields);
    this.#isAdding = false;
    if (response.ok) tray.removeUploaded(added);
    else if (response.code && response.code !== "TRY_AGAIN") tray.refuse(added, response.message);
    else return void setTimeout(() => this.#addUploaded(), RETRY_DELAY);
    this.#addUploaded();
  }
}

/** Accepts files dropped on a tab with uploads. */
export function acceptDrops(root, find) {
  const target = ({ dataTransfer, target: element }) =>
    dataTransfer?.types.includes("Files") ? find(element.closest("[data-tab-body]")) : null;
  root.addEventListener("dragover", (event) => target(event) && event.preventDefault());
  root.addEventListener("drop", (event) => {
    const uploads = target(event);
    if (!uploads) return;
    event.preventDefault();
    uploads.add(event.dataTransfer.files);
  });
}
