/**
 * What every command of the program recorded on real sockets, run again in
 * Node and dropped on the page: the same run, to the last checkpoint.
 * `SERVENT_TAPES` is the folder in which `cargo test -p servent --test program
 * tapes` has left them, and `--test journeys pa_12_the_recording` those of two that
 * met through their routers.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { BROWSERS, drop, frame, open, start, state } from '../browser.js';
import { inNode } from '../digest.js';

const FOLDER = process.env.SERVENT_TAPES;
const skip = !FOLDER && 'SERVENT_TAPES names no folder of tapes';
const TAPES = FOLDER ? readdirSync(FOLDER).filter((name) => name.endsWith('.sqlog')).sort() : [];
/** One of every command, of the source that gave, of the client of a swarm both runs, and of a swarm all that were in it. */
const COMMANDS = ['get', 'honest', 'receive', 'search', 'send', 'share', 'swarm-both', 'swarm-one', 'swarm-resumed', 'swarm-serve', 'swarm-stopped', 'swarm-two'];

/** Of two that met, where the machine can have routers. */
const MET = ['met-received', 'met-sent', 'relayed-received', 'relayed-sent'].map((name) => `${name}.sqlog`);

/** @param {string} name */
const bytesOf = (name) => readFileSync(path.join(String(FOLDER), name));

/** How many checkpoints stand on a tape, and how many records. @param {string} name */
function counted(name) {
  const lines = bytesOf(name).toString('latin1').split('\n').map((line) => /"name":"([a-z]+):([a-z_]+)"/.exec(line));
  const total = lines.filter((of) => of?.[1] === 'servent' && of[2] === 'checkpoint').length;
  const count = lines.filter((of) => of && of[1] !== 'servent').length;
  return { total, count };
}

/** The datagrams that came in, as they stand on a tape. @param {string} name */
function arrived(name) {
  const inputs = [...bytesOf(name).toString('latin1').matchAll(/"datagrams":\{"from":"[^"]*","segment":(\d+),"data":"([0-9a-f]*)"/g)];
  return inputs.reduce((sum, [, segment, data]) => sum + Math.ceil(data.length / 2 / Number(segment)), 0);
}

test('there is a tape of every command', { skip }, () => {
  assert.deepEqual(TAPES.filter((name) => !MET.includes(name)), COMMANDS.map((name) => `${name}.sqlog`));
});

describe('node', { skip }, () => {
  for (const name of TAPES) {
    test(`${name} happens again`, async () => {
      const core = await inNode();
      const { total, count } = counted(name);
      const packed = new Blob([gzipSync(bytesOf(name))]).stream().pipeThrough(new DecompressionStream('gzip'));
      for (const tape of [core.Tape.fromBytes(bytesOf(name)), await core.Tape.open(packed)]) {
        const run = tape.run();
        const { checked, total: all, diverged_at: diverged } = run.verified();
        assert.deepEqual({ checked, all, diverged }, { checked: total, all: total, diverged: null });
        run.seek(run.horizon());
        assert.equal(run.count(), count);
        assert.ok(total > 0 && count > 5);
        run.free();
        tape.free();
      }
    });
  }
});

describe('two that met through their routers', { skip }, () => {
  for (const name of TAPES.filter((one) => MET.includes(one))) {
    test(`${name} shows every knock with its clause`, async () => {
      const core = await inNode();
      const run = core.Tape.fromBytes(bytesOf(name)).run();
      while (!run.explore(100));
      const knocks = run.records(0, run.count(), '').filter((/** @type {any} */ r) => r.event.meet?.what === 'knocked');
      assert.ok(knocks.length >= 2, `${knocks.length} knocks`);
      assert.deepEqual([...new Set(knocks.map((/** @type {any} */ r) => run.why(r.seq).id))], ['PA-12']);
      run.free();
    });

    test(`${name} names the other side by where it is`, async () => {
      const core = await inNode();
      const run = core.Tape.fromBytes(bytesOf(name)).ladder().run();
      while (!run.explore(100));
      const named = run.nodes().map((/** @type {any} */ node) => node.name);
      assert.ok(named.length >= 2 && !named.some((/** @type {string} */ one) => one.includes('fd73:')), named.join());
      run.free();
    });
  }
});

for (const browser of BROWSERS) {
  describe(browser, { skip }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(browser); });
    after(() => started.close());

    for (const name of TAPES) {
      test(`${name}, dropped on the page, happens again`, async () => {
        const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
        const { total, count } = counted(name);
        await drop(page, name, bytesOf(name));
        await page.waitForFunction((/** @type {number} */ all) => document.querySelector('.verdict')?.textContent?.endsWith(`verified ${all}/${all}`), {}, total);
        const { kind, verified, count: seen } = await state(page);
        assert.deepEqual([kind, verified.checked, verified.diverged_at, seen], ['trace', total, null, count]);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    test('share.sqlog is a map of its neighbours, with every message between it and them', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
      await drop(page, 'share.sqlog', bytesOf('share.sqlog'));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('routing-pane'))?.stages[0]?.run.flights.count > 0);
      const seen = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        session.clock.seek(run.horizon);
        const kinds = [...run.flights.kind.subarray(0, run.flights.count)];
        const { sent, arrived, flying } = run.counters();
        return { view: session.view.id, nodes: run.nodes.length, opened: run.records(0, run.count, '').filter((/** @type {any} */ r) => r.event.routing?.what === 'opened').length, queries: kinds.filter((k) => k === 2).length, hits: kinds.filter((k) => k === 3).length, count: run.flights.count, sent, arrived, flying };
      });
      assert.equal(seen.view, 'routing');
      assert.equal(seen.nodes, seen.opened + 1);
      // The query of the one comes in and goes on to the other, and the hit the way back.
      assert.ok(seen.queries >= 2 && seen.hits >= 2, JSON.stringify(seen));
      assert.equal(seen.sent, seen.count);
      assert.equal(seen.arrived + seen.flying, seen.count);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.links.count === 2);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('swarm-serve.sqlog is the matrix that its coordinator saw', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
      await drop(page, 'swarm-serve.sqlog', bytesOf('swarm-serve.sqlog'));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('swarm-pane'))?.lanes[0]?.run.rows.length > 0);
      const seen = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        const told = run.records(0, run.count, '').map((/** @type {any} */ r) => ({ ...r.event.swarm, at: r.at, node: r.node }));
        const moment = (/** @type {number} */ at) => {
          session.clock.seek(at);
          run.refresh();
          return [...run.cells].filter((cell) => cell === 1 || cell === 6).length;
        };
        const arrivals = told.filter((/** @type {any} */ e) => e.what === 'arrived');
        const half = arrivals[arrivals.length >> 1];
        const wanted = arrivals.filter((/** @type {any} */ e) => e.at <= half.at).length;
        return { view: session.view.id, rows: run.rows.length, came: told.filter((/** @type {any} */ e) => e.what === 'registered').length, held: moment(half.at), wanted, share: run.pieces, whole: run.source.outcome().whole, own: arrivals.every((/** @type {any} */ e) => e.node < run.rows.length) };
      });
      assert.deepEqual([seen.view, seen.rows, seen.own], ['swarm', seen.came, true]);
      assert.ok(seen.share >= 40 && seen.held >= 1 && Math.abs(seen.held - seen.wanted) <= seen.share, JSON.stringify(seen));
      assert.ok(seen.whole >= 1);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    for (const name of TAPES.filter((one) => MET.includes(one))) {
      test(`${name} has the two between which the messages went at the sides`, async () => {
        const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
        await drop(page, name, bytesOf(name));
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('unicast-pane'))?.lanes[0]?.run.arrows.some((/** @type {any} */ a) => a.blocks.length > 0));
        await frame(page);
        await frame(page);
        const ends = await page.$$eval('.unicast-head .end b', (all) => all.slice(0, 2).map((n) => n.textContent ?? ''));
        const other = ends.find((one) => one !== 'unicast') ?? '';
        assert.match(other, name.startsWith('relayed') ? /^192\.0\.2\.1:6349$/ : /^192\.0\.2\.1[12]:/, ends.join());
        // Knocks, and talk with the place, are datagrams of the same port and no part of the transfer.
        const words = await page.evaluate(async () => {
          const { label } = await import('#lab/unicast/words.js');
          const { run } = /** @type {any} */ (document.querySelector('servent-lab')).session;
          return run.arrows.filter((/** @type {any} */ a) => a.blocks.length === 0).map(label);
        });
        assert.ok(words.length >= 4 && words.every((/** @type {string} */ one) => one === 'something else'), words.join());
        await page.close();
      });
    }

    for (const name of ['send.sqlog', 'receive.sqlog']) {
      test(`${name} is a picture of its datagrams, and the same run in the view beside it`, async () => {
        const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
        await drop(page, name, bytesOf(name));
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('unicast-pane'))?.lanes[0]?.run.arrows.length > 0);
        const seen = await page.evaluate(() => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          const { run } = session;
          session.clock.seek(run.horizon);
          const came = run.arrows.filter((/** @type {any} */ a) => a.to === 0);
          return { view: session.view.id, came: came.length, whole: came.every((/** @type {any} */ a) => run.guessed(a) === 'start' && a.blocks.length > 0), totals: run.source.totals(), ends: run.nodes.length };
        });
        assert.deepEqual([seen.view, seen.came, seen.whole, seen.ends], ['unicast', arrived(name), true, 2]);
        const { written, delivered } = seen.totals;
        // The last acknowledgements may be lost on their way to the sender.
        assert.ok(written > 100 && (name === 'receive.sqlog' ? delivered === written : delivered > 0 && delivered <= written), JSON.stringify(seen.totals));
        const { now } = await state(page);
        await page.keyboard.press('1');
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.view.id === 'queue');
        const beside = await state(page);
        assert.deepEqual([beside.kind, beside.now], ['trace', now]);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }
  });
}
