/**
 * What is said of why something happened is true of that very event. Each
 * sentence has premises: a place, a connection, a dialect, a state. They are
 * looked up here in the records before the event, by other means than those of
 * the page, wherever it is said.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { whys } from '../../js/strings/whys.js';
import { inNode } from '../digest.js';

/** Which sentence the page says, as `reason` finds it. @param {string} key @param {Record<string, any>} args */
function saidOf(key, args) {
  const base = key.split('.').slice(0, 2).join('.');
  const candidates = [args.case && `${base}.${args.case}`, args.dialect && `${key}.${args.dialect}`, args.keep && `${key}.keep`, key, key.replace(/\.[^.]+$/, '')];
  return candidates.find((one) => one && whys[one]);
}

/** What is known of an event by the records before it. @typedef {{body: any, before: any[], own: any[], place: any, at: number, node: number}} Facts `own`: of its place, or its download; `place`: what a client was told last, none when it has lost that */

/** @param {any} facts @param {string} area @param {...string} what */
const last = ({ own }, area, ...what) => own.findLast((/** @type {any} */ r) => what.includes(r.event[area]?.what));

/** The premises of each sentence that has any. @type {Record<string, (facts: Facts) => boolean>} */
const PREMISES = {
  'fetch.waiting': ({ place }) => !place,
  'fetch.waiting.place': ({ place }) => Boolean(place?.ticket),
  'fetch.asked.first': (facts) => !last(facts, 'fetch', 'queued') || Boolean(last(facts, 'fetch', 'place_lost', 'waiting', 'source_lost')),
  'fetch.asked.place': (facts) => Boolean(last(facts, 'fetch', 'queued')),
  'fetch.asked.called': (facts) => Boolean(last(facts, 'fetch', 'called_back')),
  'fetch.asked.part': (facts) => Boolean(last(facts, 'fetch', 'receiving', 'stored')),
  'queue.asked': (facts) => { const told = last(facts, 'queue', 'told')?.event.queue; return !told || (facts.at >= told.not_before && facts.at <= told.deadline); },
  'queue.asked.called': (facts) => last(facts, 'queue', 'told', 'called').event.queue.what === 'called',
  'queue.asked.forgiven': (facts) => facts.at < last(facts, 'queue', 'told').event.queue.not_before,
  'queue.asked.restored': (facts) => last(facts, 'queue', 'told', 'restored').event.queue.what === 'restored',
  'queue.told.active': ({ body }) => body.keep,
  'queue.told.passive': ({ body, at }) => body.not_before - at <= 250e6,
  'queue.told.parq': ({ body, at }) => body.not_before - at <= (body.position > 20 ? 600e6 : 30e6 + 20e6 * (body.position - 1)),
  'queue.started': (facts) => Boolean(last(facts, 'queue', 'asked', 'told')),
  'queue.started.at_once': (facts) => !last(facts, 'queue', 'told', 'held') && facts.body.waited === 0,
  'queue.started.held': (facts) => Boolean(last(facts, 'queue', 'held')),
  'queue.started.passed': ({ before, body }) => before.some(({ event }) => event.queue?.what === 'passed' && event.queue.by === body.ticket),
  'queue.started.back': (facts) => Boolean(last(facts, 'queue', 'reserved')),
  'queue.lost.overdue': (facts) => { const told = last(facts, 'queue', 'told')?.event.queue; return !told || facts.at >= told.deadline; },
  'queue.lost.too_early': (facts) => facts.at < last(facts, 'queue', 'told').event.queue.not_before,
  'queue.lost.connection_lost': (facts) => last(facts, 'queue', 'arrived')?.event.queue.dialect === 'active',
  'queue.away': (facts) => last(facts, 'queue', 'arrived')?.event.queue.dialect !== 'active',
  'queue.moved': (facts) => last(facts, 'queue', 'arrived')?.event.queue.dialect === 'active',
  'queue.arrived.active': ({ body }) => body.dialect === 'active',
  'queue.arrived.parq': ({ body }) => body.dialect === 'parq',
  'queue.arrived.passive': ({ body }) => body.dialect === 'passive',
  'queue.reserved': (facts) => Boolean(last(facts, 'queue', 'started', 'continued')),
  'queue.called': ({ body }) => Boolean(body.to),
};

/** Of a long story so many events of each sentence. */
const EACH = 40;

describe('why', () => {
  /** @type {any} */
  let core;
  before(async () => { core = await inNode(); });

  test('the premises of every sentence hold at its event, in every story of the queue', () => {
    const seen = /** @type {Record<string, number>} */ ({});
    for (const { id, scenario } of core.World.presets('queue')) {
      const ways = [scenario, ...(scenario.variants ?? []).map((/** @type {any} */ way) => ({ ...scenario, ...(way.dialect ? { clients: scenario.clients.map((/** @type {any} */ c) => ({ ...c, dialect: way.dialect })) } : {}) }))];
      for (const one of ways) {
        const lab = core.World.fromScenario('queue', one);
        const run = lab.run();
        run.seek(run.horizon());
        const all = run.records(0, 100_000, '');
        const counts = /** @type {Record<string, number>} */ ({});
        all.forEach((/** @type {any} */ record, /** @type {number} */ i) => {
          const [area, body] = Object.entries(record.event)[0];
          const fact = `${area}.${/** @type {any} */ (body).what}`;
          if (!['queue', 'fetch'].includes(area) || (counts[fact] ?? 0) > EACH * 8) return;
          counts[fact] = (counts[fact] ?? 0) + 1;
          const why = run.why(record.seq);
          const said = why && saidOf(why.key, { .../** @type {any} */ (body), ...why.args });
          if (!said || !PREMISES[said] || (seen[`${id} ${said}`] ?? 0) >= EACH) return;
          seen[`${id} ${said}`] = (seen[`${id} ${said}`] ?? 0) + 1;
          const earlier = all.slice(0, i);
          const key = area === 'queue' ? 'ticket' : 'fetch';
          const own = earlier.filter((/** @type {any} */ r) => r.event[area]?.[key] === /** @type {any} */ (body)[key] && (area === 'queue' || r.node === record.node));
          const lost = own.findLastIndex((/** @type {any} */ r) => ['place_lost', 'receiving'].includes(r.event.fetch?.what));
          const place = own.slice(lost + 1).findLast((/** @type {any} */ r) => r.event.fetch?.what === 'queued')?.event.fetch;
          assert.ok(PREMISES[said]({ body, before: earlier, own, place: place?.dialect === 'active' && /** @type {any} */ (body).why === 'disconnected' ? null : place, at: record.at, node: record.node }), `${id}, event ${record.seq} at ${record.at / 1e6} s: “${whys[said]}” of ${JSON.stringify(record.event)}`);
        });
        run.free();
        lab.free();
      }
    }
    const said = new Set(Object.keys(seen).map((one) => one.split(' ')[1]));
    for (const key of ['fetch.waiting.place', 'fetch.asked.first', 'fetch.asked.place', 'queue.asked', 'queue.started', 'queue.told.active', 'queue.told.parq', 'queue.lost.connection_lost', 'queue.lost.too_early']) assert.ok(said.has(key), `${key} is said nowhere: ${[...said]}`);
  });

  test('a PARQ client whose wire is cut is not told that it has no place', () => {
    const story = core.World.presets('queue').find((/** @type {any} */ p) => p.id === 'one-cut-wire');
    const run = core.World.fromScenario('queue', story.scenario).run();
    run.seek(run.horizon());
    const waits = run.records(0, 10_000, '"waiting"').filter((/** @type {any} */ r) => r.event.fetch?.what === 'waiting' && r.node_name === 'parq-1');
    assert.ok(waits.length > 0);
    for (const { seq, event } of waits) assert.equal(saidOf(run.why(seq).key, { ...event.fetch, ...run.why(seq).args }), 'fetch.waiting.place');
  });
});
