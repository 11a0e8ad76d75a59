/**
 * Test files in one process, one after the other, so that they share a browser:
 * `node tests/line.js FILE...`.
 */
import path from 'node:path';
import { test } from 'node:test';
import { endAll } from './program.js';
import { end, keep } from './tab.js';

keep();
for (const file of process.argv.slice(2)) await import(path.resolve(file));
test('the browser ends, and what a failed test left running', async () => {
  endAll();
  await end();
});
