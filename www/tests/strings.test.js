/** Every event of every story has a sentence, and every clause an explanation. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { reason, tell } from '../js/strings.js';
import { PAGE } from './serve.js';

/** @type {any} */
let Lab;
before(async () => {
  const pkg = path.join(PAGE, 'pkg');
  const glue = await import(pathToFileURL(path.join(pkg, 'servent_web.js')).href);
  await glue.default({ module_or_path: await readFile(path.join(pkg, 'servent_web_bg.wasm')) });
  ({ Lab } = glue);
});

test('every event of every story reads as a sentence', () => {
  for (const { id, scenario } of JSON.parse(Lab.presets())) {
    const lab = Lab.fromScenario(JSON.stringify(scenario));
    lab.seek(lab.horizon());
    assert.ok(lab.count() > 50, id);
    for (const record of JSON.parse(lab.records(0, lab.count(), ''))) {
      const sentence = tell(record);
      assert.match(sentence, /^\S.*[.]$/, JSON.stringify(record));
      assert.doesNotMatch(sentence, /undefined|NaN|null|\[object|_/, JSON.stringify(record));
    }
    lab.free();
  }
});

test('every event that obeys a clause is explained', () => {
  const silent = new Set();
  for (const { scenario } of JSON.parse(Lab.presets())) {
    const lab = Lab.fromScenario(JSON.stringify(scenario));
    lab.seek(lab.horizon());
    for (let i = 0; i < lab.count(); i += 1) {
      const why = JSON.parse(lab.why(i));
      if (why.clause && !reason(why.key, why.args)) silent.add(why.key);
    }
    lab.free();
  }
  assert.deepEqual([...silent], []);
});
