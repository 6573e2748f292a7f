// The inbox beside a thread. Narrow screens hide it, so the server leaves it out for them.

import { fetchPage } from "../site/fragments.js";

const wide = matchMedia("(min-width: 720px)"); // As in shell.css.

/** Reports the width to the server in a cookie, and fetches the inbox once there is space for it. */
export function watchWidth(onLoaded) {
  const column = document.querySelector(".inbox");
  const update = async () => {
    document.cookie = `layout=${wide.matches ? "wide" : "narrow"}; path=/; max-age=31536000; samesite=lax`;
    if (!wide.matches || !column || column.childElementCount) return;
    const page = await fetchPage(location.href).catch(() => null);
    if (!page || column.childElementCount) return;
    column.replaceChildren(...(page.querySelector(".inbox")?.childNodes ?? []));
    onLoaded();
  };
  wide.addEventListener("change", update);
  update();
}
