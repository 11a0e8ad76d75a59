/** Every event of every story has a sentence, and every clause an explanation. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { unicast } from '../js/strings/unicast.js';
import { routing } from '../js/strings/routing.js';
import { swarm } from '../js/strings/swarm.js';
import { known, reason, speak, tell } from '../js/strings.js';
import { inNode } from './digest.js';
import { WWW } from './serve.js';

for (const [name, strings] of /** @type {[string, any][]} */ ([['Lab', {}], ['Map', routing], ['Ladder', unicast], ['Matrix', swarm]])) {
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
  ['unicast', 'unicast/event.rs', 'Event', unicast], ['datagram', 'sim/ladder/event.rs', 'DatagramEvent', unicast], ['app', 'sim/ladder/event.rs', 'AppEvent', unicast],
  ['world', 'sim/ladder/event.rs', 'Happening', unicast], ['node', 'node/messenger/event.rs', 'NodeEvent', unicast],
  ['message', 'sim/overlay/event.rs', 'MessageEvent', routing], ['app', 'sim/overlay/event.rs', 'AppEvent', routing], ['world', 'sim/overlay/event.rs', 'Happening', routing], ['routing', 'routing/event.rs', 'Event', routing],
  ['swarm', 'swarm/event.rs', 'Event', swarm], ['client', 'swarm/client/io.rs', 'Event', swarm], ['world', 'sim/pieces/event.rs', 'Happening', swarm],
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

test('every rule the core can find broken in the unicast has a sentence', async () => {
  const keys = [...(await core('sim/ladder/check.rs')).matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 8, keys.join());
  speak(unicast);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every rule the core can find broken in an overlay has a sentence', async () => {
  const keys = [...(await core('sim/overlay/check.rs')).matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 8, keys.join());
  speak(routing);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every rule the core can find broken in a swarm has a sentence', async () => {
  const sources = await Promise.all(['check.rs', 'check/credit.rs', 'check/slots.rs'].map((file) => core(`sim/pieces/${file}`)));
  const keys = [...sources.join('').matchAll(/violation\(\s*"\w+",\s*"(?:check\.)?(\w+)"/g)].map(([, key]) => `check.${key}`);
  assert.ok(keys.length >= 4, keys.join());
  speak(swarm);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every reason the core declares reads as words', async () => {
  const reasons = /** @type {[string, string, string, string, any][]} */ ([
    ['queue/event.rs', 'Loss', 'queue', 'lost', {}], ['queue/event.rs', 'Refusal', 'queue', 'refused', {}], ['node/io.rs', 'DialError', 'conn', 'dial_failed', {}],
    ['fetch/event.rs', 'SourceTrouble', 'fetch', 'source_lost', {}], ['fetch/event.rs', 'FetchFailure', 'fetch', 'failed', {}],
    ['unicast/event.rs', 'Why', 'unicast', 'resent', unicast], ['unicast/event.rs', 'Rejection', 'unicast', 'rejected', unicast], ['unicast/event.rs', 'Ending', 'unicast', 'closed', unicast],
    ['sim/ladder/event.rs', 'Loss', 'datagram', 'lost', unicast], ['sim/overlay/event.rs', 'Loss', 'message', 'lost', routing], ['routing/io.rs', 'Why', 'message', 'judged', routing], ['routing/io.rs', 'Why', 'routing', 'limit', routing],
    ['swarm/event.rs', 'Pick', 'swarm', 'assigned', swarm], ['swarm/event.rs', 'Failure', 'swarm', 'failed', swarm], ['swarm/event.rs', 'Refusal', 'swarm', 'refused', swarm], ['swarm/client/io.rs', 'Ignored', 'client', 'ignored', swarm],
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
