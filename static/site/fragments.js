// HTML fragments rendered by the server. Scripts contain no markup of their own.

export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Clones the content of a <template> of the page. */
export function fromTemplate(id) {
  return document.getElementById(id).content.firstElementChild.cloneNode(true);
}

/** Throws when the request fails, is refused or is redirected. */
export async function fetchFragment(url) {
  const response = await fetch(url, { headers: { "X-Fragment": "1" } });
  if (!response.ok || response.redirected) throw new Error(response.status);
  return fragment(await response.text());
}

export async function fetchPage(url) {
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(response.status);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}
