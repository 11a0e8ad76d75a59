/**
 * What if, asked of a recording of a real run: the answer is a branch, what was
 * recorded stays, and both stand side by side on one clock.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, drop, frame, open, start, state } from '../browser.js';
import { inNode } from '../digest.js';

const FOLDER = process.env.SERVENT_TAPES;
const skip = !FOLDER && 'SERVENT_TAPES names no folder of tapes';

/** @param {string} name */
const bytesOf = (name) => readFileSync(path.join(String(FOLDER), name));

describe('node', { skip }, () => {
  for (const name of ['get', 'receive', 'search', 'send', 'share', 'swarm-serve']) {
    test(`${name}: what is late by nothing happens as it did, and what never came is missed`, async () => {
      const core = await inNode();
      const tape = core.Tape.fromBytes(bytesOf(`${name}.sqlog`));
      const run = tape.run();
      const records = () => run.records(0, run.count(), '').map((/** @type {any} */ { at, event }) => JSON.stringify([at, event]));
      const recorded = records();
      const outside = [...recorded.keys()].filter((i) => ['datagram', 'connection', 'arrival', 'dial', 'command'].includes(String(run.given(i)?.what)));
      assert.ok(outside.length > 3, name);
      for (const record of [0, 0.3, 0.6].map((share) => outside[Math.floor(share * outside.length)])) {
        // A command by which all begins leaves nothing behind.
        const same = run.fault(/** @type {any} */ ({ late: { record, by: 0 } }));
        assert.deepEqual(records(), recorded);
        assert.equal(run.divergence(0, same), undefined);
        run.useBranch(0);
        const lost = run.fault(/** @type {any} */ ({ lose: { record } }));
        const first = run.divergence(0, lost);
        // Where the same comes several times at one instant, the last of them is missed.
        const alike = () => recorded.slice(record, first).every((one) => one === recorded[record]);
        assert.ok(first !== undefined && (first <= record || alike()), `${name}: ${record} of ${recorded.length}, first ${first}`);
        assert.deepEqual(records().slice(0, first), recorded.slice(0, first));
        // It is a tape itself, which happens again.
        const again = core.Tape.fromBytes(run.exportSqlog()).run();
        const { checked, total } = again.verified();
        assert.ok(total > 0 && checked === total);
        again.seek(again.horizon());
        run.seek(run.horizon());
        assert.equal(again.digest(), run.digest());
        run.useBranch(0);
        assert.deepEqual(records(), recorded, 'what was recorded stays');
      }
      assert.equal(run.branches().length, 7);
      run.forget();
      assert.equal(run.branches().length, 1);
      assert.throws(() => run.fault(/** @type {any} */ ({ lose: { record: 1e6 } })), /no such record/);
    });
  }
});

for (const browser of BROWSERS) {
  describe(browser, { skip }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(browser); });
    after(() => started.close());

    test('a datagram that arrived is lost instead, and the page does not claim that this was recorded', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
      await drop(page, 'receive.sqlog', bytesOf('receive.sqlog'));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('unicast-pane'))?.lanes[0]?.run.arrows.length > 0);
      const recorded = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const came = session.run.arrows.filter((/** @type {any} */ a) => a.to === 0 && a.blocks.some((/** @type {any} */ b) => b.data));
        // One whose messages came once: what was sent again arrives all the same.
        const parts = (/** @type {any} */ a) => a.blocks.flatMap((/** @type {any} */ b) => (b.data ? [b.data] : []));
        const shared = (/** @type {any} */ one, /** @type {any} */ other) => parts(one).some((/** @type {any} */ x) => parts(other).some((/** @type {any} */ y) => x.from <= y.to && y.from <= x.to));
        const once = came.filter((/** @type {any} */ a) => !came.some((/** @type {any} */ other) => other !== a && shared(a, other)));
        const arrow = once[once.length >> 1];
        session.clock.seek(session.clock.end);
        session.select({ node: arrow.from, ticket: String(arrow.id), name: 'it', lane: 0, arrow: arrow.id });
        return { delivered: session.run.source.totals().delivered, digest: session.run.digest, came: session.run.arrows.filter((/** @type {any} */ a) => a.to === 0).length };
      });
      await page.waitForSelector('lab-inspector [data-ask="lose"]');
      assert.deepEqual(await page.$$eval('lab-inspector [data-ask]', (all) => all.map((one) => one.getAttribute('data-ask'))), ['lose', 'late', 'twice']);
      await page.click('lab-inspector [data-ask="lose"]');
      await frame(page);
      await page.waitForFunction(() => /is not recorded/.test(document.querySelector('.notice')?.textContent ?? ''));
      assert.equal(await page.$eval('.verdict', (n) => n.textContent), 'What if: not recorded');
      const branch = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.seek(session.clock.end);
        session.run.refresh();
        return { delivered: session.run.source.totals().delivered, came: session.run.arrows.filter((/** @type {any} */ a) => a.to === 0).length, branch: session.actions.branch };
      });
      assert.deepEqual([branch.branch, branch.came], [1, recorded.came - 1]);
      assert.ok(branch.delivered < recorded.delivered, `${branch.delivered} of ${recorded.delivered}: nothing after the gap is delivered`);

      // Side by side, on one clock.
      await page.click('[data-mode="compare"]');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('unicast-pane')).lanes.length === 2);
      const sides = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.seek(session.clock.end);
        return { nows: session.runs().map((/** @type {any} */ r) => r.now), delivered: session.runs().map((/** @type {any} */ r) => r.source.totals().delivered), titles: [...document.querySelectorAll('unicast-pane h2, unicast-pane .head')].map((n) => n.textContent) };
      });
      assert.equal(sides.nows[0], sides.nows[1]);
      assert.ok(sides.delivered[0] < sides.delivered[1], JSON.stringify(sides.delivered));
      await page.click('[data-mode="single"]');

      // Taken back, and done again.
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.actions.undo());
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.actions.branch === 0);
      const back = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.seek(session.clock.end);
        return { digest: session.run.digest, branches: session.run.branches().length };
      });
      assert.deepEqual(back, { digest: recorded.digest, branches: 1 });
      assert.match(await page.$eval('.verdict', (n) => n.textContent ?? ''), /verified/);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    for (const [name, view] of /** @type {const} */ ([['get', 'queue'], ['share', 'routing'], ['swarm-serve', 'swarm']])) {
      test(`${view}: a connection breaks that held, and the view beside it shows the same branch`, async () => {
        const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
        await drop(page, `${name}.sqlog`, bytesOf(`${name}.sqlog`));
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.kind === 'trace');
        if (view === 'queue') await page.evaluate(() => /** @type {any} */ (document.querySelector('[data-view="queue"]')).click());
        await page.waitForFunction((/** @type {string} */ v) => /** @type {any} */ (document.querySelector('servent-lab')).session.view.id === v, {}, view);
        await page.evaluate(() => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          const outside = [...Array(session.run.count).keys()].filter((i) => session.run.raw.given(i)?.what === 'connection');
          session.clock.seekEvent(outside[outside.length >> 1]);
        });
        await page.waitForSelector('lab-inspector [data-ask="lose"]');
        await page.click('lab-inspector [data-ask="lose"]');
        await page.waitForFunction(() => document.querySelector('.verdict')?.textContent === 'What if: not recorded');
        const { branch, branches } = await state(page);
        assert.deepEqual([branch, branches], [1, 2]);
        const closed = await page.evaluate(() => {
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          session.clock.seek(session.clock.end);
          return session.run.digest;
        });
        assert.match(closed, /^[0-9a-f]{16}$/);
        await frame(page);
        const elsewhere = view === 'queue' ? null : 'queue';
        if (elsewhere) {
          await page.keyboard.press('1');
          await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.view.id === 'queue');
          const there = await state(page);
          assert.deepEqual([there.kind, there.branch, there.digest], ['trace', 1, closed]);
        }
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }
  });
}
