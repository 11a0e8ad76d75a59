/** Every event of every story has a sentence, and every clause an explanation. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { known, reason, tell } from '../js/strings.js';
import { PAGE, WWW } from './serve.js';

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

/** Kinds of events as the core declares them, by area. */
const DECLARED = /** @type {const} */ ([
  ['queue', 'queue/event.rs', 'Event'], ['conn', 'node/event.rs', 'ConnEvent'], ['fetch', 'fetch/event.rs', 'Event'], ['world', 'sim/event.rs', 'WorldEvent'],
]);

/** The variants of an enum, as JSON names them. @param {string} source @param {string} name */
function variants(source, name) {
  const body = new RegExp(`pub enum ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1] ?? '';
  return [...body.matchAll(/^ {4}([A-Z]\w*)/gm)].map(([, variant]) => variant.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase());
}

/** @param {string} file */
const core = (file) => readFile(path.join(WWW, '..', 'core', 'src', file), 'utf8');

test('every kind of event the core declares has a sentence', async () => {
  for (const [area, file, name] of DECLARED) {
    const kinds = variants(await core(file), name);
    assert.ok(kinds.length >= 8, `${area}: ${kinds}`);
    assert.deepEqual(kinds.filter((kind) => !known(`${area}.${kind}`)), [], area);
  }
});

test('every reason the core declares reads as words', async () => {
  const reasons = /** @type {const} */ ([
    ['queue/event.rs', 'Loss', 'queue', 'lost'], ['queue/event.rs', 'Refusal', 'queue', 'refused'], ['node/io.rs', 'DialError', 'conn', 'dial_failed'],
    ['fetch/event.rs', 'SourceTrouble', 'fetch', 'source_lost'], ['fetch/event.rs', 'FetchFailure', 'fetch', 'failed'],
  ]);
  for (const [file, name, area, what] of reasons) {
    const kinds = variants(await core(file), name);
    assert.ok(kinds.length > 2, name);
    for (const why of kinds) {
      const sentence = tell(/** @type {any} */ ({ event: { [area]: { what, why } }, node_name: 'ada', who: 'bob' }));
      assert.match(sentence, /^(ada|bob) .+ .+\.$/);
      assert.ok(!new RegExp(`[ :]${why}\\.$`).test(sentence) || ['busy'].includes(why), `${name}.${why}: ${sentence}`);
    }
  }
});
