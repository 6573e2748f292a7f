// Earlier and later messages load as one comes near them; the links do the same without a script.

const NEAR = "600px";

export function keepLoading(timeline) {
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) load(timeline, target, watcher);
      }
    },
    { root: timeline.scroller, rootMargin: NEAR },
  );
  for (const end of ends(timeline.scroller)) watcher.observe(end);
  timeline.scroller.addEventListener("click", (event) => {
    const end = event.target.closest("[data-older], [data-newer]");
    if (!end || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    load(timeline, end, watcher);
  });
}

const ends = (root) => root.querySelectorAll("[data-older], [data-newer]");

async function load(timeline, end, watcher) {
  if (end.ariaBusy === "true") return;
  end.ariaBusy = "true";
  watcher.unobserve(end);
  const page = await fetchStretch(end.querySelector("a").href).catch(() => null);
  if (!page) {
    // The link stays, and is tried again on a press.
    end.ariaBusy = "false";
    return;
  }
  const isOlder = end.matches("[data-older]");
  const items = [...page.querySelector("[data-stretch]").children];
  if (isOlder) timeline.prepend(items);
  else timeline.append(items);
  const next = page.querySelector(isOlder ? "[data-older]" : "[data-newer]");
  if (!next) return end.remove();
  end.replaceWith(next);
  watcher.observe(next);
}

async function fetchStretch(url) {
  const answer = await fetch(url, { headers: { "X-Fragment": "1" } });
  if (!answer.ok) throw new Error(answer.status);
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  return holder.content;
}
