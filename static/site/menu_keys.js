// Arrow keys, Home and End in an open menu; the browser itself opens menus and closes them on Escape.

const MOVES = {
  ArrowDown: (at, last) => (at >= last ? 0 : at + 1),
  ArrowUp: (at, last) => (at <= 0 ? last : at - 1),
  Home: () => 0,
  End: (_, last) => last,
};

export function bindMenuKeys() {
  document.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    const menu = move && document.querySelector(".menu:popover-open");
    if (!menu || event.target.matches("input, textarea, select")) return;
    const items = [...menu.querySelectorAll(".menu-item")].filter((item) => item.checkVisibility());
    if (!items.length) return;
    event.preventDefault();
    items[move(items.indexOf(document.activeElement), items.length - 1)].focus();
  });
}
