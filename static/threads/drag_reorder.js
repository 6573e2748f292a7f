// Dragging items of a list to another place. By keyboard and touch, buttons do the same.

export class Sorting {
  #item = null;

  constructor(root, { onMove, onRest }) {
    Object.assign(this, { onMove, onRest });
    root.addEventListener("dragstart", (event) => this.#start(event));
    root.addEventListener("dragover", (event) => this.#over(event));
    root.addEventListener("drop", (event) => this.#item && event.preventDefault());
    root.addEventListener("dragend", () => this.#end());
  }

  /** Something in there is in somebody's hand. */
  isIn(place) {
    return place.contains(this.#item);
  }

  #start(event) {
    const item = event.target.closest?.("[data-item]");
    // Selecting text in a field is not dragging.
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
    this.onRest();
  }
}

const placeOf = (item) => [...item.parentElement.children].indexOf(item);
