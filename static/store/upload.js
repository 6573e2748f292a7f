// One file on its way to the server, with what one can say about it meanwhile.

// Nothing moved for so long: the connection is gone, whatever the browser believes.
const STALLED = 30_000;

/** `done` becomes { is: "taken", file } or { is: "refused", message, hint, final } or { is: "lost" }. */
export function upload({ url, token, file, name, onProgress }) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve) => {
    let stalled = null;
    const watch = (patience = STALLED) => {
      clearTimeout(stalled);
      stalled = setTimeout(() => request.abort(), patience);
    };
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      watch(loaded === total ? 3 * STALLED : STALLED);
      onProgress(total ? loaded / total : 0);
    });
    request.addEventListener("loadend", () => {
      clearTimeout(stalled);
      resolve(answerOf(request));
    });
    watch();
  });
  request.open("POST", url);
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("X-CSRFToken", token);
  const form = new FormData();
  form.append("file", file, name);
  request.send(form);
  return { done, abort: () => request.abort() };
}

function answerOf({ status, responseText }) {
  if (!status) return { is: "lost" };
  let said = {};
  try {
    said = JSON.parse(responseText);
  } catch {
    // A page instead of an answer: signed out, or something in between has failed.
  }
  if (status === 201 && said.id) return { is: "taken", file: said };
  const { message = "It could not be taken.", hint = "" } = said;
  // Where one has to wait, for how long is what matters.
  const words = status === 429 ? `${message} ${hint}` : message;
  return { is: "refused", message: words, hint, final: [403, 404, 413, 415].includes(status) };
}

export function sizeLabel(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, "KB"] : [bytes / 1024 ** 2, "MB"];
  return `${size.toFixed(1)} ${unit}`;
}
