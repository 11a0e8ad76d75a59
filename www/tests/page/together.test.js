/**
 * The recordings of several servents, opened together: one run on one clock,
 * in which every message has both its ends.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start, state } from '../browser.js';

const FOLDER = process.env.SERVENT_TAPES;
const skip = !FOLDER && 'SERVENT_TAPES names no folder of tapes';

/** @param {string} name */
const bytesOf = (name) => readFileSync(path.join(String(FOLDER), `${name}.sqlog`));

/** The datagrams that came in, as they stand on a tape. @param {string} name */
function arrived(name) {
  const inputs = [...bytesOf(name).toString('latin1').matchAll(/"datagrams":\{"from":"[^"]*","segment":(\d+),"data":"([0-9a-f]*)"/g)];
  return inputs.reduce((sum, [, segment, data]) => sum + Math.ceil(data.length / 2 / Number(segment)), 0);
}

/** @param {string} name */
const checkpoints = (name) => bytesOf(name).toString('latin1').split('"servent:checkpoint"').length - 1;

/** Drops several files at once. @param {import('puppeteer-core').Page} page @param {[string, Buffer][]} files */
const dropAll = (page, files) => page.evaluate((/** @type {[string, string][]} */ all) => {
  const data = new DataTransfer();
  for (const [name, base64] of all) data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
  dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
}, files.map(([name, bytes]) => /** @type {[string, string]} */ ([name, bytes.toString('base64')])));

for (const browser of BROWSERS) {
  describe(browser, { skip }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(browser); });
    after(() => started.close());

    test('both ends of a transfer: every arrow is real, and an arrival is caused by a sending', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
      await dropAll(page, [['send.sqlog', bytesOf('send')], ['receive.sqlog', bytesOf('receive')]]);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('unicast-pane'))?.lanes[0]?.run.arrows.length > 0);
      const seen = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        session.clock.seek(run.horizon);
        const { arrows } = run;
        const all = run.records(0, run.count, '');
        const came = arrows.filter((/** @type {any} */ a) => a.fate === 'arrived');
        return {
          names: run.nodes.map((/** @type {any} */ n) => n.name),
          guessed: arrows.filter((/** @type {any} */ a) => run.guessed(a)).length,
          came: came.length,
          lost: arrows.length - came.length,
          // The last ones would have arrived after all was over.
          late: arrows.filter((/** @type {any} */ a) => a.fate === 'lost' && a.at > run.now).length,
          back: came.filter((/** @type {any} */ a) => a.at < a.sent).length,
          across: all.filter((/** @type {any} */ r) => r.cause !== null && all[r.cause].node !== r.node).length,
          order: all.every((/** @type {any} */ r, /** @type {number} */ i) => r.seq === i && (r.cause === null || r.cause < i) && (i === 0 || all[i - 1].at <= r.at)),
          totals: run.source.totals(),
        };
      });
      assert.deepEqual(seen.names, ['send', 'receive']);
      assert.deepEqual([seen.guessed, seen.back, seen.order], [0, 0, true]);
      assert.equal(seen.came, arrived('send') + arrived('receive'));
      assert.ok(seen.lost > 0 && seen.totals.lost === seen.lost - seen.late, `${seen.lost} were lost, ${JSON.stringify(seen.totals)}`);
      assert.ok(seen.across > 0, 'what one does is caused by what the other sent');
      assert.ok(seen.totals.written > 40 && seen.totals.delivered === seen.totals.written, JSON.stringify(seen.totals));
      const { verified, kind } = await state(page);
      const all = checkpoints('send') + checkpoints('receive');
      assert.deepEqual([kind, verified.checked, verified.total, verified.diverged_at], ['trace', all, all, null]);

      // To and fro comes to the same.
      const pair = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        session.clock.seekEvent(Math.floor(run.count / 2));
        const there = [run.digest, JSON.stringify(run.margins(0)), JSON.stringify(run.margins(1))];
        session.clock.step(1);
        session.clock.step(-1);
        return [there, [run.digest, JSON.stringify(run.margins(0)), JSON.stringify(run.margins(1))]];
      });
      assert.deepEqual(pair[0], pair[1]);
      await frame(page);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('a coordinator and its two clients: one matrix, in which each did what the others caused', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=rush-hour&t=0');
      const names = ['swarm-one', 'swarm-both', 'swarm-two'];
      await dropAll(page, names.map((name) => /** @type {[string, Buffer]} */ ([`${name}.sqlog`, bytesOf(name)])));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('swarm-pane'))?.lanes[0]?.run.rows.length > 0);
      const seen = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        session.clock.seek(run.horizon);
        const all = run.records(0, run.count, '');
        // Both have gone at the end; when the last piece came, both were there.
        session.clock.seek(all.findLast((/** @type {any} */ r) => r.event.swarm?.what === 'arrived').at);
        run.refresh();
        const caused = new Set(all.filter((/** @type {any} */ r) => r.cause !== null && all[r.cause].node_name !== r.node_name).map((/** @type {any} */ r) => `${all[r.cause].node_name} ${r.node_name}`));
        const { nodes } = run.verified();
        return {
          view: session.view.id, together: run.together, nodes,
          rows: run.rows.map((/** @type {any} */ row) => row.name), home: run.home.name,
          whole: run.source.outcome().whole, held: [...run.cells].filter((cell) => cell === 1 || cell === 6).length, pieces: run.pieces,
          caused: [...caused].sort(),
          own: run.rows.map((/** @type {any} */ row, /** @type {number} */ i) => all.filter((/** @type {any} */ r) => r.node === i && r.event.client).every((/** @type {any} */ r) => r.node_name === row.name)),
          clients: all.filter((/** @type {any} */ r) => r.event.client).length,
          order: all.every((/** @type {any} */ r, /** @type {number} */ i) => r.seq === i && (r.cause === null || r.cause < i) && (i === 0 || all[i - 1].at <= r.at)),
        };
      });
      assert.deepEqual([seen.view, seen.together, seen.home, seen.nodes], ['swarm', true, 'swarm-both', [3, 3]]);
      assert.deepEqual(seen.rows.toSorted(), ['swarm-one', 'swarm-two']);
      assert.deepEqual([seen.whole, seen.held, seen.order], [2, 2 * seen.pieces, true]);
      assert.ok(seen.clients > 0 && seen.own.every(Boolean), JSON.stringify(seen));
      // What each of the three did came of both others.
      assert.deepEqual(seen.caused, names.flatMap((a) => names.filter((b) => b !== a).map((b) => `${a} ${b}`)).sort());
      const { verified, kind } = await state(page);
      const all = names.reduce((sum, name) => sum + checkpoints(name), 0);
      assert.deepEqual([kind, verified.checked, verified.total, verified.diverged_at], ['trace', all, all, null]);
      assert.match(await page.$eval('.verdict', (n) => n.textContent ?? ''), /verified 3 of 3/);

      // To and fro comes to the same.
      const pair = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        session.clock.seekEvent(Math.floor(run.count / 2));
        const now = () => { run.refresh(); return [run.digest, run.index, [...run.cells].join('')]; };
        const there = now();
        session.clock.step(1);
        session.clock.step(-1);
        return [there, now()];
      });
      assert.deepEqual(pair[0], pair[1]);
      await frame(page);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('a link names both, and those who never met are refused', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      await dropAll(page, [['send.sqlog', bytesOf('send')], ['get.sqlog', bytesOf('get')]]);
      await page.waitForFunction(() => /sent each other nothing/.test(document.querySelector('.notice')?.textContent ?? ''));
      assert.equal((await state(page)).kind, 'scenario', 'what was looked at stays');
      await page.close();

      const extra = (/** @type {any} */ req, /** @type {any} */ res) => {
        const name = /^\/tapes\/(\w+)\.sqlog$/.exec(req.url)?.[1];
        if (!name) return false;
        res.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytesOf(name));
        return true;
      };
      const served = await start(browser, { extra });
      try {
        const { page: linked, complaints } = await open(served, '#trace=tapes/send.sqlog&trace=tapes/receive.sqlog');
        await linked.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.nodes.length === 2);
        assert.deepEqual([(await state(linked)).view, complaints], ['unicast', []]);
        await linked.close();
      } finally {
        await served.close();
      }
    });
  });
}
