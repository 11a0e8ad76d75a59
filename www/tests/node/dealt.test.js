/** Files that are run in one browser, whichever is free, say nothing of a certain one. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WWW } from '../serve.js';

for (const folder of ['page', 'class']) {
  test(`no file of ${folder} needs a certain browser`, () => {
    const place = path.join(WWW, 'tests', folder);
    for (const file of readdirSync(place)) assert.doesNotMatch(readFileSync(path.join(place, file), 'utf8'), /'(chromium|firefox)'/, file);
  });
}
