/** The core: one WebAssembly module for every view, loaded once. */
import init, * as core from '#servent';

/** @type {Promise<unknown>|null} */
let loading = null;

/** Loads the module; what is imported from `#servent` works from then on. */
export async function load() {
  loading ??= init({ module_or_path: carried() ?? new URL('pkg/servent_bg.wasm', document.baseURI) });
  try {
    await loading;
  } catch (why) {
    loading = null;
    throw why;
  }
}

/** The module in the single file: a page from `file://` may fetch nothing beside it. */
function carried() {
  const base64 = document.getElementById('servent-wasm')?.textContent;
  return base64 && fetch(`data:application/wasm;base64,${base64}`);
}

/** The module's bytes, for whoever runs it beside the page. */
export const bytesOf = async () => (await (carried() || fetch(new URL('pkg/servent_bg.wasm', document.baseURI)))).arrayBuffer();

/** After a panic: a fresh instance. Nothing that was made before may be used any more. */
export const restart = () => core.__wbg_reset_state();

/** True for what ends an instance of the module. @param {unknown} error @returns {error is Error} */
export const isPanic = (error) => error instanceof WebAssembly.RuntimeError || (error instanceof Error && error.name === 'Panic');
