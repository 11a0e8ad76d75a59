/** Whatever is decided has numbers, and a passage to be read. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { clock } from '../../js/format.js';
import { routing } from '../../js/strings/routing.js';
import { speak, t } from '../../js/strings.js';
import { swarm } from '../../js/strings/swarm.js';
import { unicast } from '../../js/strings/unicast.js';
import { inNode } from '../digest.js';

/** Events in which something is decided, and for which a number says why. @type {[string, any, string, string[]][]} */
const DECISIONS = [
  ['Queue', {}, 'queue', ['arrived', 'told', 'asked', 'lost', 'started', 'away', 'reserved', 'entitled', 'lapsed', 'passed', 'held', 'finished']],
  ['Routing', routing, 'message', ['judged', 'sent']],
  ['Unicast', unicast, 'unicast', ['acked', 'resent', 'requested', 'delivered', 'ack_sent', 'duplicate']],
  ['Swarm', swarm, 'swarm', ['stalled', 'unstalled', 'granted', 'confirmed', 'free', 'assigned']],
];
/** Of a long story every so manieth decision. */
const SAMPLED = 200;

for (const [name, strings, area, kinds] of DECISIONS) {
  describe(name, () => {
    /** @type {any} */
    let core;
    before(async () => {
      core = await inNode();
      speak(strings);
    });

    test('every decision of every story has its numbers, in a sentence', () => {
      const [told, seen] = [new Set(), new Set()];
      for (const { id, scenario } of core.World.presets(name.toLowerCase())) {
        if (scenario.nodes > 1000 || id === 'flash-crowd') continue;
        const lab = core.World.fromScenario(name.toLowerCase(), scenario);
        const run = lab.run();
        run.seek(run.horizon());
        const all = run.records(0, 10_000, '').filter((/** @type {any} */ r) => kinds.includes(r.event[area]?.what));
        const step = Math.max(1, Math.floor(all.length / SAMPLED));
        for (const { seq, event } of all.filter((/** @type {any} */ _, /** @type {number} */ i) => i % step === 0)) {
          const numbers = run.numbers(seq);
          // A promise that was not made cannot be measured: a place that was never told has no window.
          if (!numbers && ['entitled', 'lapsed', 'passed', 'lost'].includes(event[area].what)) continue;
          assert.ok(numbers, `${id}, event ${seq}: ${JSON.stringify(event)}`);
          const sentence = t(`numbers.${numbers.key}`, { ...numbers, clock });
          assert.match(sentence, /^(?=.*\d)\w.*\.$/, sentence);
          assert.doesNotMatch(sentence, /undefined|NaN|null|numbers\./, sentence);
          seen.add(event[area].what);
          told.add(numbers.key);
        }
        run.free();
        lab.free();
      }
      assert.ok(seen.size >= kinds.length - 3, `${[...seen]} of ${kinds}`);
    });

    test('every rule that is named can be read', () => {
      const missing = new Set();
      for (const { scenario } of core.World.presets(name.toLowerCase())) {
        if (scenario.nodes > 1000) continue;
        const run = core.World.fromScenario(name.toLowerCase(), scenario).run();
        run.seek(run.horizon());
        for (let i = 0; i < Math.min(run.count(), 3000); i += 1) {
          const { id } = run.why(i);
          if (id && !core.chapter(id)?.passages.some((/** @type {any} */ p) => p.id === id && p.text.length > 30)) missing.add(id);
        }
        run.free();
      }
      assert.deepEqual([...missing], []);
    });
  });
}

test('a question that came too early says when, from when, and by how much', async () => {
  const core = await inNode();
  const story = core.World.presets('queue').find((/** @type {any} */ p) => p.id === 'impatient');
  const run = core.World.fromScenario('queue', story.scenario).run();
  run.seek(run.horizon());
  const [lost] = run.records(0, 1, '"too_early"');
  const { key, at, from, early } = run.numbers(lost.seq);
  assert.equal(key, 'too_early');
  assert.equal(at, lost.at);
  assert.equal(early, from - at);
  assert.match(t('numbers.too_early', { ...run.numbers(lost.seq), clock }), /^Asked at .+; allowed from .+; .+ too early → place \d+ is lost\.$/);
});

test('what a stalled client may take is a sum that comes out', async () => {
  const core = await inNode();
  const story = core.World.presets('swarm').find((/** @type {any} */ p) => p.id === 'two-for-one');
  const run = core.World.fromScenario('swarm', story.scenario).run();
  run.seek(run.horizon());
  const stalled = run.records(0, 500, '"stalled"').filter((/** @type {any} */ r) => r.event.swarm?.what === 'stalled');
  assert.ok(stalled.length > 0);
  for (const { seq } of stalled) {
    const { free, granted, earned, taken, credit } = run.numbers(seq);
    assert.equal(free + granted + earned - taken, credit);
    assert.ok(credit < 1 && taken >= 1, JSON.stringify(run.numbers(seq)));
  }
});
