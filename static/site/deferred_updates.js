// What is pressed stays where it is: otherwise the click goes elsewhere.

const CLICK_COMES_WITHIN = 100; // milliseconds, after a finger

export class Press {
  #isDown = false;
  #later = [];
  #lifting;

  constructor(element) {
    element.addEventListener("pointerdown", ({ button }) => {
      if (button === 0) this.#is(true);
    });
    for (const end of ["pointerup", "pointercancel", "blur"]) {
      addEventListener(end, () => this.#is(false));
    }
  }

  /** At once, or when it is lifted; in the order in which it came. */
  after(act) {
    if (this.#isDown) this.#later.push(act);
    else act();
  }

  #is(down) {
    clearTimeout(this.#lifting);
    if (down) this.#isDown = true;
    else this.#lifting = setTimeout(() => this.#lift(), CLICK_COMES_WITHIN);
  }

  #lift() {
    this.#isDown = false;
    // Each by itself, should one fail.
    for (const act of this.#later.splice(0)) queueMicrotask(act);
  }
}
