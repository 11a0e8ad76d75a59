// How long a browser takes to open the trace of the largest story.
// Arguments: the folder of the page's tests, the browser.
// Prints `{events, seconds, told}`: how often it was said how far it is.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** What a slow machine may take, in milliseconds. */
const PATIENCE = 120_000;

const [tests, name] = process.argv.slice(2);
const { open, start } = await import(pathToFileURL(path.join(tests, 'browser.js')).href);
const { inNode } = await import(pathToFileURL(path.join(tests, 'digest.js')).href);
const { Routing } = await inNode();
const run = Routing.fromScenario(Routing.presets().find((one) => one.id === 'ten-thousand').scenario).run();
run.seek(run.horizon());
const [events, file] = [run.count(), Buffer.from(run.exportSqlog())];
const extra = ({ url }, res) => {
  if (url !== '/large.sqlog') return false;
  res.writeHead(200, { 'content-length': file.length }).end(file);
  return true;
};
const started = await start(name, { extra });
try {
  const { page } = await open(started, '#1/routing?p=ring');
  await page.evaluate(() => {
    const { session } = document.querySelector('servent-lab');
    const before = session.run;
    let told = 0;
    session.addEventListener('notice', ({ detail }) => { told += detail.stop ? 1 : 0; });
    const begun = performance.now();
    session.addEventListener('run', () => {
      if (session.run && session.run !== before) globalThis.opened ??= { seconds: (performance.now() - begun) / 1000, told };
    });
    location.hash = '#trace=large.sqlog';
  });
  const found = await (await page.waitForFunction(() => globalThis.opened, { timeout: PATIENCE })).jsonValue();
  console.log(JSON.stringify({ events, ...found }));
} finally {
  await started.close();
}
