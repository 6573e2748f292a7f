// IndexedDB stores for unsent messages, drafts and uploads. Where IndexedDB is unavailable, as in
// some private windows, they are kept in memory while the page is open.

const NAME = "parley";
const STORES = { outbox: "client", drafts: ["user", "thread"], uploads: "key" };

let opening = null;
const memory = { outbox: new Map(), drafts: new Map(), uploads: new Map() };

function open() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 2);
    request.onupgradeneeded = () => {
      const existing = request.result.objectStoreNames;
      for (const [name, keyPath] of Object.entries(STORES)) {
        if (existing.contains(name)) continue;
        request.result.createObjectStore(name, { keyPath }).createIndex("user", "user");
      }
    };
    request.onsuccess = () => {
      // Another tab is upgrading the schema: close, so that it can; the next call opens again.
      request.result.onversionchange = () => request.result.close();
      request.result.onclose = () => (opening = null);
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
  });
  return opening;
}

async function run(store, mode, work, fallback) {
  let database;
  try {
    database = await open();
  } catch {
    return fallback(memory[store]);
  }
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(store, mode);
    const request = work(transaction.objectStore(store));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(transaction.error);
  });
}

const keyOf = (store, value) => JSON.stringify([STORES[store]].flat().map((name) => value[name]));

export const put = (store, value) =>
  run(
    store,
    "readwrite",
    (items) => items.put(value),
    (items) => void items.set(keyOf(store, value), value),
  );

export const remove = (store, key) =>
  run(
    store,
    "readwrite",
    (items) => items.delete(key),
    (items) => void items.delete(JSON.stringify([key].flat())),
  );

export const get = (store, key) =>
  run(
    store,
    "readonly",
    (items) => items.get(key),
    (items) => items.get(JSON.stringify([key].flat())),
  );

export const listByUser = (store, user) =>
  run(
    store,
    "readonly",
    (items) => items.index("user").getAll(user),
    (items) => [...items.values()].filter((value) => value.user === user),
  );
