/**
 * What a servent in the page keeps across a reload: rows of text, shared files,
 * and, by a worker, pieces of downloads. Where the browser gives no storage,
 * memory does, with a limit that is known before a download begins.
 */
import { compiled } from '#lab/core.js';

/** Bytes that one download may have in memory. */
const MEMORY = 256 << 20;
/** A tab that was not seen for so long is forgotten, in milliseconds. */
const FORGOTTEN_MS = 24 * 3600 * 1000;
const TABS = 'servent.tabs';
/** A tab whose servent another one takes over answers within this, in milliseconds; no other tab does. */
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

/** What is the same with storage and without: pieces of downloads, and what the servent tells. */
class Door {
  changed = () => {};
  /** @param {string} _what @param {string} _words */
  said = (_what, _words) => {};
  /** Another tab goes on with this servent: nothing is written here any more. */
  moved = false;
  #keeper = new Worker(import.meta.resolve('#lab/peer/keeper.js'), { type: 'module' });
  /** @type {Map<number, {resolve: (value: any) => void, reject: (why: Error) => void}>} */ #asked = new Map();
  #asks = 0;

  /** @param {string|null} name of what it keeps @param {number[]} parts downloads that are known; others are deleted */
  constructor(name, parts) {
    this.#keeper.onmessage = ({ data: { id, value, why } }) => {
      const asked = this.#asked.get(id);
      this.#asked.delete(id);
      why === undefined ? asked?.resolve(value) : asked?.reject(new Error(why));
    };
    this.#keeper.onerror = ({ message }) => {
      for (const { reject } of this.#asked.values()) reject(new Error(message));
      this.#asked.clear();
    };
    this.started = compiled().then((module) => this.#ask('start', [{ module, at: import.meta.resolve('#servent'), name, parts }]));
  }

  /** @param {string} act @param {unknown[]} args @param {ArrayBuffer[]} [taken] @returns {Promise<any>} */
  #ask(act, args, taken = []) {
    return new Promise((resolve, reject) => {
      const id = this.#asks++;
      this.#asked.set(id, { resolve, reject });
      this.#keeper.postMessage({ id, act, args }, taken);
    });
  }

  /** What it is given is gone from here. @param {number} part @param {number} start @param {Uint8Array<ArrayBuffer>[]} bytes */
  put(part, start, bytes) {
    // What came in one message may be of two ranges.
    const whole = bytes.map((piece) => (piece.length === piece.buffer.byteLength ? piece : piece.slice()));
    return this.#ask('put', [part, start, whole], whole.map(({ buffer }) => buffer));
  }
  /** @param {number} part @param {number} size @returns {Promise<Uint8Array>} */
  digest(part, size) { return this.#ask('digest', [part, size]); }
  /** @param {Blob} file @returns {Promise<Uint8Array>} */
  hash(file) { return this.#ask('hash', [file]); }
  /** A download, whole. @param {number} part @param {number} size @returns {Promise<Blob>} */
  file(part, size) { return this.#ask('file', [part, size]); }
  /** @param {number} part */
  forget(part) { this.#ask('forget', [part]).catch(() => {}); }
  /** Nothing is written here any more. */
  leave() {
    this.moved = true;
    this.#keeper.terminate();
  }
  turned() { this.changed(); }
  /** The host of the room says something; heard once the servent is done with it, as it may be asked to do more. @param {string} what @param {string} words */
  told(what, words) { queueMicrotask(() => this.said(what, words)); }
}

/** In the browser's storage. */
class Kept extends Door {
  /** @param {IDBDatabase} db @param {[string, string][]} rows */
  constructor(db, rows) {
    super(db.name, partsOf(rows));
    this.db = db;
    this.rows = rows;
  }

  /** @param {'rows'|'files'} store @param {(store: IDBObjectStore) => void} act @returns {Promise<void>} */
  #write(store, act) {
    if (this.moved) return Promise.resolve();
    const work = this.db.transaction(store, 'readwrite');
    act(work.objectStore(store));
    return done(work);
  }

  files() { return all(this.db, 'files'); }
  /** @param {[string, string|null][]} rows */
  save(rows) { return this.#write('rows', (store) => { for (const [key, text] of rows) text === null ? store.delete(key) : store.put(text, key); }); }
  /** @param {number} index @param {File} [file] */
  keep(index, file) { this.#write('files', (store) => (file ? store.put(file, index) : store.delete(index))).catch(() => {}); }
  /** Everything is deleted, and this tab is another servent when it is loaded again. */
  async erase() {
    this.leave();
    this.db.close();
    sessionStorage.removeItem('servent.tab');
    await erased(this.db.name);
  }
  room() { return Number.MAX_VALUE; }
}

/** In memory: gone with the page. */
class Held extends Door {
  rows = /** @type {[string, string][]} */ ([]);
  constructor() { super(null, []); }
  async files() { return []; }
  async save() {}
  keep() {}
  async erase() { this.leave(); }
  room() { return MEMORY; }
}

/** Everything in a store. @param {IDBDatabase} db @param {'rows'|'files'} store @returns {Promise<[any, any][]>} */
async function all(db, store) {
  const from = db.transaction(store).objectStore(store);
  const [keys, values] = await Promise.all([answered(from.getAllKeys()), answered(from.getAll())]);
  return keys.map((key, i) => [key, values[i]]);
}

/** The numbers of the downloads that rows tell of: see `disk` of the servent. @param {[string, string][]} rows */
const partsOf = (rows) => rows.filter(([key]) => /^(part|done)\//.test(key)).map(([, text]) => Number(/"part":(\d+)/.exec(text)?.[1]));

/** Deletes what a tab has kept. @param {string} name */
async function erased(name) {
  await new Promise((resolve) => {
    const gone = indexedDB.deleteDatabase(name);
    gone.onsuccess = gone.onerror = gone.onblocked = resolve;
  });
  // Where there are such files.
  await navigator.storage?.getDirectory?.().then((root) => root.removeEntry(name, { recursive: true })).catch(() => {});
}

/** Deletes what tabs have left that were not opened for a day. @param {Storage} storage @param {string} id */
function sweep(storage, id) {
  const tabs = /** @type {Record<string, number>} */ (JSON.parse(storage.getItem(TABS) ?? '{}'));
  for (const [old, seen] of Object.entries(tabs)) {
    if (Date.now() - seen < FORGOTTEN_MS) continue;
    erased(`servent-${old}`);
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
    // No other tab has an id that was drawn just now.
    if (before) await alone;
    sweep(localStorage, id);
    const opening = indexedDB.open(`servent-${id}`, 1);
    opening.onupgradeneeded = () => { for (const name of STORES) opening.result.createObjectStore(name); };
    const db = await answered(opening);
    const door = new Kept(db, await all(db, 'rows'));
    await door.started;
    return door;
  } catch {
    const door = new Held();
    await door.started;
    return door;
  }
}
