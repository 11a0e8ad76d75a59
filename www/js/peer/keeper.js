/**
 * Beside the page, where long work does not disturb its user: keeps the pieces of
 * downloads and hashes them as they come. They are files of the browser's own
 * where it gives such (not in a page of a plain `http://192.168…`, nor in some
 * private windows), else blobs in the database of the tab, else in memory. A
 * worker knows no import map: it is told where the core is.
 */
export {};

/** Bytes read back at a time. */
const STEP = 1 << 20;
/** A page that was loaded again waits that long for its files, which the one before it still had, in milliseconds. */
const [LOCKED_MS, LOOK_MS] = [5000, 50];

/** @typedef {{put: (part: number, start: number, bytes: Uint8Array<ArrayBuffer>[]) => Promise<unknown>, reader: (part: number, size: number) => Promise<(at: number, end: number) => Promise<Uint8Array>|Uint8Array>, file: (part: number, size: number) => Promise<Blob>, forget: (part: number) => Promise<unknown>}} Way */

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const answered = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

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

/** Reads a blob. @param {Blob} blob */
const readerOf = (blob) => async (/** @type {number} */ at, /** @type {number} */ end) => new Uint8Array(await blob.slice(at, end).arrayBuffer());

/** A file for each download. @implements {Way} */
class Files {
  /** Those that are written. @type {Map<number, any>} */ #open = new Map();
  /** A reader may still hold them: they are deleted when the page is loaded the next time. */
  #lent = new Set();

  /** @param {any} folder */
  constructor(folder) { this.folder = folder; }

  /** Those of a tab; null where the browser gives none. @param {string} name */
  static async of(name) {
    try {
      if (!('createSyncAccessHandle' in /** @type {any} */ (globalThis).FileSystemFileHandle.prototype)) return null;
      return new Files(await (await navigator.storage.getDirectory()).getDirectoryHandle(name, { create: true }));
    } catch {
      return null;
    }
  }

  /** Deletes all but these. @param {number[]} parts */
  async only(parts) {
    const wanted = new Set(parts.map(String));
    for await (const name of this.folder.keys()) if (!wanted.has(name)) await this.folder.removeEntry(name).catch(() => {});
  }

  /** @param {number} part */
  async #written(part) {
    const known = this.#open.get(part);
    if (known) return known;
    const file = await this.folder.getFileHandle(String(part), { create: true });
    for (const until = performance.now() + LOCKED_MS; ;) {
      try {
        const handle = await file.createSyncAccessHandle();
        this.#open.set(part, handle);
        return handle;
      } catch (why) {
        if (/** @type {any} */ (why).name !== 'NoModificationAllowedError' || performance.now() > until) throw why;
        await new Promise((next) => setTimeout(next, LOOK_MS));
      }
    }
  }

  #close(/** @type {number} */ part) {
    this.#open.get(part)?.close();
    this.#open.delete(part);
  }

  /** @param {number} part @param {number} start @param {Uint8Array<ArrayBuffer>[]} bytes */
  async put(part, start, bytes) {
    const file = await this.#written(part);
    let at = start;
    for (const piece of bytes) {
      if (file.write(piece, { at }) !== piece.length) throw new Error('the storage is full');
      at += piece.length;
    }
  }

  /** @param {number} part @param {number} size */
  async reader(part, size) {
    const file = await this.#written(part);
    if (file.getSize() < size) throw new Error('the end is missing');
    return (/** @type {number} */ at, /** @type {number} */ end) => {
      const bytes = new Uint8Array(end - at);
      if (file.read(bytes, { at }) !== bytes.length) throw new Error('the end is missing');
      return bytes;
    };
  }

  /** @param {number} part @param {number} size */
  async file(part, size) {
    this.#close(part);
    const file = await (await this.folder.getFileHandle(String(part))).getFile();
    if (file.size < size) throw new Error('the end is missing');
    this.#lent.add(part);
    return file.slice(0, size);
  }

  /** @param {number} part */
  async forget(part) {
    this.#close(part);
    if (!this.#lent.has(part)) await this.folder.removeEntry(String(part));
  }
}

/** Blobs in the database of the tab. @implements {Way} */
class Rows {
  /** @param {IDBDatabase} db */
  constructor(db) { this.db = db; }

  /** All pieces of a download. @param {number} part */
  #range(part) { return IDBKeyRange.bound([part, 0], [part, Number.MAX_VALUE]); }
  #store(/** @type {IDBTransactionMode} */ mode) { return this.db.transaction('pieces', mode).objectStore('pieces'); }
  /** @param {number} part */
  async has(part) { return await answered(this.#store('readonly').count(this.#range(part))) > 0; }

  /** @param {(store: IDBObjectStore) => void} act @returns {Promise<void>} */
  #write(act) {
    return new Promise((resolve, reject) => {
      const store = this.#store('readwrite');
      store.transaction.oncomplete = () => resolve();
      store.transaction.onerror = store.transaction.onabort = () => reject(store.transaction.error ?? new Error('nothing was saved'));
      act(store);
    });
  }

  /** @param {number} part @param {number} start @param {Uint8Array<ArrayBuffer>[]} bytes */
  put(part, start, bytes) { return this.#write((store) => store.put(new Blob(bytes), [part, start])); }
  /** @param {number} part @param {number} size */
  async file(part, size) {
    const store = this.#store('readonly');
    const [keys, pieces] = await Promise.all([answered(store.getAllKeys(this.#range(part))), answered(store.getAll(this.#range(part)))]);
    return whole(keys.map((key, n) => [/** @type {number[]} */ (key)[1], pieces[n]]), size);
  }
  /** @param {number} part @param {number} size */
  async reader(part, size) { return readerOf(await this.file(part, size)); }
  /** @param {number} part */
  forget(part) { return this.#write((store) => store.delete(this.#range(part))); }
}

/** In memory: gone with the page. @implements {Way} */
class Memory {
  /** @type {Map<number, [number, Blob][]>} */ #pieces = new Map();

  /** @param {number} part @param {number} start @param {Uint8Array<ArrayBuffer>[]} bytes */
  async put(part, start, bytes) { this.#pieces.set(part, [...this.#pieces.get(part) ?? [], [start, new Blob(bytes)]]); }
  /** @param {number} part @param {number} size */
  async file(part, size) { return whole([...this.#pieces.get(part) ?? []], size); }
  /** @param {number} part @param {number} size */
  async reader(part, size) { return readerOf(await this.file(part, size)); }
  /** @param {number} part */
  async forget(part) { this.#pieces.delete(part); }
}

/** @type {any} */ let core = null;
/** @type {Files|null} */ let files = null;
/** @type {Rows|null} */ let rows = null;
const memory = new Memory();
/** Where each download is: one that was begun in the database goes on there. @type {Map<number, Promise<Way>>} */
const ways = new Map();
/** What is hashed of downloads that come from their first byte on. @type {Map<number, {hash: any, upto: number}>} */
const begun = new Map();

/** @param {number} part @returns {Promise<Way>} */
function wayOf(part) {
  const found = ways.get(part) ?? (async () => (files && !await rows?.has(part) ? files : rows ?? memory))();
  ways.set(part, found);
  return found;
}

/**
 * Hashes the next bytes. What came before others are there is read again at the
 * end, and all of it when something comes twice.
 * @param {number} part @param {number} start @param {Uint8Array[]} bytes
 */
function takeIn(part, start, bytes) {
  if (start === 0) begun.set(part, { hash: new core.FileHash(), upto: 0 });
  const known = begun.get(part);
  if (!known || start > known.upto) return;
  if (start < known.upto) return void begun.delete(part);
  for (const piece of bytes) {
    known.hash.add(piece);
    known.upto += piece.length;
  }
}

/** The SHA-1 of what is read. @param {(at: number, end: number) => Promise<Uint8Array>|Uint8Array} read @param {number} size */
async function hashed(read, size, { hash, upto } = { hash: new core.FileHash(), upto: 0 }) {
  for (let at = upto; at < size; at += STEP) hash.add(await read(at, Math.min(size, at + STEP)));
  return hash.finish();
}

const acts = /** @type {Record<string, (...args: any[]) => any>} */ ({
  async start(/** @type {{module: WebAssembly.Module, at: string, name: string|null, parts: number[]}} */ { module, at, name, parts }) {
    core = await import(at);
    await core.default({ module_or_path: module });
    if (!name) return;
    [files, rows] = await Promise.all([Files.of(name), answered(indexedDB.open(name)).then((db) => new Rows(db))]);
    await files?.only(parts);
  },
  async put(/** @type {number} */ part, /** @type {number} */ start, /** @type {Uint8Array<ArrayBuffer>[]} */ bytes) {
    const way = await wayOf(part);
    const kept = way.put(part, start, bytes);
    takeIn(part, start, bytes);
    // The next piece need not wait until this one is there.
    return way === files ? kept : { kept };
  },
  async digest(/** @type {number} */ part, /** @type {number} */ size) {
    const read = await (await wayOf(part)).reader(part, size);
    const known = begun.get(part);
    begun.delete(part);
    return hashed(read, size, known);
  },
  hash: (/** @type {Blob} */ file) => hashed(readerOf(file), file.size),
  async file(/** @type {number} */ part, /** @type {number} */ size) { return (await wayOf(part)).file(part, size); },
  async forget(/** @type {number} */ part) {
    const way = await wayOf(part);
    ways.delete(part);
    begun.delete(part);
    await way.forget(part);
  },
});

/** @type {Promise<unknown>} */ let ready = Promise.resolve();
/** What has an order; the rest only waits until there is a core. @type {Promise<unknown>} */
let turn = Promise.resolve();
const ORDERED = new Set(['start', 'put', 'file', 'forget']);
addEventListener('message', ({ data: { id, act, args } }) => {
  const done = (ORDERED.has(act) ? turn : ready).then(() => acts[act](...args));
  if (act === 'start') ready = done;
  if (ORDERED.has(act)) turn = done.catch(() => {});
  done.then((answer) => answer?.kept ?? answer).then((value) => postMessage({ id, value }), (why) => postMessage({ id, why: String(why?.message ?? why) }));
});
