/** A meeting, simulated and recorded: what the core gives the page, and what the page says of it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { nameOf } from '../../js/meet/names.js';
import { meet as english } from '../../js/strings/meet.js';
import { learn, reason, speak, speakIn, tell } from '../../js/strings.js';
import { unicast } from '../../js/strings/unicast.js';
import { inNode } from '../digest.js';
import { WWW } from '../serve.js';
import { TONGUES } from '../tongues.js';

/** @type {any} */
let core;
before(async () => { core = await inNode(); });

describe('a simulated meeting', () => {
  /** @param {string} id @param {number} [at] */
  function told(id, at) {
    const { scenario } = core.World.presets('meet').find((/** @type {any} */ one) => one.id === id);
    const source = core.World.fromScenario('meet', scenario).meet();
    const run = source.run();
    while (!run.explore(100));
    run.seek(at ?? run.horizon());
    return { source, run };
  }

  test('every datagram is an arrow, from its sender to where it ended', () => {
    const { source, run } = told('knock-early');
    const arrows = source.arrows(0, run.horizon(), 10_000);
    const knocks = arrows.filter((/** @type {any} */ a) => a.kind === 'knock' && a.step === 'ask');
    const dropped = knocks.filter((/** @type {any} */ a) => a.fate === 'dropped');
    assert.deepEqual(dropped.map((/** @type {any} */ a) => [a.from, a.to, a.dropped]), [[1, 2, 'address'], [1, 2, 'address'], [1, 2, 'address']]);
    assert.ok(knocks.length > dropped.length);
    for (const a of arrows) assert.ok(a.at === null ? a.fate === 'flying' : a.at >= a.sent, JSON.stringify(a));
    const early = source.arrows(0, 500_000, 10_000);
    assert.ok(early.length > 0 && early.every((/** @type {any} */ a) => a.sent <= 500_000));
  });

  test('a router shows its table, and a person the path', () => {
    const { source, run } = told('two-doors', 2e6);
    const router = source.look(3);
    assert.equal(router.rows.length, 1);
    assert.deepEqual([router.rows[0].inside, router.rows[0].outside], ['10.1.0.2:6348', '198.51.100.2:20007']);
    assert.ok(router.rows[0].written.includes('198.51.100.1:20007'), 'Ben has written to Ada');
    assert.ok(router.rows[0].expires > run.now());
    const ada = source.look(0);
    assert.deepEqual([ada.outcome, ada.seen, ada.path], ['direct', '198.51.100.1:20007', '198.51.100.2:20007']);
    run.seek(1e6 - 1);
    assert.deepEqual([source.look(2).rows.length, source.look(0).came], [0, false], 'nothing has left Ada’s network yet');
  });

  test('totals are those at the cursor', () => {
    const { source, run } = told('relay-first');
    const { knocks, heard, dropped, read, wrote } = source.totals();
    assert.deepEqual([read, wrote, heard + dropped], [20, 20, knocks]);
    run.seek(1e6);
    assert.deepEqual([source.totals().knocks, source.totals().first_path], [0, null]);
  });

  test('a router that is restarted forgets its table, in a branch of its own', () => {
    const { source, run } = told('two-doors', 5e6);
    assert.equal(source.look(2).rows.length, 1);
    assert.equal(run.fault({ restart: { node: 2 } }), 1);
    run.seek(5e6 + 10);
    assert.deepEqual(source.look(2).rows, []);
    run.useBranch(0);
    run.seek(5e6 + 10);
    assert.equal(source.look(2).rows.length, 1);
  });
});

test('the routers of every story have their names in the language of the page', () => {
  const named = core.World.presets('meet').flatMap((/** @type {any} */ { scenario }) => scenario.routers.map((/** @type {any} */ router) => router.name));
  const drawn = ['Ada router', 'Ben router'];
  for (const tongue of [null, ...TONGUES]) {
    speakIn(tongue);
    speak(english, 'meet');
    const names = new Set([...named, ...drawn].map((name) => nameOf({ role: 'router', name })));
    assert.equal(names.size, 4, `${tongue?.id}: ${[...names]}`);
    for (const name of tongue ? names : []) assert.doesNotMatch(name, /’s |at home|meet\.|undefined/, tongue?.id);
  }
  speakIn(null);
  assert.deepEqual([nameOf({ role: 'router', name: 'My router' }), nameOf({ role: 'person', name: 'Ada router' })], ['My router', 'Ada router'], 'what a user has named');
});

test('the recording of a meeting opens, verifies, and shows every knock with its clause', async () => {
  const file = path.join(WWW, '../sim/tests/museum/recordings/v3-meet.sqlog');
  const tape = await core.Tape.open(new Blob([await readFile(file)]).stream(), undefined, undefined);
  const run = tape.run();
  while (!run.explore(100));
  run.seek(run.horizon());
  assert.match(run.verified().text, /^verified (\d+)\/\1\b/);
  const records = run.records(0, run.count(), '');
  const knocks = records.filter((/** @type {any} */ r) => r.event.meet?.what === 'knocked');
  assert.ok(knocks.length >= 2, `${knocks.length} knocks`);
  learn(english, 'meet');
  for (const tongue of [null, ...TONGUES]) {
    speakIn(tongue);
    speak(unicast, 'unicast');
    for (const record of records.filter((/** @type {any} */ r) => r.event.meet)) {
      const why = run.why(record.seq);
      assert.match(why.id, /^PA-1[0-7]$/, JSON.stringify(record));
      assert.ok(why.clause.length > 10 && core.chapter(why.id), why.id);
      assert.match(tell(record), /^\S.*\.$/, JSON.stringify(record));
      assert.doesNotMatch(tell(record), /undefined|null|meet\./);
      assert.ok(reason(why.key, why.args).length > 30, why.key);
    }
  }
  speakIn(null);
  assert.deepEqual([...new Set(knocks.map((/** @type {any} */ r) => run.why(r.seq).id))], ['PA-12']);
});
