/** What a visitor does with the retransmission unicast, in real browsers. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BROWSERS, copiedLink, forgetful, frame, oddSentences, open, soughtAndRun, start, state } from '../browser.js';

const STORY = '#1/unicast?p=lose-middle';

/** Waits until the picture knows all there is to know. @param {import('puppeteer-core').Page} page */
const drawn = (page) => page.waitForFunction(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { lanes } = /** @type {any} */ (document.querySelector('unicast-pane')) ?? {};
  return session.view.id === 'unicast' && session.run?.explored && lanes?.length && lanes.every((/** @type {any} */ l) => l.run.arrows.length > 0);
});

/** The arrows of a run, as the page has them. @param {import('puppeteer-core').Page} page */
const arrows = (page) => page.evaluate(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  session.run.refresh();
  return session.run.arrows.map((/** @type {any} */ a) => ({ id: a.id, from: a.from, n: a.n, sent: a.sent, at: a.at, fate: a.fate, why: a.why, again: a.again, data: a.blocks.some((/** @type {any} */ b) => b.data) }));
});

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('opens by a key, with its module only then, and leads back to where the queue was left', async () => {
      const fresh = await start(name, { extra: forgetful });
      const { page, complaints } = await open(fresh, '#1/queue?p=rush-hour&t=60000');
      assert.deepEqual(fresh.server.requests.filter((r) => r.startsWith('/js/unicast/')), [], 'the page of the queue loads nothing else');
      await page.keyboard.press('3');
      await drawn(page);
      assert.ok(fresh.server.requests.some((r) => r === '/js/unicast/view.js'));
      const words = await page.$eval('unicast-pane', (n) => n.textContent ?? '');
      assert.match(words, /as in the text/);
      assert.match(words, /adaptive/);
      assert.doesNotMatch(words, /undefined|NaN|null|[a-z]+\.[a-z]+\.[a-z]/);
      await page.keyboard.press('1');
      await frame(page);
      const back = await state(page);
      assert.deepEqual([back.view, back.now], ['queue', 60e6]);
      assert.deepEqual(complaints, []);
      await page.close();
      await fresh.close();
    });

    test('a drop by key changes the future and keeps the old one', async () => {
      const { page } = await open(started, `${STORY}&m=single&t=0`);
      await drawn(page);
      const old = await arrows(page);
      const before = await state(page);
      // The second of those that carry a message, and arrived.
      const target = old.filter((a) => a.data && a.fate === 'arrived')[1];
      const steps = old.findIndex((a) => a.id === target.id);
      for (let i = 0; i <= steps; i += 1) await page.keyboard.press('ArrowDown');
      assert.equal(await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.selection.arrow), target.id);
      await page.keyboard.press('d');
      await page.waitForSelector('.branch');
      await drawn(page);
      const after = await state(page);
      assert.equal(after.branches, before.branches + 1);
      assert.equal(after.now, target.sent + 1, 'it is struck where it was sent, and that is seen');
      const fresh = await arrows(page);
      const struck = fresh.find((a) => a.id === target.id);
      assert.deepEqual([struck?.fate, struck?.why], ['lost', 'drop']);
      assert.ok(fresh.some((a) => a.again && a.sent > target.sent), 'the loss is mended');
      await page.keyboard.press('u');
      await drawn(page);
      assert.deepEqual(await arrows(page), old, 'the old future is as it was');
      await page.close();
    });

    test('the toolbar beside an arrow delays and doubles it', async () => {
      const { page } = await open(started, `${STORY}&m=single&t=0`);
      await drawn(page);
      const [first] = await arrows(page);
      await page.keyboard.press('ArrowDown');
      await page.waitForSelector('.arrow-tools:not([hidden]) [data-gesture="delay"]');
      await page.click('.arrow-tools [data-gesture="delay"]');
      await drawn(page);
      const late = (await arrows(page)).find((a) => a.id === first.id);
      assert.ok(Number(late?.at) > Number(first.at), `${late?.at} is later than ${first.at}`);
      await page.click('.arrow-tools [data-gesture="duplicate"]');
      await drawn(page);
      const { copies } = await page.evaluate(() => {
        const { run } = /** @type {any} */ (document.querySelector('servent-lab')).session;
        run.refresh();
        return { copies: run.arrows.filter((/** @type {any} */ a) => a.copy_of !== null).map((/** @type {any} */ a) => a.copy_of) };
      });
      assert.ok(copies.includes(first.id), JSON.stringify(copies));
      await page.close();
    });

    test('both profiles meet the same losses on one clock', async () => {
      const { page } = await open(started, `${STORY}&t=100`);
      await drawn(page);
      const both = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        return session.runs().map((/** @type {any} */ run) => ({ profile: run.profile, now: run.now, lost: run.arrows.filter((/** @type {any} */ a) => a.fate === 'lost').map((/** @type {any} */ a) => a.id) }));
      });
      assert.deepEqual(both.map((/** @type {any} */ b) => b.profile), ['unicast3', 'adaptive']);
      assert.equal(both[0].now, both[1].now);
      assert.ok(both[0].lost.length > 0);
      assert.deepEqual(both[0].lost, both[1].lost);
      await page.close();
    });

    test('a story of two congestion controls shows them side by side, with what waits beside the arrows', async () => {
      const { page } = await open(started, '#1/unicast?p=fill-the-queue&t=4000');
      await drawn(page);
      const sides = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        return session.runs().map((/** @type {any} */ run) => ({ way: run.way, paced: run.margins(0).peers[0]?.sender?.allowed_rate > 0 }));
      });
      assert.deepEqual(sides, [{ way: 'BBR: keeps to the measured rate', paced: true }, { way: 'CUBIC: more until a loss', paced: true }]);
      assert.deepEqual(await page.$$eval('.unicast-head h2', (heads) => heads.map((head) => head.textContent)), sides.map(({ way }) => way));
      await page.close();
    });

    test('two controllers on one line: what each has of it on one clock, and why one slows down', async () => {
      const { page, complaints } = await open(started, '#1/unicast?p=two-controllers&t=2000');
      await drawn(page);
      assert.equal((await state(page)).mode, 'single', 'they are in one world');
      /** What the rows say at a moment. @param {number} us */
      const at = async (us) => {
        await page.evaluate((to) => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(to), us);
        await frame(page);
        return page.$$eval('.flows:not([hidden]) .flows-rows li', (rows) => rows.map((row) => ({ name: row.querySelector('.flow-name')?.textContent, part: Number(/(\d+)\s%/.exec(row.querySelector('.flow-has')?.textContent ?? '')?.[1]) })));
      };
      assert.deepEqual(await at(2e6), [{ name: 'A BBR', part: 100 }, { name: 'C CUBIC', part: 0 }]);
      const [{ part: a }, { part: c }] = await at(5e6);
      assert.ok(a > 40 && c > 25 && Math.abs(a + c - 100) <= 1, `${a} and ${c} %`);
      assert.match(await page.$eval('.flows:not([hidden]) .flows-wait', (n) => n.textContent ?? ''), /waits \d+ ms, behind a full buffer 120 ms/);
      // Each is painted, in a colour of its own.
      const painted = await page.evaluate(async () => {
        const { inks } = await import(/** @type {any} */ ('/js/theme.js'));
        const pane = /** @type {Element} */ (document.querySelector('unicast-pane'));
        const { colours } = inks(pane, ['flow-1', 'flow-2', 'held']);
        const canvas = /** @type {HTMLCanvasElement} */ (pane.querySelector('.flows:not([hidden]) canvas'));
        const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d')).getImageData(0, 0, canvas.width, canvas.height);
        return Object.values(colours).map((/** @type {string} */ colour) => {
          const rgb = colour.match(/\d+/g)?.map(Number) ?? [];
          let count = 0;
          for (let i = 0; i < data.length; i += 4) if (rgb.every((part, j) => Math.abs(data[i + j] - part) < 12)) count += 1;
          return count;
        });
      });
      assert.ok(painted.every((count) => count > 100), painted.join());
      await page.click('.flows:not([hidden]) [data-flow="1"] button');
      await page.waitForFunction(() => document.querySelector('lab-inspector .numbers')?.textContent);
      const asked = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        return { ...session.current(), now: session.run.now, words: document.querySelector('lab-inspector .numbers')?.textContent ?? '' };
      });
      assert.deepEqual([asked.event.unicast?.what, asked.node, asked.now < 5e6], ['controlled', 0, true]);
      assert.match(asked.words, /slower.+Meanwhile the line carried .+ % from A, \d+ % from C\./);
      // The chart is a scale of time.
      const box = await page.$eval('.flows:not([hidden]) .flows-room', (n) => { const { x, y, width, height } = n.getBoundingClientRect(); return { x, y, width, height }; });
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      const { now, end } = await state(page);
      assert.ok(now > end * 0.4 && now < end * 0.6, `${now} of ${end}`);
      await page.click('[data-lines]');
      assert.equal(await page.$eval('.unicast-flows', (n) => n.checkVisibility()), false);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('side by side two controllers have a deep buffer and a shallow one', async () => {
      const { page } = await open(started, '#1/unicast?p=two-controllers&m=compare&t=4800');
      await drawn(page);
      await frame(page);
      assert.deepEqual(await page.$$eval('.unicast-head h2', (heads) => heads.map((head) => head.textContent)), ['buffer of 120 ms', 'buffer of 12 ms']);
      const parts = await page.$$eval('.flows:not([hidden])', (all) => all.map((n) => [...n.querySelectorAll('.flow-has')].map((has) => Number(/(\d+)\s%/.exec(has.textContent ?? '')?.[1]))));
      assert.equal(parts.length, 2);
      assert.ok(parts[0][1] > parts[1][1] && parts.every(([a, c]) => Math.abs(a + c - 100) <= 1), `in a shallow buffer CUBIC has less: ${JSON.stringify(parts)}`);
      await page.close();
    });

    test('a second sender on the same line is one press in the form, and each has its controller', async () => {
      const { page, complaints } = await open(started, `${STORY}&m=single&t=0`);
      await drawn(page);
      assert.equal(await page.$eval('[data-lines]', (n) => n.checkVisibility()), false, 'there is one sender');
      await page.click('[data-tool="scenario"]');
      await page.waitForSelector('dialog[open] [data-form="second"]');
      await page.click('dialog [data-form="second"]');
      const controls = () => page.$$eval('dialog select[name^="control"]', (all) => all.map((n) => /** @type {HTMLSelectElement} */ (n).value));
      assert.deepEqual(await controls(), ['bbr', 'cubic']);
      await page.select('dialog select[name="control.2"]', 'bbr');
      await page.select('dialog select[name="control.0"]', 'cubic');
      await page.click('dialog button[type="submit"]');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      const { nodes, shared } = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.scenario);
      assert.deepEqual([nodes.map((/** @type {any} */ node) => node.congestion ?? ''), shared], [['cubic', '', 'bbr'], true]);
      await drawn(page);
      await page.waitForFunction(() => document.querySelectorAll('.flows:not([hidden]) .flows-rows li').length === 2);
      assert.deepEqual(await page.$$eval('.flows:not([hidden]) .flow-name', (all) => all.map((n) => n.textContent)), ['A CUBIC', 'C BBR']);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('on a phone the lines of two flows leave room for the arrows', async () => {
      for (const width of [320, 390]) {
        const { page } = await open(started, '#1/unicast?p=two-controllers&t=5000', { width, height: 844 });
        await drawn(page);
        await frame(page);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
        const [chart, arrows] = await page.$$eval('.flows-room, .unicast-body', (all) => all.filter((n) => n.checkVisibility()).map((n) => n.getBoundingClientRect().height));
        assert.ok(chart >= 120 && arrows >= 100, `${chart} and ${arrows} pixels`);
        await page.close();
      }
    });

    test('the rate of a line and its buffer are in the form of a scenario of one\'s own', async () => {
      const { page } = await open(started, '#1/unicast?p=fill-the-queue&t=0');
      await drawn(page);
      await page.click('[data-tool="scenario"]');
      await page.waitForSelector('dialog[open] input[name="rate"]');
      const shown = await page.$$eval('dialog input[name="rate"], dialog input[name="queue"]', (all) => all.map((n) => Number(/** @type {HTMLInputElement} */ (n).value)));
      assert.deepEqual(shown, [250, 30_000]);
      await page.$eval('dialog input[name="rate"]', (n) => { const input = /** @type {HTMLInputElement} */ (n); input.value = '500'; input.dispatchEvent(new Event('input')); });
      await page.click('dialog button[type="submit"]');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      const { rate, queue } = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.scenario.link);
      assert.deepEqual([rate, queue], [500_000, 30_000]);
      await page.close();
    });

    test('seeking leads to the state that running leads to', async () => {
      const { page } = await open(started, '#1/unicast?p=five-percent&m=single&t=0');
      await drawn(page);
      const digests = await soughtAndRun(page);
      assert.equal(digests[0], digests[1]);
      await page.close();
    });

    test('a link leads back to view, moment, branch and profile', async () => {
      const { page } = await open(started, `${STORY}&m=single&t=0`);
      await drawn(page);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('d');
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(150_000));
      const before = await state(page);
      const arrow = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.selection.arrow);
      assert.ok(arrow > 0);
      const hash = await copiedLink(page);
      await page.close();
      const again = await open(started, hash);
      await drawn(again.page);
      const after = await state(again.page);
      for (const key of /** @type {const} */ (['now', 'index', 'digest', 'branch', 'branches', 'view', 'mode'])) assert.equal(after[key], before[key], key);
      assert.equal(await again.page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.selection.arrow), arrow);
      assert.equal(await again.page.$('.notice.bad'), null);
      await again.page.close();
    });

    test('every story opens, and every event reads as a sentence', async () => {
      const { page, complaints } = await open(started, `${STORY}&m=single&t=0`);
      await drawn(page);
      const { ids, odd } = await oddSentences(page);
      assert.ok(ids.length >= 8, ids.join());
      assert.deepEqual([...new Set(odd)], []);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('logical time and folds change the picture, not the moment', async () => {
      const { page } = await open(started, `${STORY}&t=100`);
      await drawn(page);
      const heights = () => page.$eval('.unicast-room', (n) => /** @type {HTMLElement} */ (n).offsetHeight);
      const before = await state(page);
      const real = await heights();
      await page.click('[data-fold]');
      const whole = await heights();
      assert.ok(whole > real, `${whole} is taller than ${real}`);
      await page.click('[data-axis="logical"]');
      assert.notEqual(await heights(), whole);
      assert.equal((await state(page)).now, before.now);
      await page.close();
    });

    test('on a phone one unicast is shown, and the other by its tab', async () => {
      const { page } = await open(started, `${STORY}&t=100`, { width: 320, height: 640 });
      await drawn(page);
      await frame(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 320);
      assert.equal((await page.$$('.unicast-head:not([hidden])')).length, 1);
      await page.click('.unicast-tabs [data-lane="1"]');
      await frame(page);
      assert.match(await page.$eval('.unicast-tabs [aria-pressed="true"]', (n) => n.textContent ?? ''), /adaptive/);
      await page.close();
    });

    test('thousands of arrows take hardly longer to draw than hundreds', async () => {
      const { page } = await open(started, '#1/unicast?p=five-percent&m=single&t=0');
      await drawn(page);
      const [few, many] = await page.evaluate(async () => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const pane = /** @type {any} */ (document.querySelector('unicast-pane'));
        const measure = async () => {
          while (!session.run.explore(50));
          await new Promise((done) => setTimeout(done, 400));
          const took = Array(41).fill(Infinity);
          // The quickest of several rounds: whatever is longer says more of the machine's other work.
          for (let round = 0; round < 5; round += 1) {
            for (let i = 0; i < took.length; i += 1) {
              session.run.raw.seek((session.clock.end * i) / took.length);
              const begun = performance.now();
              pane.update();
              took[i] = Math.min(took[i], performance.now() - begun);
            }
          }
          return { arrows: session.run.arrows.length, ms: took.sort((a, b) => a - b)[20] };
        };
        const hundreds = await measure();
        const scenario = structuredClone(session.scenario);
        for (const { send } of scenario.script) if (send) send.count = 4000;
        session.openScenario({ ...scenario, horizon: 60e6 });
        return [hundreds, await measure()];
      });
      console.log(`# ${name}: ${few.arrows} arrows in ${few.ms.toFixed(1)} ms, ${many.arrows} in ${many.ms.toFixed(1)} ms`);
      assert.ok(many.arrows > 5 * few.arrows, `${many.arrows} arrows`);
      assert.ok(many.ms < 4 * few.ms + 3, `${many.ms} ms, ${few.ms} ms`);
      await page.close();
    });

    test('the single file has this view too', { skip: !(process.env.SERVENT_SINGLE && existsSync(process.env.SERVENT_SINGLE)) }, async () => {
      const url = pathToFileURL(String(process.env.SERVENT_SINGLE)).href;
      const { page, complaints } = await open(started, `${STORY}&t=100`, { url });
      await drawn(page);
      assert.ok((await state(page)).index > 0);
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
