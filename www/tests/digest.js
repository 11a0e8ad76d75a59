/**
 * Runs every story to its end and prints its fingerprint, one line each:
 * `<id> <digest>`. `ENGINE` says where the core runs: node, chromium, firefox.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { start } from './browser.js';
import { PAGE } from './serve.js';

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

/** @param {string} engine @returns {Promise<string[]>} */
export async function digests(engine) {
  if (engine === 'node') {
    const pkg = path.join(PAGE, 'pkg');
    const glue = await import(pathToFileURL(path.join(pkg, 'servent_web.js')).href);
    await glue.default({ module_or_path: await readFile(path.join(pkg, 'servent_web_bg.wasm')) });
    return run(glue.Lab);
  }
  const { browser, server, close } = await start(/** @type {'chromium'|'firefox'} */ (engine));
  try {
    const page = await browser.newPage();
    // The page's own core, without the page: any file of the same origin will do.
    await page.goto(`${server.url}pkg/servent_web.js`);
    return await page.evaluate(async (/** @type {string} */ source) => {
      const glue = await import('/pkg/servent_web.js');
      await glue.default({ module_or_path: '/pkg/servent_web_bg.wasm' });
      return new Function(`return (${source})`)()(glue.Lab);
    }, run.toString());
  } finally {
    await close();
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log((await digests(process.env.ENGINE ?? 'node')).join('\n'));
}
