// How long seeks take in a browser: in a world given as a file, or in a story.
// Arguments: the folder of the page's tests, the browser, the view, the file or
// the story, how many. Prints a list of milliseconds.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** All that happens is found out first; a slow machine may take so many milliseconds. */
const PATIENCE = 240_000;

const [tests, name, view, world, times] = process.argv.slice(2);
const { open, start } = await import(pathToFileURL(path.join(tests, 'browser.js')).href);
const started = await start(name);
try {
  const { page } = await open(started, `#1/${view}?p=${view === 'queue' ? 'one-cut-wire' : 'ring'}`);
  const scenario = existsSync(world) ? JSON.parse(readFileSync(world, 'utf8')) : null;
  await page.evaluate((given, story) => {
    const { session } = document.querySelector('servent-lab');
    session.pause();
    globalThis.measured = session.view.fromScenario(given ?? session.view.presets().find((one) => one.id === story).scenario);
  }, scenario, world);
  await page.waitForFunction(() => globalThis.measured.explore(200), { polling: 1, timeout: PATIENCE });
  const took = await page.evaluate((count) => {
    const { horizon, raw } = globalThis.measured;
    const times = [];
    // Evenly spread and far from each other: 0.618… visits everywhere.
    for (let i = 0, at = 0; i < count; i += 1) {
      at = (at + 0.6180339887) % 1;
      const begun = performance.now();
      raw.seek(Math.floor(at * horizon));
      times.push(performance.now() - begun);
    }
    return times;
  }, Number(times));
  console.log(JSON.stringify(took));
} finally {
  await started.close();
}
