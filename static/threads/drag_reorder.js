// Reorders lists by drag and drop. Buttons do the same for keyboard and touch.

export class DragReorder {
  #item = null;

  constructor(root, { onMove, onEnd }) {
    Object.assign(this, { onMove, onEnd });
    root.addEventListener("dragstart", (event) => this.#start(event));
    root.addEventListener("dragover", (event) => this.#over(event));
    root.addEventListener("drop", (event) => this.#item && event.preventDefault());
    root.addEventListener("dragend", () => this.#end());
  }

  /** Whether an item in the element is being dragged. */
  isIn(element) {
    return element.contains(this.#item);
  }

  #start(event) {
    const item = event.target.closest?.("[data-item]");
    // Dragging selected text in a field does not move the item.
    if (!item || event.target !== item) return;
    this.#item = item;
    this.before = placeOf(item);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", item.dataset.item);
    item.classList.add("dragged");
  }

  #over(event) {
    const item = this.#item;
    const over = event.target.closest?.("[data-item]");
    if (!item || event.target.closest("[data-sortable]") !== item.parentElement) return;
    event.preventDefault();
    if (!over || over === item) return;
    if (placeOf(over) > placeOf(item)) over.after(item);
    else over.before(item);
  }

  #end() {
    const item = this.#item;
    if (!item) return;
    this.#item = null;
    item.classList.remove("dragged");
    const place = placeOf(item);
    if (place !== this.before) this.onMove(item, place);
    this.onEnd();
  }
}

const placeOf = (item) => [...item.parentElement.children].indexOf(item);
