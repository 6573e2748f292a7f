// Defers updates of an element while the pointer is down in it: a row that moves between press and
// release would receive no click, or another row would.

const CLICK_DELAY = 100; // The longest delay between a touch and its click.

export class DeferredUpdates {
  #isDown = false;
  #deferred = [];
  #timer;

  constructor(element) {
    element.addEventListener("pointerdown", ({ button }) => {
      if (button === 0) this.#setDown(true);
    });
    for (const end of ["pointerup", "pointercancel", "blur"]) {
      addEventListener(end, () => this.#setDown(false));
    }
  }

  /** Runs the update now, or in order once the pointer is released. */
  run(update) {
    if (this.#isDown) this.#deferred.push(update);
    else update();
  }

  #setDown(down) {
    clearTimeout(this.#timer);
    if (down) this.#isDown = true;
    else this.#timer = setTimeout(() => this.#release(), CLICK_DELAY);
  }

  #release() {
    this.#isDown = false;
    // As separate microtasks, so that one failure does not stop the rest.
    for (const update of this.#deferred.splice(0)) queueMicrotask(update);
  }
}
