// How long a browser takes from navigation to the first picture, nothing cached.
// Arguments: the folder of the page's tests, the browser, how many times.
// Prints a list of milliseconds.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [tests, name, times] = process.argv.slice(2);
const { firstPicture, start } = await import(pathToFileURL(path.join(tests, 'browser.js')).href);
const started = await start(name);
try {
  const took = [];
  for (let i = 0; i < Number(times); i += 1) took.push(await firstPicture(started));
  console.log(JSON.stringify(took));
} finally {
  await started.close();
}
