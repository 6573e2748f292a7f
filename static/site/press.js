// While a finger, or the button of a mouse, is down on something, it stays where it is: otherwise
// the click goes to what has taken its place, or nowhere.

const CLICK_COMES_WITHIN = 100; // milliseconds, on a screen that is touched

export class Press {
  #isDown = false;
  #later = [];
  #lifting;

  constructor(element) {
    element.addEventListener("pointerdown", ({ button }) => {
      if (button !== 0) return;
      this.#isDown = true;
      clearTimeout(this.#lifting);
    });
    for (const end of ["pointerup", "pointercancel", "blur"]) {
      addEventListener(end, () => {
        clearTimeout(this.#lifting);
        this.#lifting = setTimeout(() => this.#lift(), CLICK_COMES_WITHIN);
      });
    }
  }

  /** At once, or when it is lifted; in the order in which it came. */
  after(act) {
    if (this.#isDown) this.#later.push(act);
    else act();
  }

  #lift() {
    this.#isDown = false;
    // Each by itself: one that fails does not keep the others from being done.
    for (const act of this.#later.splice(0)) queueMicrotask(act);
  }
}
