// While a finger, or the button of a mouse, is down on something, it stays where it is: otherwise
// the click goes to what has taken its place, or nowhere.

const CLICK_COMES_WITHIN = 100; // milliseconds, on a screen that is touched

export class Press {
  #isDown = false;
  #later = [];

  constructor(element) {
    element.addEventListener("pointerdown", ({ button }) => (this.#isDown ||= button === 0));
    for (const end of ["pointerup", "pointercancel", "blur"]) {
      addEventListener(end, () => setTimeout(() => this.#lift(), CLICK_COMES_WITHIN));
    }
  }

  /** At once, or when it is lifted; in the order in which it came. */
  after(act) {
    if (this.#isDown) this.#later.push(act);
    else act();
  }

  #lift() {
    this.#isDown = false;
    for (const act of this.#later.splice(0)) act();
  }
}
