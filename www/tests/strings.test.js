/** Every event of every story has a sentence, and every clause an explanation. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { ladder } from '../js/strings/ladder.js';
import { map } from '../js/strings/map.js';
import { matrix } from '../js/strings/matrix.js';
import { known, reason, speak, tell } from '../js/strings.js';
import { inNode } from './digest.js';
import { WWW } from './serve.js';

for (const [name, strings] of /** @type {[string, any][]} */ ([['Lab', {}], ['Map', map], ['Ladder', ladder], ['Matrix', matrix]])) {
  describe(name, () => {
    /** @type {any} */
    let Lab;
    before(async () => {
      Lab = (await inNode())[name];
      speak(strings);
    });

    test('every event of every story reads as a sentence', () => {
      for (const { id, scenario } of JSON.parse(Lab.presets())) {
        const lab = Lab.fromScenario(JSON.stringify(scenario));
        lab.seek(lab.horizon());
        assert.ok(lab.count() > 25, id);
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
  });
}

/** Kinds of events as the core declares them, by area, with the sentences of the view they are told in. */
const DECLARED = /** @type {[string, string, string, any][]} */ ([
  ['queue', 'queue/event.rs', 'Event', {}], ['conn', 'node/event.rs', 'ConnEvent', {}], ['fetch', 'fetch/event.rs', 'Event', {}], ['world', 'sim/event.rs', 'WorldEvent', {}],
  ['unicast', 'unicast/event.rs', 'Event', ladder], ['datagram', 'sim/ladder/event.rs', 'DatagramEvent', ladder], ['app', 'sim/ladder/event.rs', 'AppEvent', ladder],
  ['world', 'sim/ladder/event.rs', 'Happening', ladder], ['node', 'node/messenger/event.rs', 'NodeEvent', ladder],
  ['message', 'sim/overlay/event.rs', 'MessageEvent', map], ['app', 'sim/overlay/event.rs', 'AppEvent', map], ['world', 'sim/overlay/event.rs', 'Happening', map], ['routing', 'routing/event.rs', 'Event', map],
  ['swarm', 'swarm/event.rs', 'Event', matrix], ['client', 'swarm/client/io.rs', 'Event', matrix], ['world', 'sim/pieces/event.rs', 'Happening', matrix],
]);

/** The variants of an enum, as JSON names them. @param {string} source @param {string} name */
function variants(source, name) {
  const body = new RegExp(`pub enum ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1] ?? '';
  return [...body.matchAll(/^ {4}([A-Z]\w*)/gm)].map(([, variant]) => variant.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase());
}

/** @param {string} file */
const core = (file) => readFile(path.join(WWW, '..', 'core', 'src', file), 'utf8');

test('every kind of event the core declares has a sentence', async () => {
  for (const [area, file, name, strings] of DECLARED) {
    const kinds = variants(await core(file), name);
    assert.ok(kinds.length >= 2, `${area}: ${kinds}`);
    speak(strings);
    assert.deepEqual(kinds.filter((kind) => !known(`${area}.${kind}`)), [], area);
  }
});

test('every rule the core can find broken in the ladder has a sentence', async () => {
  const keys = [...(await core('sim/ladder/check.rs')).matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 8, keys.join());
  speak(ladder);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every rule the core can find broken in an overlay has a sentence', async () => {
  const keys = [...(await core('sim/overlay/check.rs')).matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 8, keys.join());
  speak(map);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every rule the core can find broken in a swarm has a sentence', async () => {
  const sources = await Promise.all(['check.rs', 'check/credit.rs', 'check/slots.rs'].map((file) => core(`sim/pieces/${file}`)));
  const keys = [...sources.join('').matchAll(/violation\(\s*"\w+",\s*"(?:check\.)?(\w+)"/g)].map(([, key]) => `check.${key}`);
  assert.ok(keys.length >= 4, keys.join());
  speak(matrix);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every reason the core declares reads as words', async () => {
  const reasons = /** @type {[string, string, string, string, any][]} */ ([
    ['queue/event.rs', 'Loss', 'queue', 'lost', {}], ['queue/event.rs', 'Refusal', 'queue', 'refused', {}], ['node/io.rs', 'DialError', 'conn', 'dial_failed', {}],
    ['fetch/event.rs', 'SourceTrouble', 'fetch', 'source_lost', {}], ['fetch/event.rs', 'FetchFailure', 'fetch', 'failed', {}],
    ['unicast/event.rs', 'Why', 'unicast', 'resent', ladder], ['unicast/event.rs', 'Rejection', 'unicast', 'rejected', ladder], ['unicast/event.rs', 'Ending', 'unicast', 'closed', ladder],
    ['sim/ladder/event.rs', 'Loss', 'datagram', 'lost', ladder], ['sim/overlay/event.rs', 'Loss', 'message', 'lost', map], ['routing/io.rs', 'Why', 'message', 'judged', map], ['routing/io.rs', 'Why', 'routing', 'limit', map],
    ['swarm/event.rs', 'Pick', 'swarm', 'assigned', matrix], ['swarm/event.rs', 'Failure', 'swarm', 'failed', matrix], ['swarm/event.rs', 'Refusal', 'swarm', 'refused', matrix], ['swarm/client/io.rs', 'Ignored', 'client', 'ignored', matrix],
  ]);
  for (const [file, name, area, what, strings] of reasons) {
    const kinds = variants(await core(file), name);
    assert.ok(kinds.length > 2, name);
    speak(strings);
    for (const why of kinds) {
      const sentence = tell(/** @type {any} */ ({ event: { [area]: { what, why, from: 1, to: 2, last: 2, side: 'sender' } }, node_name: 'ada', who: 'bob' }));
      assert.match(sentence, /\b(ada|bob)\b.+ .+\.$/);
      assert.ok(!new RegExp(`[ :]${why}\\.$`).test(sentence) || ['busy'].includes(why), `${name}.${why}: ${sentence}`);
    }
  }
});
