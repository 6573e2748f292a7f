// Uploads one file and reports its progress.

// Without progress for this long the connection is considered lost.
const STALL_TIMEOUT = 30_000;

/** `done` resolves to { is: "stored", file }, { is: "refused", message, hint, final } or { is: "lost" }. */
export function upload({ url, token, file, name, onProgress }) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve) => {
    let timer = null;
    const watch = (timeout = STALL_TIMEOUT) => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), timeout);
    };
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      watch(loaded === total ? 3 * STALL_TIMEOUT : STALL_TIMEOUT);
      onProgress(total ? loaded / total : 0);
    });
    request.addEventListener("loadend", () => {
      clearTimeout(timer);
      resolve(resultOf(request));
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

function resultOf({ status, responseText }) {
  if (!status) return { is: "lost" };
  let body = {};
  try {
    body = JSON.parse(responseText);
  } catch {
    // An HTML page instead of JSON: the user is signed out, or a proxy has failed.
  }
  if (status === 201 && body.id) return { is: "stored", file: body };
  const { message = "That file couldn't be uploaded.", hint = "" } = body;
  // The hint of a rate limit says how long to wait.
  const text = status === 429 ? `${message} ${hint}` : message;
  return { is: "refused", message: text, hint, final: [403, 404, 413, 415].includes(status) };
}

export function sizeLabel(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, "KB"] : [bytes / 1024 ** 2, "MB"];
  return `${size.toFixed(1)} ${unit}`;
}
