/**
 * What a servent in the page keeps across a reload: rows of text, shared files,
 * and pieces of downloads. Where the browser gives no storage, memory does, with
 * a limit that is known before a download begins.
 */

/** Bytes that one download may have in memory. */
const MEMORY = 256 << 20;
/** A tab that was not seen for so long is forgotten, in milliseconds. */
const FORGOTTEN_MS = 24 * 3600 * 1000;
const TABS = 'servent.tabs';
/** A tab whose servent another one takes over answers within this, in milliseconds; nobody else does. */
const ANSWER_MS = 150;
const STORES = /** @type {const} */ (['rows', 'files', 'pieces']);

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const answered = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @param {IDBTransaction} work @returns {Promise<void>} */
const done = (work) => new Promise((resolve, reject) => {
  work.oncomplete = () => resolve();
  work.onerror = work.onabort = () => reject(work.error ?? new Error('nothing was saved'));
});

/** All pieces of a download. @param {number} part */
const ofPart = (part) => IDBKeyRange.bound([part, 0], [part, Number.MAX_VALUE]);

/** One file of pieces that follow each other and may overlap. @param {[number, Blob][]} pieces @param {number} size */
function whole(pieces, size) {
  const blobs = [];
  let at = 0;
  for (const [start, piece] of pieces.sort(([a], [b]) => a - b)) {
    if (start > at) throw new Error('a piece is missing');
    if (start + piece.size <= at) continue;
    blobs.push(start < at ? piece.slice(at - start) : piece);
    at = start + piece.size;
  }
  if (at < size) throw new Error('the end is missing');
  return new Blob(blobs).slice(0, size);
}

/** In the browser's storage. */
class Kept {
  changed = () => {};
  /** @param {string} _what @param {string} _words */
  said = (_what, _words) => {};
  /** Another tab goes on with this servent: nothing is written here any more. */
  moved = false;
  /** @param {IDBDatabase} db */
  constructor(db) { this.db = db; }

  /** @param {typeof STORES[number]} store @param {(store: IDBObjectStore) => void} act @returns {Promise<void>} */
  #write(store, act) {
    if (this.moved) return Promise.resolve();
    const work = this.db.transaction(store, 'readwrite');
    act(work.objectStore(store));
    return done(work);
  }

  /** @param {typeof STORES[number]} store @returns {Promise<[any, any][]>} */
  async all(store, range = undefined) {
    const from = this.db.transaction(store).objectStore(store);
    const [keys, values] = await Promise.all([answered(from.getAllKeys(range)), answered(from.getAll(range))]);
    return keys.map((key, i) => [key, values[i]]);
  }

  /** @param {[string, string|null][]} rows */
  save(rows) { return this.#write('rows', (store) => { for (const [key, text] of rows) text === null ? store.delete(key) : store.put(text, key); }); }
  /** @param {number} part @param {number} start @param {Uint8Array<ArrayBuffer>[]} bytes */
  put(part, start, bytes) { return this.#write('pieces', (store) => store.put(new Blob(bytes), [part, start])); }
  /** @param {number} part @param {number} size */
  async file(part, size) { return whole((await this.all('pieces', /** @type {any} */ (ofPart(part)))).map(([[, start], piece]) => [start, piece]), size); }
  /** @param {number} part */
  forget(part) { this.#write('pieces', (store) => store.delete(ofPart(part))).catch(() => {}); }
  /** @param {number} index @param {File} [file] */
  keep(index, file) { this.#write('files', (store) => (file ? store.put(file, index) : store.delete(index))).catch(() => {}); }
  /** Everything is deleted, and this tab is another servent when it is loaded again. */
  async erase() {
    this.moved = true;
    this.db.close();
    sessionStorage.removeItem('servent.tab');
    await new Promise((resolve) => {
      const gone = indexedDB.deleteDatabase(this.db.name);
      gone.onsuccess = gone.onerror = gone.onblocked = resolve;
    });
  }
  room() { return Number.MAX_VALUE; }
  turned() { this.changed(); }
  /** Whoever runs the room says something; heard once the servent is done with it, as it may be asked to do more. @param {string} what @param {string} words */
  told(what, words) { queueMicrotask(() => this.said(what, words)); }
}

/** In memory: gone with the page. */
class Held {
  moved = false;
  changed = () => {};
  /** @param {string} _what @param {string} _words */
  said = (_what, _words) => {};
  /** @type {Map<number, [number, Blob][]>} */ #pieces = new Map();

  async all() { return []; }
  async save() {}
  /** @param {number} part @param {number} start @param {Uint8Array<ArrayBuffer>[]} bytes */
  async put(part, start, bytes) { this.#pieces.set(part, [...this.#pieces.get(part) ?? [], [start, new Blob(bytes)]]); }
  /** @param {number} part @param {number} size */
  async file(part, size) { return whole([...this.#pieces.get(part) ?? []], size); }
  /** @param {number} part */
  forget(part) { this.#pieces.delete(part); }
  keep() {}
  async erase() {}
  room() { return MEMORY; }
  turned() { this.changed(); }
  /** Whoever runs the room says something; heard once the servent is done with it, as it may be asked to do more. @param {string} what @param {string} words */
  told(what, words) { queueMicrotask(() => this.said(what, words)); }
}

/** Deletes what tabs have left that nobody has opened for a day. @param {Storage} storage @param {string} id */
function sweep(storage, id) {
  const tabs = /** @type {Record<string, number>} */ (JSON.parse(storage.getItem(TABS) ?? '{}'));
  for (const [old, seen] of Object.entries(tabs)) {
    if (Date.now() - seen < FORGOTTEN_MS) continue;
    indexedDB.deleteDatabase(`servent-${old}`);
    delete tabs[old];
  }
  tabs[id] = Date.now();
  storage.setItem(TABS, JSON.stringify(tabs));
}

/**
 * A browser that duplicates a tab gives both the same servent. The newer one goes on
 * with it: the older one is told so, and has stopped when this returns.
 * @param {string} id @param {() => void} stop what an older tab does
 */
async function takeOver(id, stop) {
  if (!('BroadcastChannel' in window)) return;
  const channel = new BroadcastChannel(`servent-${id}`);
  const mine = [Date.now(), Math.random()];
  const isNewer = (/** @type {number[]} */ [at, dice]) => at > mine[0] || (at === mine[0] && dice > mine[1]);
  await new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      if (data === 'gone') return resolve(null);
      if (!isNewer(data)) return channel.postMessage(mine);
      stop();
      channel.postMessage('gone');
      return channel.close();
    };
    channel.postMessage(mine);
    setTimeout(resolve, ANSWER_MS);
  });
}

/** The door of this tab: another tab is another servent. @param {() => void} stop what is done when a duplicate of this tab goes on with its servent @returns {Promise<Kept|Held>} */
export async function openDoor(stop) {
  try {
    const before = sessionStorage.getItem('servent.tab');
    const id = before ?? String(crypto.getRandomValues(new BigUint64Array(1))[0]);
    sessionStorage.setItem('servent.tab', id);
    const alone = takeOver(id, stop);
    // Nobody else has an id that was drawn just now.
    if (before) await alone;
    sweep(localStorage, id);
    const opening = indexedDB.open(`servent-${id}`, 1);
    opening.onupgradeneeded = () => { for (const name of STORES) opening.result.createObjectStore(name); };
    return new Kept(await answered(opening));
  } catch {
    return new Held();
  }
}
