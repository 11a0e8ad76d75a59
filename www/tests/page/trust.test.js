/** What is shown can be trusted: what was done is seen, numbers agree, nothing is offered that cannot be. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, drop, frame, open, start, state } from '../browser.js';

const TRACE = process.env.LAB_TRACE;
const skip = !(TRACE && existsSync(TRACE)) && 'LAB_TRACE names no recorded run';

/** @param {import('puppeteer-core').Page} page @param {(session: any, ...args: any[]) => any} work @param {...any} args */
const within = (page, work, ...args) => page.evaluate(`(${work})(document.querySelector('servent-lab').session, ...${JSON.stringify(args)})`);

/** @param {import('puppeteer-core').Page} page */
const explored = (page) => page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.runs().every((/** @type {any} */ run) => run.explored));

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('a recorded run opens at its first event and plays from there to its end', { skip }, async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      await drop(page, 'run.sqlog', readFileSync(String(TRACE)));
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.kind === 'trace');
      const begun = await state(page);
      const origin = await within(page, (session) => session.run.origin);
      assert.ok(origin > 1e15, 'it counts from the epoch');
      assert.equal(begun.now, origin);
      assert.equal(await page.$eval('.clock', (n) => n.textContent), '0.000 s');
      await page.click('[data-do="play"]');
      await page.waitForFunction((/** @type {number} */ from) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.now > from + 1e6, {}, origin);
      assert.ok((await state(page)).index > 0);
      await within(page, (session) => { session.clock.speed = 1000; });
      await page.waitForFunction(() => !(/** @type {any} */ (document.querySelector('servent-lab')).session.clock.playing));
      const end = await state(page);
      assert.equal(end.index, end.count);
      await page.close();
    });

    test('the play button stays readable under the pointer', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      const ink = () => page.$eval('[data-do="play"]', (n) => [getComputedStyle(n).backgroundColor, getComputedStyle(n).color]);
      const [plain, colour] = await ink();
      await page.hover('[data-do="play"]');
      await new Promise((done) => setTimeout(done, 400));
      assert.deepEqual(await ink(), [plain, colour]);
      assert.notEqual(plain, colour);
      await page.close();
    });

    test('why has numbers, and its clause opens the passage among its neighbours', async () => {
      const { page, complaints } = await open(started, '#1/queue?p=impatient&t=0');
      await explored(page);
      await within(page, (session) => session.clock.seekEvent(session.run.records(0, 1, '"too_early"')[0].seq));
      await page.waitForSelector('.why .numbers');
      assert.match(await page.$eval('.why .numbers', (n) => n.textContent ?? ''), /^Asked at .+; allowed from .+ too early/);
      await page.click('.why button.clause');
      await page.waitForSelector('dialog[open] .passages');
      const { here, all } = await page.$eval('dialog .passages', (n) => ({ here: n.querySelector('[aria-current] code')?.textContent, all: n.children.length }));
      assert.match(String(here), /^(AQ-5|PQ-7)$/);
      assert.ok(all > 10);
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('what an input changed is shown at every event that came of it', async () => {
      const { page } = await open(started, '#1/queue?p=impatient&t=0');
      await explored(page);
      const changed = await within(page, (session) => {
        const { run } = session;
        return run.records(0, 5000, '"lost"').filter((/** @type {any} */ r) => r.event.queue?.what === 'lost').map((/** @type {any} */ r) => {
          run.raw.seekEvent(r.seq);
          return run.diff(r.node).length;
        });
      });
      assert.ok(changed.length >= 2);
      assert.ok(changed.every((n) => n > 0), `changes at the events that lose a place: ${changed}`);
      await within(page, (session) => {
        const [lost] = session.run.records(0, 1, '"too_early"');
        session.clock.seekEvent(lost.seq);
      });
      await page.waitForSelector('.diff li');
      await page.close();
    });

    test('at a datagram that acknowledges, the window of the sender moves', async () => {
      const { page } = await open(started, '#1/unicast?p=lose-middle&t=0');
      await explored(page);
      const paths = await within(page, (session) => {
        const { run } = session;
        const acked = run.records(0, 5000, '"acked"').find((/** @type {any} */ r) => r.event.unicast?.what === 'acked');
        run.raw.seekEvent(acked.seq);
        return run.diff(acked.node).map((/** @type {any} */ c) => c.path);
      });
      assert.ok(paths.includes('peers.0.sender.ha'), paths.join());
      await page.close();
    });

    test('a cut wire is seen, told and marked in the frame in which it is cut, though the clock stands', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=40000');
      await explored(page);
      await page.waitForSelector('.lane[data-lane="sync"] .card');
      await page.click('.lane[data-lane="sync"] .card-main');
      const where = () => page.$eval('.card[data-selected], .chip[data-selected], .tray', (n) => `${n.closest('.lane')?.getAttribute('data-lane') ?? 'none'} ${n.textContent}`);
      const lane = await where();
      // The flash is over in half a second: a busy machine asks later than that.
      const flashed = page.evaluate(() => new Promise((done) => {
        new MutationObserver(() => done(true)).observe(/** @type {Element} */ (document.querySelector('.panes')), { attributeFilter: ['data-struck'] });
      }));
      await page.keyboard.press('d');
      await frame(page);
      assert.equal((await state(page)).playing, false);
      assert.notEqual(await where(), lane, 'the card has moved');
      assert.match(await page.$eval('.notice', (n) => n.textContent ?? ''), /wire .* is cut\. .+ A new branch begins here/);
      assert.ok(await flashed, 'the picture says that something was done');
      assert.ok(await page.$('.pin[data-kind="fault"]'), 'and so does the line of time');
      await page.waitForFunction(() => !document.querySelector('.panes[data-struck]'));
      await page.close();
    });

    for (const [view, story, at, select] of /** @type {[string, string, number, string][]} */ ([
      ['routing', 'ring', 900, 'kill'], ['swarm', 'free-piece', 2000, 'kill'], ['unicast', 'lose-middle', 200, 'crash'],
    ])) {
      test(`${view}: who was killed is not offered to be killed`, async () => {
        const { page } = await open(started, `#1/${view}?p=${story}&t=${at}`);
        await explored(page);
        await within(page, (session) => { session.select({ node: 1, ticket: null, name: session.run.node(1).name }); });
        await page.waitForSelector(`.gestures [data-gesture="${select}"]`);
        await page.click(`.gestures [data-gesture="${select}"]`);
        await frame(page);
        const offered = await page.$$eval('.gestures [data-gesture]', (all) => all.map((n) => /** @type {HTMLElement} */ (n).dataset.gesture));
        assert.ok(!offered.includes(select) && offered.includes('restart'), offered.join());
        await page.close();
      });
    }

    test('search finds what the rows say, and by kind, node and requirement', async () => {
      const { page } = await open(started, '#1/queue?m=events&p=impatient&t=0');
      await explored(page);
      const found = async (/** @type {string} */ query) => {
        await page.$eval('event-table input', (n, text) => {
          /** @type {HTMLInputElement} */ (n).value = text;
          n.dispatchEvent(new Event('input'));
        }, query);
        await new Promise((done) => setTimeout(done, 900));
        return page.$$eval('.events tr[data-seq]', (rows) => rows.map((n) => n.textContent ?? ''));
      };
      assert.ok((await found('loses the place')).length >= 2);
      for (const row of await found('loses the place')) assert.match(row, /loses the place/);
      assert.deepEqual(await found('"ticket"'), [], 'what is not shown is not found');
      const lost = await found('type:lost why:too_early');
      assert.ok(lost.length >= 2);
      for (const row of lost) assert.match(row, /asked before it was allowed/);
      const early = await found('AQ-5');
      assert.ok(early.length >= 1);
      for (const row of early) assert.match(row, /asked before/);
      for (const row of await found('node:hasty-1')) assert.match(row, /hasty-1/);
      await page.close();
    });

    test('one key leads from loss to loss and back, in every view', async () => {
      for (const [view, story, lost] of /** @type {[string, string, RegExp][]} */ ([
        ['queue', 'impatient', /loses the place|closes|refuse/], ['routing', 'ring', /drops/], ['unicast', 'lose-middle', /lost/],
      ])) {
        const { page } = await open(started, `#1/${view}?p=${story}&t=0`);
        await explored(page);
        const told = () => within(page, (session) => session.current()?.seq ?? -1);
        const said = () => page.$eval('lab-inspector', (n) => n.textContent ?? '');
        await page.keyboard.press('.');
        await frame(page);
        const first = await told();
        assert.match(await said(), lost, view);
        await page.keyboard.press('.');
        if (await told() !== first) {
          await page.keyboard.press(',');
          assert.equal(await told(), first, view);
        }
        await page.keyboard.press(',');
        await page.waitForFunction(() => /Nothing was lost before/.test(document.querySelector('.notice')?.textContent ?? ''));
        await page.close();
      }
    });

    test('space plays after a tab or another button was clicked', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      await page.click('[data-view="swarm"]');
      await page.waitForSelector('swarm-pane');
      await within(page, (session) => session.clock.pause());
      const { mode } = await state(page);
      await page.keyboard.press(' ');
      assert.equal((await state(page)).playing, true);
      await page.keyboard.press(' ');
      const then = await state(page);
      assert.deepEqual([then.playing, then.view, then.mode], [false, 'swarm', mode]);
      await page.close();
    });

    test('a reload leads back to the view, its story, the moment and what was done', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      await page.click('[data-view="unicast"]');
      await page.waitForSelector('unicast-pane');
      await within(page, (session) => {
        session.openPreset('lose-last');
        session.clock.seek(600e3);
        session.select({ node: 0, ticket: null, name: 'A' });
        session.actions.gesture('stall');
        session.clock.seek(900e3);
      });
      await page.waitForFunction(() => location.hash.includes('unicast?') && location.hash.includes('f='));
      const before = await state(page);
      await page.reload();
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab'))?.session?.run);
      await page.waitForSelector('unicast-pane');
      const again = await state(page);
      for (const key of /** @type {const} */ (['view', 'now', 'index', 'digest', 'faults', 'selected'])) assert.equal(again[key], before[key], key);
      await page.close();
    });

    test('branches have lanes of their own height: the picture stays where it is', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=20000');
      await explored(page);
      const height = () => page.$eval('queue-pane', (n) => n.getBoundingClientRect().height);
      const before = await height();
      await within(page, (session) => {
        for (let i = 0; i < 8; i += 1) {
          session.actions.useBranch(0);
          session.clock.seek(20e6 + i * 1e6);
          session.select({ node: 2, ticket: null, name: session.run.node(2).name });
          session.actions.gesture('cut');
        }
      });
      await frame(page);
      assert.equal((await state(page)).branches, 9);
      assert.equal(await height(), before);
      const seen = await page.$eval('.branch[aria-current]', (n) => {
        const [lane, room] = [n.getBoundingClientRect(), /** @type {Element} */ (n.parentElement).getBoundingClientRect()];
        return lane.top >= room.top - 1 && lane.bottom <= room.bottom + 1;
      });
      assert.ok(seen, 'the branch in use is in sight');
      await page.close();
    });

    test('a foreign style sheet does not keep a view from being drawn as it should', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=0');
      await page.evaluate(() => document.head.prepend(document.createElement('style')));
      await page.click('[data-view="swarm"]');
      await page.waitForSelector('swarm-pane');
      await frame(page);
      assert.equal(await page.$eval('swarm-pane', (n) => getComputedStyle(n).display !== 'inline'), true);
      await page.close();
    });

    test('the numbers of the routing view are those of the core, and add up', async () => {
      const { page } = await open(started, '#1/routing?p=cycles&t=3000');
      await explored(page);
      await new Promise((done) => setTimeout(done, 400));
      const { told, shown } = await page.evaluate(() => {
        const { run } = /** @type {any} */ (document.querySelector('servent-lab')).session;
        const shown = Object.fromEntries([...document.querySelectorAll('.routing-figures [data-figure]')].map((n) => [/** @type {HTMLElement} */ (n).dataset.figure, Number(n.querySelector('b')?.textContent?.replace(/\D/g, ''))]));
        return { told: run.counters(), shown };
      });
      assert.ok(told.duplicate > 10);
      assert.deepEqual(shown, { sent: told.sent, useful: told.useful, dropped: told.dropped, lost: told.lost });
      assert.equal(told.sent, told.useful + told.dropped + told.lost + told.flying);
      assert.match(await page.$eval('.routing-figures [data-figure="dropped"]', (n) => n.textContent ?? ''), new RegExp(`${told.duplicate} duplicate`));
      await page.close();
    });

    test('an answer has come over as many links as are lit', async () => {
      const { page } = await open(started, '#1/routing?p=ring&t=5900');
      await explored(page);
      const hops = await within(page, (session) => session.run.records(0, 5000, '"found"').filter((/** @type {any} */ r) => r.event.app?.what === 'found').map((/** @type {any} */ r) => r.event.app.hops));
      assert.deepEqual(hops, [5], 'the file is five links away in the ring');
      await page.close();
    });

    test('the range of the tables holds every entry below it', async () => {
      const { page } = await open(started, '#1/routing?p=way-back&t=3500');
      await explored(page);
      const { range, rows, life } = await within(page, (session) => {
        const { run } = session;
        const { rows, life } = run.tables(2);
        return { life, range: document.querySelector('.routing-lives output')?.textContent, rows: rows.map((/** @type {any} */ r) => [r.kind, r.expires_at - run.now]) };
      });
      assert.equal(range, '10:00 to 20:00');
      assert.ok(rows.length > 1);
      for (const [kind, left] of rows) assert.ok(left <= 2 * (kind === 'query' ? life.query : life.push), `${kind} ${left}`);
      await page.close();
    });

    test('copies are those that clients hold: what is on its way is not counted', async () => {
      const { page } = await open(started, '#1/swarm?p=rarest-first&t=3000');
      await explored(page);
      await frame(page);
      const { rarity, held, flying } = await within(page, (session) => {
        const { run } = session;
        run.stamp = '';
        run.refresh();
        const held = new Array(run.pieces).fill(0);
        run.cells.forEach((/** @type {number} */ cell, /** @type {number} */ i) => { if (cell === 1 || cell === 6) held[i % run.pieces] += 1; });
        return { rarity: [...run.rarity], held, flying: run.transfers.length };
      });
      assert.ok(flying > 0 && held.some((n) => n > 0));
      assert.deepEqual(rarity, held);
      await page.close();
    });
  });
}
