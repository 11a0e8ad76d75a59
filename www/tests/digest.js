/**
 * Runs every story to its end and prints its fingerprint, one line each:
 * `<id> <digest>`. `ENGINE` says where the core runs: node, chromium, firefox.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { start } from './browser.js';
import { WWW } from './serve.js';

/**
 * Runs inside a browser as well, so it uses nothing of this file.
 * @param {any} core
 * @returns {string[]}
 */
function run(core) {
  // Examples are no part of it.
  const protocols = core.World.protocols().filter((/** @type {string} */ name) => name !== 'echo');
  return protocols.flatMap((/** @type {string} */ name) => core.World.presets(name).map((/** @type {any} */ { id, scenario }) => {
    const world = core.World.fromScenario(name, scenario);
    const run = world.run();
    run.seek(run.horizon());
    const line = `${id} ${run.digest()}`;
    run.free();
    world.free();
    return line;
  }));
}

/** The module, ready, in Node. @returns {Promise<import('#servent')>} */
export async function inNode() {
  const core = await import('#servent');
  await core.default({ module_or_path: await readFile(path.join(WWW, 'pkg/servent_bg.wasm')) });
  return core;
}

/** @param {string} engine @returns {Promise<string[]>} */
async function digests(engine) {
  if (engine === 'node') return run(await inNode());
  const { browser, server, close } = await start(/** @type {'chromium'|'firefox'} */ (engine));
  try {
    const page = await browser.newPage();
    // The page's own core, without the page: any file of the same origin will do.
    await page.goto(`${server.url}pkg/servent.js`);
    return await page.evaluate(async (/** @type {string} */ source) => {
      const core = await import(/** @type {any} */ ('/pkg/servent.js'));
      await core.default({ module_or_path: '/pkg/servent_bg.wasm' });
      return new Function(`return (${source})`)()(core);
    }, run.toString());
  } finally {
    await close();
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log((await digests(process.env.ENGINE ?? 'node')).join('\n'));
}
