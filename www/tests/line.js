/**
 * Test files in one process, one after the other, so that they share a browser:
 * `node tests/line.js FILE...`. With `DEALT` it goes on with files of the list of
 * that name, one line each, as long as no other process has begun them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { endAll } from './program.js';
import { end, keep } from './tab.js';

const LIST = process.env.DEALT;

/** The next file that no browser has begun; now we have. @returns {string|undefined} */
function dealt() {
  const files = LIST ? readFileSync(LIST, 'utf8').split('\n').filter(Boolean) : [];
  return files.find((file, n) => {
    try {
      writeFileSync(`${LIST}.${n}`, `${process.env.BROWSERS}\n`, { flag: 'wx' });
      return true;
    } catch (error) {
      if (/** @type {any} */ (error).code === 'EEXIST') return false;
      throw error;
    }
  });
}

keep();
for (const file of process.argv.slice(2)) await import(path.resolve(file));
// A file is taken when all before it have ended, within a test that waits until
// the tests of the file are known: without a test left to run, the process ends.
/** @type {() => void} */
let known = () => {};
for (;;) {
  const before = known;
  /** @type {Promise<string|undefined>} */
  const taken = new Promise((take) => {
    test('the next file', () => new Promise((done) => {
      known = () => done(undefined);
      take(dealt());
    }));
  });
  before();
  const file = await taken;
  if (!file) break;
  await import(path.resolve(file));
}
test('the browser ends, and what a failed test left running', async () => {
  endAll();
  await end();
});
known();
