// How long a browser takes to show the single file from the disk.
// Arguments: the folder of the page's tests, the browser, the file, how many times.
// Prints a list of milliseconds.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [tests, name, file, times] = process.argv.slice(2);
const { firstPicture, start } = await import(pathToFileURL(path.join(tests, 'browser.js')).href);
const { browser, close } = await start(name);
try {
  const took = [];
  for (let i = 0; i < Number(times); i += 1) took.push(await firstPicture({ browser, server: { url: pathToFileURL(file).href } }));
  console.log(JSON.stringify(took));
} finally {
  await close();
}
