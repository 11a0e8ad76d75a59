/** What a visitor does with the swarm swarm, in real browsers. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BROWSERS, copiedLink, forgetful, frame, oddSentences, open, soughtAndRun, start, state } from '../browser.js';

const STORY = '#1/swarm?p=rarest-first&m=single';

/** Waits until the picture knows all there is to know. @param {import('puppeteer-core').Page} page */
const drawn = (page) => page.waitForFunction(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { lanes } = /** @type {any} */ (document.querySelector('swarm-pane')) ?? {};
  return session.view.id === 'swarm' && lanes?.length && lanes.length === session.runs().length && lanes.every((/** @type {any} */ l, /** @type {number} */ i) => l.run === session.runs()[i] && l.run.explored && l.run.stamp && l.run.outcome.bound > 0);
}, { timeout: 60_000 });

/** What the page has of its runs. @param {import('puppeteer-core').Page} page */
const swarms = (page) => page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.runs().map((/** @type {any} */ run) => {
  run.refresh();
  run.learn();
  const { policy, now, outcome, counters, pieces, transfers } = run;
  return { policy, now, outcome, counters, pieces, clients: run.rows.length, rows: structuredClone(run.rows), transfers: structuredClone(transfers), cells: [...run.cells], rarity: [...run.rarity] };
}));

/** Selects the first transfer between two clients that runs a while after so many microseconds. @param {import('puppeteer-core').Page} page @param {number} from */
const selectFlow = (page, from) => page.evaluate((at) => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const pane = /** @type {any} */ (document.querySelector('swarm-pane'));
  for (let us = at; us < session.clock.end; us += 250_000) {
    session.clock.seek(us);
    session.run.refresh();
    const flow = session.run.transfers.find((/** @type {any} */ f) => f.giver >= 0);
    if (!flow) continue;
    pane.update();
    pane.cursor = { row: flow.taker, piece: flow.piece };
    pane.scroller.focus();
    return flow;
  }
  return null;
}, from);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('opens from its tab, with its module only then', async () => {
      const fresh = await start(name, { extra: forgetful });
      const { page, complaints } = await open(fresh, '#1/queue?p=rush-hour&t=60000');
      assert.deepEqual(fresh.server.requests.filter((r) => r.startsWith('/js/swarm/')), [], 'the page of the queue loads nothing else');
      await page.click('[data-view="swarm"]');
      await drawn(page);
      assert.ok(fresh.server.requests.some((r) => r === '/js/swarm/view.js'));
      const words = await page.$eval('swarm-pane', (n) => n.textContent ?? '');
      assert.match(words, /adaptive|2004/);
      assert.doesNotMatch(words, /undefined|NaN|null|[a-z]+\.[a-z]+\.[a-z]/);
      assert.deepEqual(complaints, []);
      await page.close();
      await fresh.close();
    });

    test('rows, cells, copies and transfers agree with each other', async () => {
      const { page } = await open(started, STORY);
      await drawn(page);
      for (const part of [0, 0.2, 0.5, 0.9, 1]) {
        await page.evaluate((p) => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.seek(session.clock.end * p); }, part);
        const [swarm] = await swarms(page);
        const { pieces, cells, rows, transfers } = swarm;
        rows.forEach((/** @type {any} */ row, /** @type {number} */ i) => {
          const held = cells.slice(i * pieces, (i + 1) * pieces).filter((/** @type {number} */ c) => c === 1 || c === 6).length;
          assert.equal(held, row.have, `${row.name} at ${part}`);
        });
        for (const { giver, taker, piece, share } of transfers) {
          assert.ok(share >= 0 && share <= 1, `${share}`);
          assert.ok([2, 3].includes(cells[taker * pieces + piece]) || share === 1, `${taker}/${piece} is ${cells[taker * pieces + piece]}`);
          if (giver >= 0) assert.ok([1, 6].includes(cells[giver * pieces + piece]), `${giver} gives what it has`);
        }
      }
      await page.close();
    });

    test('a piece on its way tells how its giver was chosen, clause by clause', async () => {
      const { page } = await open(started, STORY);
      await drawn(page);
      const flow = await selectFlow(page, 5e6);
      assert.ok(flow);
      await page.keyboard.press('Enter');
      await page.waitForSelector('.funnel li.chosen');
      assert.equal(await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.selection.transfer), flow.id);
      const steps = await page.$$eval('.funnel li', (list) => list.map((n) => ({ step: /** @type {HTMLElement} */ (n).dataset.step, n: n.querySelector('b')?.textContent, id: n.querySelector('code')?.textContent, words: n.querySelector('summary span')?.textContent ?? '' })));
      assert.ok(steps.length >= 4, JSON.stringify(steps));
      for (const { id, words } of steps) {
        assert.match(id ?? '', /^SW-\d+$/);
        assert.match(words, /\w{3}/);
        assert.doesNotMatch(words, /undefined|NaN|null|funnel\.|chosen\./);
      }
      const giver = await page.evaluate((row) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.rows[row].name, flow.giver);
      assert.match(steps.at(-1)?.words ?? '', new RegExp(`\\b${giver}\\b`));
      // Its record is the assignment, so the page says why.
      await page.click('.funnel li.chosen summary');
      assert.match(await page.$eval('.funnel li.chosen p', (n) => n.textContent ?? ''), /lines \d|not in the text/);
      await page.close();
    });

    test('a killed client stays a branch; the old future is as it was', async () => {
      const { page } = await open(started, `${STORY}&t=12000`);
      await drawn(page);
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(12e6));
      const [old] = await swarms(page);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      assert.equal((await state(page)).selected, 1);
      await page.keyboard.press('x');
      await page.waitForSelector('.branch');
      await drawn(page);
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.step(1));
      const [struck] = await swarms(page);
      assert.equal(struck.rows[1].up, false);
      await page.keyboard.press('u');
      await drawn(page);
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(12e6));
      const [again] = await swarms(page);
      assert.deepEqual(again.cells, old.cells);
      assert.equal(again.rows[1].up, true);
      await page.close();
    });

    test('every gesture on a client is taken', async () => {
      const { page } = await open(started, `${STORY}&t=8000`);
      await drawn(page);
      const refused = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const refused = /** @type {string[]} */ ([]);
        // What was done is told too, and how it goes on.
        session.addEventListener('notice', (/** @type {any} */ e) => { if (!/(A new branch begins here; the old future is kept|Press play to see what follows)\.$/.test(e.detail.sentence)) refused.push(e.detail.sentence); });
        session.clock.seek(8e6);
        session.select({ node: 2, ticket: null, name: 'x', lane: 0 });
        for (const gesture of ['stall', 'resume', 'passive', 'active', 'firewall', 'open', 'corrupt', 'honest', 'kill', 'restart']) {
          session.run.refresh();
          session.actions.gesture(gesture);
          session.clock.step(1);
        }
        session.select({ node: session.run.home.id, ticket: null, name: 'x', lane: 0 });
        session.actions.gesture('restart_coordinator');
        return refused;
      });
      assert.deepEqual(refused, []);
      await page.close();
    });

    test('the swarm that deadlocks says so, and the one beside it finishes', async () => {
      const { page } = await open(started, '#1/swarm?p=deadlock&t=0');
      await drawn(page);
      const both = await swarms(page);
      assert.deepEqual(both.map((/** @type {any} */ s) => s.policy), ['seed2004', 'adaptive']);
      const [old, adaptive] = both;
      assert.ok(old.outcome.deadlocked !== null && !old.outcome.finished);
      assert.ok(adaptive.outcome.finished && adaptive.outcome.deadlocked === null);
      assert.equal(await page.$('.still .deadlock'), null, 'not before it happens');
      await page.evaluate((at) => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(at), old.outcome.deadlocked + 1e6);
      await page.waitForSelector('.still .deadlock');
      assert.match(await page.$eval('.still .deadlock', (n) => n.textContent ?? ''), /Nothing has moved since \d/);
      assert.equal((await page.$$('.still .deadlock')).length, 1);
      assert.equal(both[0].now, both[1].now);
      await page.close();
    });

    test('arrow keys go from cell to cell, and each is said', async () => {
      const { page } = await open(started, `${STORY}&t=9000`);
      await drawn(page);
      await page.focus('.swarm-scroll');
      const said = () => page.$eval('[role="status"].quiet', (n) => n.textContent ?? '');
      const heard = [];
      for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'End', 'PageDown', 'Home']) {
        await page.keyboard.press(key);
        heard.push(await said());
      }
      assert.equal(new Set(heard).size, heard.length, heard.join(' | '));
      for (const words of heard) assert.doesNotMatch(words, /undefined|NaN|null|cell\./);
      assert.equal((await state(page)).now, 9e6, 'time stands still meanwhile');
      await page.close();
    });

    test('the table says what the picture shows', async () => {
      const { page } = await open(started, `${STORY}&t=9000`);
      await drawn(page);
      await page.click('[data-table]');
      await page.waitForSelector('.swarm-table tbody tr');
      const [swarm] = await swarms(page);
      const rows = await page.$$eval('.swarm-table tbody tr', (list) => list.map((tr) => [...tr.children].map((td) => td.textContent ?? '')));
      assert.equal(rows.length, Math.min(50, swarm.clients));
      rows.forEach((cells, i) => {
        assert.equal(cells[0], swarm.rows[i].name);
        assert.match(cells[2], new RegExp(`^${swarm.rows[i].have} of `));
      });
      await page.click('.swarm-table tbody button[data-row="3"]');
      assert.equal((await state(page)).selected, 3);
      await page.close();
    });

    test('seeking leads to the state that running leads to', async () => {
      const { page } = await open(started, '#1/swarm?p=firewalls&m=single');
      await drawn(page);
      const digests = await soughtAndRun(page);
      assert.equal(digests[0], digests[1]);
      await page.close();
    });

    test('a link leads back to moment, branch and transfer', async () => {
      const { page } = await open(started, `${STORY}&t=8000`);
      await drawn(page);
      await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.seek(8e6);
        session.select({ node: 2, ticket: null, name: 'c2', lane: 0 });
        session.actions.gesture('kill');
      });
      await drawn(page);
      const flow = await selectFlow(page, 9e6);
      await page.keyboard.press('Enter');
      const before = await state(page);
      const hash = await copiedLink(page);
      await page.close();
      const again = await open(started, hash);
      await drawn(again.page);
      const after = await state(again.page);
      for (const key of /** @type {const} */ (['now', 'index', 'digest', 'branch', 'branches', 'view', 'mode'])) assert.equal(after[key], before[key], key);
      assert.equal(await again.page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.selection.transfer), flow.id);
      assert.equal(await again.page.$('.notice.bad'), null);
      await again.page.close();
    });

    test('every story but the crowd reads as sentences', async () => {
      const { page, complaints } = await open(started, STORY);
      await drawn(page);
      const { ids, odd } = await oddSentences(page, { but: 'flash-crowd', part: 1 / 3 });
      assert.ok(ids.length >= 7, ids.join());
      assert.deepEqual([...new Set(odd)], []);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('zoom makes columns wider and rows taller, and moves nothing in time', async () => {
      const { page } = await open(started, `${STORY}&t=9000`);
      await drawn(page);
      const grid = () => page.evaluate(() => { const { column, row } = /** @type {any} */ (document.querySelector('swarm-pane')).lanes[0].grid; return { column, row }; });
      const before = await grid();
      await page.click('[data-zoom="column.1"]');
      await frame(page);
      await page.click('[data-zoom="row.-1"]');
      await frame(page);
      const after = await grid();
      assert.ok(after.column > before.column && after.row < before.row, JSON.stringify({ before, after }));
      assert.equal((await state(page)).now, 9e6);
      await page.close();
    });

    test('on a phone one swarm is shown, and the other by its tab', async () => {
      const { page } = await open(started, '#1/swarm?p=deadlock&t=3000', { width: 320, height: 640 });
      await drawn(page);
      await frame(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 320);
      assert.equal((await page.$$('.swarm-head:not([hidden])')).length, 1);
      await page.click('.swarm-tabs [data-lane="1"]');
      await frame(page);
      assert.match(await page.$eval('.swarm-head:not([hidden]) h2', (n) => n.textContent ?? ''), /adaptive/);
      await page.close();
    });

    test('one’s own scenario: half of a group behind a wall becomes a group of its own', async () => {
      const { page } = await open(started, STORY);
      await drawn(page);
      await page.click('[data-tool="scenario"]');
      await page.waitForSelector('dialog[open] [name="share"]');
      for (const [field, value] of [['count', '10'], ['share', '50'], ['pieces', '8']]) {
        await page.$eval(`dialog [name="${field}"]`, (n, v) => {
          /** @type {HTMLInputElement} */ (n).value = v;
          n.dispatchEvent(new Event('input', { bubbles: true }));
        }, value);
      }
      await page.click('dialog [type="submit"]');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run?.pieces === 8);
      const clients = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.scenario.clients.map((/** @type {any} */ g) => [g.count, g.passive]));
      assert.deepEqual(clients, [[5, false], [5, true]]);
      await page.close();
    });

    test('a thousand rows cost hardly more to draw than those in sight', async () => {
      const { page } = await open(started, '#1/swarm?p=rarest-first&m=single&t=3000');
      await drawn(page);
      const took = await page.evaluate(async () => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const pane = /** @type {any} */ (document.querySelector('swarm-pane'));
        const [group] = session.scenario.clients;
        const measure = async (/** @type {number} */ count) => {
          session.openScenario({ ...session.scenario, clients: [{ ...group, count }], horizon: 6e6 });
          session.clock.seek(4e6);
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          pane.tall = 3;
          const took = Array(31).fill(Infinity);
          // The quickest of several rounds: whatever is longer says more of the machine's other work.
          for (let round = 0; round < 5; round += 1) {
            for (let i = 0; i < took.length; i += 1) {
              pane.scroller.scrollTop = i * 20;
              const begun = performance.now();
              pane.update();
              took[i] = Math.min(took[i], performance.now() - begun);
            }
          }
          return took.sort((a, b) => a - b)[15];
        };
        return [await measure(64), await measure(1000)];
      });
      console.log(`# ${name}: 64 rows ${took[0].toFixed(1)} ms, 1 000 rows ${took[1].toFixed(1)} ms`);
      assert.ok(took[1] < 4 * took[0] + 4, `${took}`);
      await page.close();
    });

    test('the single file has this view too', { skip: !(process.env.SERVENT_SINGLE && existsSync(process.env.SERVENT_SINGLE)) }, async () => {
      const url = pathToFileURL(String(process.env.SERVENT_SINGLE)).href;
      const { page, complaints } = await open(started, `${STORY}&t=5000`, { url });
      await drawn(page);
      assert.ok((await state(page)).index > 0);
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
