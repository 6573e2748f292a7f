// Bringing pictures to a tab of the panel: each goes up by itself, as for a message, and is placed
// where it belongs once it is there.

import { Tray } from "./attachment_tray.js";

const AGAIN = 4_000;

export class Bringing {
  #isPlacing = false;

  /** `post` sends fields to where the form goes, and gives the answer. */
  constructor(form, { thread, user, post }) {
    this.form = form;
    this.post = post;
    this.isTogether = form.dataset.bring === "files"; // One line says that they came.
    this.tray = new Tray(form, { thread: `${thread} ${form.dataset.bring}`, user });
    const input = form.querySelector("[data-bring-input]");
    input.addEventListener("change", () => {
      this.tray.add(input.files);
      input.value = "";
    });
    this.tray.addEventListener("change", () => this.#place());
    this.tray.restore();
  }

  add(files) {
    this.tray.add(files);
  }

  async #place() {
    const { tray } = this;
    if (this.#isPlacing || (this.isTogether && tray.isBusy)) return;
    const ids = tray.ready.attachments.map(({ id }) => id);
    if (!ids.length) return;
    this.#isPlacing = true;
    const placed = this.isTogether ? ids : ids.slice(0, 1);
    const fields = this.isTogether ? { file_ids: placed.join(" ") } : { picture: placed[0] };
    const answer = await this.post(this.form, fields);
    this.#isPlacing = false;
    if (answer.ok) tray.placed(placed);
    else if (answer.code && answer.code !== "TRY_AGAIN") tray.refused(placed, answer.message);
    else return void setTimeout(() => this.#place(), AGAIN);
    this.#place();
  }
}

/** Files dropped on a tab that takes them. */
export function takeDrops(root, find) {
  const taker = ({ dataTransfer, target }) =>
    dataTransfer?.types.includes("Files") ? find(target.closest("[data-tab-body]")) : null;
  root.addEventListener("dragover", (event) => taker(event) && event.preventDefault());
  root.addEventListener("drop", (event) => {
    const bringing = taker(event);
    if (!bringing) return;
    event.preventDefault();
    bringing.add(event.dataTransfer.files);
  });
}
