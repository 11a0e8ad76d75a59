/** The core: one WebAssembly module for every view, loaded once. */
import init, * as core from '#servent';

/** @type {Promise<unknown>|null} */
let loading = null;
/** @type {Promise<WebAssembly.Module>|null} */
let compiling = null;

/** Loads the module; what is imported from `#servent` works from then on. */
export async function load() {
  loading ??= compiled().then((module) => init({ module_or_path: module }));
  try {
    await loading;
  } catch (why) {
    loading = compiling = null;
    throw why;
  }
}

/** The module, compiled once: for the page, and for a worker of the same origin. */
export const compiled = () => (compiling ??= WebAssembly.compileStreaming(carried() || fetch(where()))
  // A server may not say what type it is.
  .catch(async () => WebAssembly.compile(await bytesOf())));

const where = () => new URL('pkg/servent_bg.wasm', document.baseURI);

/** The module in the single file: a page from `file://` may fetch nothing beside it. */
function carried() {
  const base64 = document.getElementById('servent-wasm')?.textContent;
  return base64 && fetch(`data:application/wasm;base64,${base64}`);
}

/** The module's bytes, for code that runs it beside the page. */
export const bytesOf = async () => (await (carried() || fetch(where()))).arrayBuffer();

/**
 * The world of a scenario as the class of its protocol, which answers its view's questions; the world itself for a protocol that has none.
 * @param {string} protocol @param {any} scenario @param {import('./types').Checkpoint|null} [claim] that of a file
 * @returns {any}
 */
export function worldOf(protocol, scenario, claim) {
  const world = claim === undefined ? core.World.fromScenario(protocol, scenario) : core.World.fromWorld(protocol, scenario, claim);
  const own = /** @type {any} */ (world)[protocol];
  if (!own) return world;
  const source = own.call(world);
  world.free();
  return source;
}

/** After a panic: a fresh instance. Nothing that was made before may be used any more. */
export const restart = () => core.__wbg_reset_state();

/** True for what ends an instance of the module. @param {unknown} error @returns {error is Error} */
export const isPanic = (error) => error instanceof WebAssembly.RuntimeError || (error instanceof Error && error.name === 'Panic');
