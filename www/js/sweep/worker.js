/**
 * Runs worlds beside the page. A worker knows no import map, and in the single
 * file there are no addresses beside its own: it is told where everything is.
 */
/** @type {any} */ let core = null;
/** @type {any} */ let count = null;

addEventListener('message', async ({ data }) => {
  try {
    if (data.wasm) {
      [core, count] = await Promise.all([import(data.core), import(data.count)]);
      await core.default({ module_or_path: data.wasm });
      return postMessage({ ready: true });
    }
    const { view, scenario, id } = data;
    const run = count.counted(core, view, scenario);
    let step = run.next();
    while (!step.done) step = run.next();
    return postMessage({ id, figures: step.value });
  } catch (why) {
    // After a panic nothing of the instance may be used any more.
    if (why instanceof Error && (why.name === 'Panic' || why instanceof WebAssembly.RuntimeError)) core?.__wbg_reset_state();
    return postMessage({ id: data.id, why: why instanceof Error ? why.message : String(why) });
  }
});
