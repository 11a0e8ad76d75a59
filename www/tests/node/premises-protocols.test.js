/**
 * What is said of why something happened is true of that very event, in routing,
 * retransmission and swarm as in the queue (`premises.test.js`): the premises of
 * each sentence are looked up in the records before it.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { routing } from '../../js/strings/routing.js';
import { swarm } from '../../js/strings/swarm.js';
import { unicast } from '../../js/strings/unicast.js';
import { inNode } from '../digest.js';

/** @typedef {{body: any, node: number, at: number, earlier: any[]}} Facts `earlier`: the bodies of the records before it of all areas, each with its node and instant, the newest first */

/** @param {Facts} facts @param {string} fact @param {(one: any, facts: Facts) => boolean} holds */
const was = (facts, fact, holds) => facts.earlier.some((one) => one.fact === fact && holds(one, facts));
/** At the same node. @param {any} one @param {Facts} facts */
const here = (one, { node }) => one.node === node;
/** The same message. @param {any} one @param {Facts} facts */
const same = (one, { body }) => one.guid === body.guid && one.kind === (body.kind ?? one.kind);
/** Of the same connection. @param {any} one @param {Facts} facts */
const conn = (one, { body }) => one.conn === body.conn;
const [TEN_MINUTES, HALF_AN_HOUR] = [600e6, 1800e6];

/** @type {Record<string, Record<string, (facts: Facts) => boolean>>} */
const PREMISES = {
  routing: {
    // A query is new here; a hit follows its query, a push a hit of its servent.
    'message.judged.forwarded': (f) => {
      if (f.body.kind === 'query') return f.body.ttl > 1 && !was(f, 'message.judged', (o) => here(o, f) && same(o, f) && o.verdict === 'forwarded' && f.at - o.at < TEN_MINUTES);
      if (f.body.kind === 'hit') return was(f, 'message.judged', (o) => here(o, f) && o.kind === 'query' && o.guid === f.body.guid && o.verdict !== 'dropped');
      return was(f, 'message.judged', (o) => here(o, f) && o.kind === 'hit' && o.of === f.body.of && f.at - o.at < 2 * HALF_AN_HOUR);
    },
    // A query not back to the neighbour that brought it; a hit to the one that brought the query.
    'message.sent': (f) => {
      const brought = f.earlier.find((o) => o.fact === 'message.judged' && here(o, f) && o.guid === f.body.guid && o.kind === 'query' && o.verdict !== 'dropped');
      if (f.body.kind === 'query') return !brought || brought.from !== f.body.to;
      return f.body.kind !== 'hit' || brought?.from === f.body.to;
    },
    'app.answered': (f) => was(f, 'message.judged', (o) => here(o, f) && o.kind === 'query' && o.guid === f.body.guid && o.verdict !== 'dropped'),
    'app.found': (f) => was(f, 'app.searched', (o) => here(o, f) && o.guid === f.body.guid),
    'app.asked': (f) => was(f, 'app.found', (o) => here(o, f) && o.of === f.body.of),
    'app.no_way': (f) => !was(f, 'app.found', (o) => here(o, f) && o.of === f.body.of && f.at - o.at < HALF_AN_HOUR),
    'app.obeyed': (f) => was(f, 'message.judged', (o) => here(o, f) && o.kind === 'push' && o.verdict === 'local'),
    'message.lost': (f) => was(f, 'message.sent', (o) => o.id === f.body.id),
    'routing.conflict': (f) => new Set(f.earlier.filter((o) => o.fact === 'message.judged' && here(o, f) && o.kind === 'hit').map((o) => o.from)).size > 1,
  },
  unicast: {
    'unicast.opened': (f) => f.body.side === 'sender' || was(f, 'datagram.arrived', here),
    'unicast.resent.tail': (f) => f.body.to >= Math.max(0, ...f.earlier.filter((o) => o.fact === 'unicast.sent' && conn(o, f) && here(o, f)).map((o) => o.to)) && !was(f, 'unicast.acked', (o) => here(o, f) && conn(o, f) && o.highest_acked >= f.body.to),
    'unicast.resent.missing': (f) => was(f, 'unicast.requested', (o) => !here(o, f) && conn(o, f) && o.from <= f.body.from && o.to >= f.body.to),
    'unicast.resent.first': (f) => was(f, 'unicast.first_requested', (o) => conn(o, f)) || !was(f, 'unicast.acked', (o) => here(o, f) && conn(o, f)),
    'unicast.delivered': (f) => f.body.number === 1 || was(f, 'unicast.delivered', (o) => here(o, f) && conn(o, f) && o.number === f.body.number - 1) || was(f, 'world.restarted', here),
    'unicast.requested': (f) => was(f, 'unicast.received', (o) => here(o, f) && conn(o, f) && o.to > f.body.to),
    'unicast.first_requested': (f) => {
      const open = f.earlier.find((o) => here(o, f) && (conn(o, f) && o.fact === 'unicast.opened' || o.fact === 'world.crashed'));
      return open?.fact !== 'unicast.opened' && was(f, 'datagram.arrived', here);
    },
    'unicast.duplicate': (f) => was(f, 'unicast.received', (o) => here(o, f) && conn(o, f) && o.from <= f.body.to && o.to >= f.body.from),
    'unicast.acked': (f) => f.body.highest_acked <= f.body.highest_sent,
    'unicast.reopened': (f) => was(f, 'unicast.closing', (o) => here(o, f)),
  },
  swarm: {
    'swarm.stalled': (f) => was(f, 'swarm.assigned', here),
    'swarm.unstalled': (f) => was(f, 'swarm.confirmed', (o) => o.up === f.body.client) || was(f, 'swarm.granted', here),
    'swarm.free': (f) => !was(f, 'swarm.arrived', here),
    'swarm.quarantined': (f) => f.body.failures >= 3 && was(f, 'swarm.blamed', (o) => here(o, f) && o.failures === f.body.failures),
    'swarm.confirmed': (f) => was(f, 'swarm.assigned', (o) => here(o, f) && o.piece === f.body.piece),
    'swarm.arrived': (f) => was(f, 'swarm.assigned', (o) => here(o, f) && o.piece === f.body.piece),
    'swarm.assigned.stalled': (f) => f.body.funnel?.stalled > 0,
    'swarm.assigned.fastest': (f) => f.body.funnel.led === 'giver' || !f.body.funnel.stalled || was(f, 'swarm.failed', (o) => here(o, f) && o.piece === f.body.piece),
    'swarm.assigned.unseen': (f) => f.body.up === null,
    'swarm.assigned.source': (f) => f.body.up === null,
    'swarm.assigned.retry': (f) => was(f, 'swarm.failed', (o) => here(o, f) && o.piece === f.body.piece),
  },
};
/** Those that are never said would be premises of nothing. */
const SAID = {
  routing: ['message.judged.forwarded', 'message.sent', 'app.answered', 'app.found', 'app.asked', 'app.obeyed', 'routing.conflict'],
  unicast: ['unicast.opened', 'unicast.resent.tail', 'unicast.resent.missing', 'unicast.resent.first', 'unicast.delivered', 'unicast.requested', 'unicast.first_requested', 'unicast.duplicate'],
  swarm: ['swarm.free', 'swarm.stalled', 'swarm.unstalled', 'swarm.quarantined', 'swarm.confirmed', 'swarm.assigned.stalled', 'swarm.assigned.fastest', 'swarm.assigned.unseen', 'swarm.assigned.retry'],
};
/** Of a story so many events of each sentence are looked up, the first ones. */
const EACH = 60;
/** Stories of thousands, whose records would take a minute to go through. */
const LARGE = ['ten-thousand', 'flash-crowd', 'step-by-step', 'rarest-first'];

for (const [view, strings] of /** @type {[keyof typeof SAID, Record<string, any>][]} */ ([['routing', routing], ['unicast', unicast], ['swarm', swarm]])) {
  describe(view, () => {
    /** @type {any} */
    let core;
    before(async () => { core = await inNode(); });

    /** Which sentence the page says, as `reason` finds it. @param {string} key @param {any} args */
    const saidOf = (key, args) => [args.case && `${key.split('.').slice(0, 2).join('.')}.${args.case}`, args.verdict && `${key}.${args.verdict}`, key, key.replace(/\.[^.]+$/, '')].find((one) => one && strings[`${one}.why`]);

    test('the premises of every sentence hold at its event, in every story', () => {
      const said = /** @type {Record<string, number>} */ ({});
      const wrong = [];
      for (const { id, scenario } of core.World.presets(view)) {
        if (LARGE.includes(id)) continue;
        const counts = /** @type {Record<string, number>} */ ({});
        for (const one of [scenario, ...(scenario.variants ?? []).map((/** @type {any} */ way) => ({ ...scenario, ...(way.profile ? { profile: way.profile } : {}), ...(way.policy ? { swarm: { ...scenario.swarm, policy: way.policy } } : {}) }))]) {
          const lab = core.World.fromScenario(view, one);
          const run = lab.run();
          run.seek(run.horizon());
          const earlier = /** @type {any[]} */ ([]);
          for (const { seq, at, node, event } of run.records(0, 8000, '')) {
            const [area, body] = /** @type {[string, any]} */ (Object.entries(event)[0]);
            const fact = `${area}.${body.what}`;
            if ((counts[fact] ?? 0) < EACH * 6) {
              const why = run.why(seq);
              const sentence = why && saidOf(why.key, { ...body, ...why.args });
              const premise = sentence && PREMISES[view][sentence];
              if (premise && (counts[sentence] ?? 0) < EACH) {
                counts[sentence] = (counts[sentence] ?? 0) + 1;
                said[sentence] = (said[sentence] ?? 0) + 1;
                if (!premise({ body, node, at, earlier })) wrong.push(`${id}, event ${seq} at ${at / 1e6} s: “${strings[`${sentence}.why`]}” of ${JSON.stringify(event)}`);
              }
              counts[fact] = (counts[fact] ?? 0) + 1;
            }
            earlier.unshift({ ...body, fact, node, at });
          }
          run.free();
          lab.free();
        }
      }
      assert.deepEqual(wrong.slice(0, 12), []);
      for (const sentence of SAID[view]) assert.ok(said[sentence], `${sentence} is said nowhere: ${Object.keys(said)}`);
    });
  });
}
