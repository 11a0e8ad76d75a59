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
 * @param {any} Lab
 * @returns {string[]}
 */
export function run(Lab) {
  return JSON.parse(Lab.presets()).map((/** @type {any} */ { id, scenario }) => {
    const lab = Lab.fromScenario(JSON.stringify(scenario));
    lab.seek(lab.horizon());
    const line = `${id} ${lab.digest()}`;
    lab.free();
    return line;
  });
}

/** The class of a module that has stories. @param {any} glue */
export const told = (glue) => Object.values(glue).find((/** @type {any} */ one) => one?.presets);

/** @param {string} engine @param {string} [view] whose module @returns {Promise<string[]>} */
export async function digests(engine, view = 'queue') {
  if (engine === 'node') {
    const pkg = path.join(WWW, 'pkg');
    const glue = await import(pathToFileURL(path.join(pkg, `servent_${view}.js`)).href);
    await glue.default({ module_or_path: await readFile(path.join(pkg, `servent_${view}_bg.wasm`)) });
    return run(told(glue));
  }
  const { browser, server, close } = await start(/** @type {'chromium'|'firefox'} */ (engine), { pkg: path.join(WWW, 'pkg') });
  try {
    const page = await browser.newPage();
    // The page's own core, without the page: any file of the same origin will do.
    await page.goto(`${server.url}pkg/servent_${view}.js`);
    return await page.evaluate(async (/** @type {string} */ source, /** @type {string} */ of) => {
      const glue = await import(`/pkg/servent_${of}.js`);
      await glue.default({ module_or_path: `/pkg/servent_${of}_bg.wasm` });
      return new Function(`return (${source})`)()(Object.values(glue).find((/** @type {any} */ one) => one?.presets));
    }, run.toString(), view);
  } finally {
    await close();
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const engine = process.env.ENGINE ?? 'node';
  for (const view of ['queue', 'ladder', 'map', 'matrix']) console.log((await digests(engine, view)).join('\n'));
}
