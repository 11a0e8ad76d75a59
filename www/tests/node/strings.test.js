/** Every event of every story has a sentence, and every clause an explanation. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { en } from '../../js/strings/en.js';
import { unicast } from '../../js/strings/unicast.js';
import { routing } from '../../js/strings/routing.js';
import { meet } from '../../js/strings/meet.js';
import { swarm } from '../../js/strings/swarm.js';
import { known, reason, speak, speakIn, tell } from '../../js/strings.js';
import { inNode } from '../digest.js';
import { ENGLISH, TONGUES, quoteless } from '../tongues.js';
import { WWW } from '../serve.js';

/** @param {(language: string) => void} each */
const inEach = (each) => [null, ...TONGUES].forEach((tongue) => { speakIn(tongue); each(tongue?.id ?? 'en'); });

for (const [name, strings] of /** @type {[string, any][]} */ ([['Queue', {}], ['Routing', routing], ['Unicast', unicast], ['Swarm', swarm], ['Meet', meet]])) {
  describe(name, () => {
    /** @type {any} */
    let World;
    const protocol = name.toLowerCase();
    before(async () => {
      World = (await inNode()).World;
    });
    after(() => speakIn(null));

    test('every event of every story reads as a sentence', () => {
      for (const { id, scenario } of World.presets(protocol)) {
        const lab = World.fromScenario(protocol, scenario).run();
        lab.seek(lab.horizon());
        assert.ok(lab.count() > 25, id);
        const records = lab.records(0, lab.count(), '');
        inEach((language) => {
          speak(strings, protocol);
          for (const record of records) {
            const sentence = tell(record);
            assert.match(sentence, /^\S.*[.]$/, JSON.stringify(record));
            assert.doesNotMatch(sentence, /undefined|NaN|\bnull\b|\[object|_/, JSON.stringify(record));
            if (language !== 'en') assert.doesNotMatch(quoteless(sentence), ENGLISH[language], JSON.stringify(record));
          }
        });
        lab.free();
      }
    });

    test('every event that obeys a clause is explained', () => {
      const silent = new Set();
      for (const { scenario } of World.presets(protocol)) {
        const lab = World.fromScenario(protocol, scenario).run();
        lab.seek(lab.horizon());
        for (let i = 0; i < lab.count(); i += 1) {
          const why = lab.why(i);
          if (why.clause) inEach(() => { speak(strings, protocol); if (!reason(why.key, why.args)) silent.add(why.key); });
        }
        lab.free();
      }
      assert.deepEqual([...silent], []);
    });
  });
}

/** Kinds of events as the core declares them, by area, with the sentences of the view they are told in. */
const DECLARED = /** @type {[string, string, string, any][]} */ ([
  ['queue', 'core/src/queue/event.rs', 'Event', {}], ['conn', 'core/src/node/event.rs', 'ConnEvent', {}], ['fetch', 'core/src/fetch/event.rs', 'Event', {}], ['world', 'core/src/node/event.rs', 'WorldEvent', {}],
  ['unicast', 'core/src/unicast/event.rs', 'Event', unicast], ['meet', 'core/src/meet/event.rs', 'Event', meet], ['datagram', 'sim/src/unicast/event.rs', 'DatagramEvent', unicast], ['app', 'sim/src/unicast/event.rs', 'MessagingEvent', unicast],
  ['world', 'sim/src/unicast/event.rs', 'UnicastIncident', unicast],
  ['message', 'sim/src/routing/event.rs', 'MessageEvent', routing], ['app', 'sim/src/routing/event.rs', 'SearchEvent', routing], ['world', 'sim/src/routing/event.rs', 'RoutingIncident', routing], ['routing', 'core/src/routing/event.rs', 'Event', routing],
  ['packet', 'sim/src/meet/event.rs', 'PacketEvent', meet], ['router', 'sim/src/meet/event.rs', 'RouterEvent', meet], ['person', 'sim/src/meet/event.rs', 'PersonEvent', meet], ['world', 'sim/src/meet/event.rs', 'MeetIncident', meet],
  ['swarm', 'core/src/swarm/event.rs', 'Event', swarm], ['client', 'core/src/swarm/client/io.rs', 'Event', swarm], ['world', 'sim/src/swarm/event.rs', 'SwarmIncident', swarm],
]);

/** The variants of an enum, as JSON names them. @param {string} source @param {string} name */
function variants(source, name) {
  const body = new RegExp(`pub enum ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1] ?? '';
  const declared = body.matchAll(/^ {4}(?:#\[serde\(rename = "(\w+)"\)\]\n {4})?([A-Z]\w*)/gm);
  return [...declared].map(([, renamed, variant]) => renamed ?? variant.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase());
}

/** @param {string} file */
const source = (file) => readFile(path.join(WWW, '..', file), 'utf8');

test('every kind of event the core declares has a sentence', async () => {
  for (const [area, file, name, strings] of DECLARED) {
    const kinds = variants(await source(file), name);
    assert.ok(kinds.length >= 2, `${area}: ${kinds}`);
    speak(strings);
    assert.deepEqual(kinds.filter((kind) => !known(`${area}.${kind}`)), [], area);
  }
});

/** A recording of a servent tells of more than the view that is looked at: a key that also stood for a word of another view would be told as that word. */
test('the sentence of an event of a servent is in one place', async () => {
  const tables = { en, routing, unicast, swarm, meet };
  const others = TONGUES.map((tongue) => ({ page: tongue.page, ...tongue.views }));
  for (const [area, file, name] of DECLARED.filter(([area, file]) => file.startsWith('core/') && area !== 'world')) {
    for (const kind of variants(await source(file), name)) {
      for (const all of [tables, ...others]) {
        const holders = Object.entries(all).filter(([, table]) => `${area}.${kind}` in table).map(([table]) => table);
        assert.equal(holders.length, 1, `${area}.${kind}: ${holders}`);
      }
    }
  }
});

test('every rule the core can find broken in datagrams has a sentence', async () => {
  const keys = [...(await source('sim/src/unicast/check.rs')).matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 8, keys.join());
  speak(unicast);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every rule the core can find broken in an overlay has a sentence', async () => {
  const keys = [...(await source('sim/src/routing/check.rs')).matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 8, keys.join());
  speak(routing);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every rule the core can find broken in a swarm has a sentence', async () => {
  const sources = await Promise.all(['check.rs', 'check/credit.rs', 'check/slots.rs'].map((file) => source(`sim/src/swarm/${file}`)));
  const keys = [...sources.join('').matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 4, keys.join());
  speak(swarm);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every rule the core can find broken in a meeting has a sentence', async () => {
  const keys = [...(await source('sim/src/meet/check.rs')).matchAll(/"(check\.\w+)"/g)].map(([, key]) => key);
  assert.ok(keys.length >= 6, keys.join());
  speak(meet);
  assert.deepEqual(keys.filter((key) => !known(key)), []);
});

test('every reason the core declares reads as words', async () => {
  const reasons = /** @type {[string, string, string, string, any][]} */ ([
    ['core/src/wire/queue/loss.rs', 'PositionLoss', 'queue', 'lost', {}], ['core/src/queue/client/mod.rs', 'PlaceLoss', 'fetch', 'place_lost', {}], ['core/src/queue/event.rs', 'QueueRefusal', 'queue', 'refused', {}], ['core/src/fetch/io.rs', 'DialError', 'conn', 'dial_failed', {}],
    ['core/src/fetch/event.rs', 'SourceTrouble', 'fetch', 'source_lost', {}], ['core/src/fetch/event.rs', 'FetchFailure', 'fetch', 'failed', {}],
    ['core/src/unicast/event.rs', 'RetransmitReason', 'unicast', 'resent', unicast], ['core/src/unicast/event.rs', 'Rejection', 'unicast', 'rejected', unicast], ['core/src/unicast/event.rs', 'ConnEnding', 'unicast', 'closed', unicast],
    ['sim/src/links/datagram/mod.rs', 'DatagramLoss', 'datagram', 'lost', unicast], ['sim/src/routing/event.rs', 'MessageLoss', 'message', 'lost', routing], ['core/src/routing/io.rs', 'DropReason', 'message', 'judged', routing], ['core/src/routing/io.rs', 'DropReason', 'routing', 'limit', routing],
    ['sim/src/meet/router.rs', 'RouterDrop', 'packet', 'dropped', meet],
    ['core/src/swarm/event.rs', 'Pick', 'swarm', 'assigned', swarm], ['core/src/swarm/event.rs', 'Failure', 'swarm', 'failed', swarm], ['core/src/swarm/event.rs', 'SwarmRefusal', 'swarm', 'refused', swarm], ['core/src/swarm/client/io.rs', 'Ignored', 'client', 'ignored', swarm],
  ]);
  for (const [file, name, area, what, strings] of reasons) {
    const kinds = variants(await source(file), name);
    assert.ok(kinds.length > 2, name);
    for (const why of kinds) {
      inEach(() => {
        speak(strings, Object.entries({ unicast, routing, swarm, meet }).find(([, own]) => own === strings)?.[0]);
        const sentence = tell(/** @type {any} */ ({ event: { [area]: { what, why, from: 1, to: 2, last: 2, side: 'sender' } }, node_name: 'ada', who: 'bob' }));
        assert.match(sentence, /\b(ada|bob)\b.+ .+\.$/);
        assert.ok(!new RegExp(`[ :]${why}\\.$`).test(sentence) || ['busy'].includes(why), `${name}.${why}: ${sentence}`);
      });
    }
  }
  speakIn(null);
});
