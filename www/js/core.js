/** The core in WebAssembly: a module for each view, loaded when the view is opened. */

/** How often each was loaded: a fresh instance needs an address of its own. */
const loads = /** @type {Map<string, number>} */ (new Map());

/**
 * Loads the module of a view; after a panic again, as a fresh instance.
 * @param {string} view
 * @returns {Promise<any>} its bindings, ready
 */
export async function load(view) {
  const again = loads.get(view) ?? 0;
  loads.set(view, again + 1);
  const { SERVENT_MODULES: bindings, SERVENT_WASM: packed } = /** @type {any} */ (globalThis);
  const url = new URL(`pkg/servent_${view}.js`, document.baseURI);
  if (again > 0) url.searchParams.set('again', String(again));
  // The built page has the first bindings in its script, each as a function.
  // The single file has the module of all views inside, because a page from
  // `file://` may fetch nothing.
  const ready = bindings?.[view] ?? bindings?.all;
  const glue = ready ? ready() : await import(url.href);
  const wasm = packed ? await inflate(packed) : new URL(`pkg/servent_${view}_bg.wasm`, document.baseURI);
  await glue.default({ module_or_path: wasm });
  return glue;
}

/** @param {string} base64 of something compressed */
async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}
