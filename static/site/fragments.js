// Parts of pages as the server makes them: no script holds markup of its own.

export function fragment(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

/** A copy of what a template of the page holds. */
export function fromTemplate(id) {
  return document.getElementById(id).content.firstElementChild.cloneNode(true);
}

/** Throws when there is no answer, or none that one can use. */
export async function fetchFragment(url) {
  const answer = await fetch(url, { headers: { "X-Fragment": "1" } });
  if (!answer.ok || answer.redirected) throw new Error(answer.status);
  return fragment(await answer.text());
}

export async function fetchPage(url) {
  const answer = await fetch(url);
  if (!answer.ok || answer.redirected) throw new Error(answer.status);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}
