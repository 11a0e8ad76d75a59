/** A phone in a hand: the picture has the room, the rest is folded away and can be opened with a thumb, by key and by ear. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, press, start, state } from '../browser.js';

/** A moment of every view, and of what its picture consists. */
const VIEWS = /** @type {const} */ ([
  ['queue', '#1/queue?p=rush-hour&t=60000', '.lanes'],
  ['routing', '#1/routing?p=route-expired&t=100', '.routing-body'],
  ['unicast', '#1/unicast?p=lose-middle&t=100', '.unicast-heads, .unicast-body'],
  ['swarm', '#1/swarm?p=deadlock&t=3000', '.swarm-heads, .swarm-body'],
]);
const PHONE = { width: 360, height: 640 };
const SMALL = { width: 320, height: 568 };

/** Pixels of the screen that show the picture. @param {import('puppeteer-core').Page} page @param {string} picture */
const shown = (page, picture) => page.$$eval(picture, (all) => all.reduce((sum, n) => {
  const { top, bottom, height } = n.getBoundingClientRect();
  return sum + (height ? Math.min(innerHeight, bottom) - Math.max(0, top) : 0);
}, 0));

/** Whatever can be pressed and is smaller than a thumb. @param {import('puppeteer-core').Page} page */
const small = (page) => page.$$eval('button, input, select, summary, [role="slider"]', (all) => all
  .filter((n) => n.checkVisibility({ visibilityProperty: true })).map((n) => ({ n, r: (n.closest('label') ?? n).getBoundingClientRect() }))
  .filter(({ r }) => r.width < 39.9 || r.height < 39.9).map(({ n, r }) => `${n.tagName}.${n.className} “${n.textContent}” ${r.width}×${r.height}`));

/** @param {import('puppeteer-core').Page} page */
const unfoldAll = async (page) => {
  for (const part of ['story', 'hint', 'time', 'side', 'menu']) await page.click(`[data-unfold="${part}"]`);
  await frame(page);
};

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, hash, picture] of VIEWS) {
      test(`${view}: the picture has half of the height at the first visit, and the page is no larger than the screen`, async () => {
        const { page } = await open(started, hash, PHONE);
        await page.waitForSelector('.hint');
        await frame(page);
        assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]), [360, 640]);
        const pixels = await shown(page, picture);
        assert.ok(pixels >= 320, `${pixels} of 640`);
        await page.setViewport({ width: 640, height: 360 });
        await frame(page);
        assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]), [640, 360]);
        const lying = await shown(page, picture.split(', ').at(-1) ?? '');
        assert.ok(lying >= 120, `${lying} of 360 lying on its side`);
        await page.close();
      });

      test(`${view}: every target has 40 px, folded and unfolded`, async () => {
        const { page } = await open(started, hash, SMALL);
        await frame(page);
        assert.deepEqual(await small(page), []);
        await unfoldAll(page);
        assert.deepEqual(await small(page), [], 'unfolded');
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= SMALL.width);
        await page.close();
      });
    }

    test('what is said for a moment covers no button that stands beside the picture', async () => {
      for (const [view, hash] of VIEWS) {
        for (const size of [PHONE, { width: 390, height: 844 }]) {
          const { page } = await open(started, hash, size);
          await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.notice('Trace opened: 8 events.'));
          await page.waitForSelector('.notice');
          await frame(page);
          const covered = await page.$$eval('button, input, select', (all) => all.filter((n) => n.checkVisibility({ visibilityProperty: true }) && !n.closest('.lane-scroll, .swarm-words, .notice, [role="listbox"]')).filter((n) => {
            const { x, y, width, height } = n.getBoundingClientRect();
            return [[x + 2, y + 2], [x + width - 2, y + height - 2], [x + width / 2, y + height / 2]].some(([px, py]) => document.elementFromPoint(px, py)?.closest('.notice'));
          }).map((n) => `${n.className} ${n.textContent}`));
          assert.deepEqual(covered, [], `${view} at ${size.width}`);
          await page.close();
        }
      }
    });

    test('the names of both ends and their figures stand apart', async () => {
      for (const size of [SMALL, { width: 390, height: 844 }]) {
        const { page } = await open(started, '#1/unicast?p=lose-middle&m=single&t=400', size);
        await page.waitForSelector('.end .numbers:not(:empty)');
        const apart = () => page.$$eval('.ends', (all) => all.filter((n) => n.checkVisibility()).map((ends) => {
          const boxes = [...ends.querySelectorAll('.end > span')].filter((n) => n.checkVisibility()).map((n) => n.getBoundingClientRect());
          return boxes.every((one, i) => one.left >= 0 && one.right <= innerWidth && boxes.slice(i + 1).every((other) => one.right <= other.left + 0.5 || other.right <= one.left + 0.5 || one.bottom <= other.top + 0.5 || other.bottom <= one.top + 0.5));
        }));
        assert.deepEqual(await apart(), [true]);
        // As those of pages and of addresses are.
        await page.evaluate(() => { for (const name of document.querySelectorAll('.end b')) name.textContent = '[fe80::7c1e:4bff:fe3a:9d02]:58213'; });
        assert.deepEqual(await apart(), [true], 'long names');
        await page.close();
      }
    });

    test('of two pictures each has a name of its own', async () => {
      for (const [, hash] of [...VIEWS.filter(([view]) => view === 'swarm'), ['unicast', '#1/unicast?p=lose-middle'], ['congestion', '#1/unicast?p=fill-the-queue']]) {
        const { page } = await open(started, hash, { width: 390, height: 844 });
        const tabs = await page.$$eval(':is(.unicast-tabs, .swarm-tabs) > button', (all) => all.filter((n) => n.checkVisibility()).map((n) => n.textContent ?? ''));
        assert.equal(new Set(tabs).size, 2, `${hash}: ${tabs}`);
        await page.close();
      }
    });

    test('a lesson leaves room for the picture that it is about, on the smallest screen too', async () => {
      for (const [lesson, picture] of [['cut-the-wire', '.lanes'], ['flood', '.routing-stage'], ['lose-the-middle', '.unicast-body'], ['free-piece', '.swarm-body']]) {
        const { page } = await open(started, `#1/queue?les=${lesson}/1`, SMALL);
        await page.waitForSelector(`lesson-panel:not([hidden])`);
        await page.waitForSelector(picture);
        await frame(page);
        const pixels = await shown(page, picture);
        assert.ok(pixels >= 100, `${lesson}: ${pixels} of ${SMALL.height}`);
        await page.close();
      }
    });

    test('of the lanes the one is shown that a step of a lesson is about', async () => {
      const { page } = await open(started, '#1/queue?les=cut-the-wire/2', { width: 390, height: 844 });
      await page.waitForFunction(() => [...document.querySelectorAll('.lane[data-lane="sync"] .card')].some((n) => n.checkVisibility() && n.textContent?.includes('active-1')));
      await page.close();
    });

    test('what is folded says so, opens where its button stands, and cannot be reached before', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=60000', PHONE);
      await frame(page);
      for (const [part, inside] of [['menu', '[data-view="routing"]'], ['story', '.story p'], ['time', '[data-do="first"]'], ['side', 'lab-inspector h2']]) {
        const look = () => page.evaluate((part, inside) => {
          const button = document.querySelector(`[data-unfold="${part}"]`);
          const folded = document.getElementById(button?.getAttribute('aria-controls') ?? '');
          return [button?.getAttribute('aria-expanded'), Boolean(folded?.contains(document.querySelector(inside))), document.querySelector(inside)?.checkVisibility()];
        }, part, inside);
        assert.deepEqual(await look(), ['false', true, false], part);
        await page.focus(`[data-unfold="${part}"]`);
        await page.keyboard.press('Enter');
        assert.deepEqual(await look(), ['true', true, true], part);
        await page.keyboard.press('Enter');
        assert.deepEqual(await look(), ['false', true, false], part);
      }
      // Keys that are folded away are passed by.
      const reached = [];
      await page.focus('[data-unfold="menu"]');
      for (let i = 0; i < 4; i += 1) {
        reached.push(await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).dataset.unfold ?? document.activeElement?.className));
        await page.keyboard.press('Tab');
      }
      assert.deepEqual(reached, ['menu', 'story', 'hint', 'button small']);
      await page.close();
    });

    test('the menu closes on Escape, on a touch elsewhere and on a choice, and the focus stays at its button', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=60000', PHONE);
      const expanded = () => page.$eval('[data-unfold="menu"]', (n) => [n.getAttribute('aria-expanded'), document.activeElement === n]);
      await page.click('[data-unfold="menu"]');
      await page.focus('[data-mode="events"]');
      await page.keyboard.press('Escape');
      assert.deepEqual(await expanded(), ['false', true]);
      await page.click('[data-unfold="menu"]');
      await page.mouse.click(180, 450);
      assert.equal((await expanded())[0], 'false');
      await press(page, '[data-mode="events"]');
      assert.equal((await state(page)).mode, 'events');
      assert.deepEqual(await expanded(), ['false', true]);
      await press(page, '[data-tool="scenario"]');
      await page.waitForSelector('dialog[open]');
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      assert.deepEqual(await expanded(), ['false', true], 'the dialog gives the focus back');
      await press(page, '[data-view="unicast"]');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.view.id === 'unicast');
      assert.equal(await page.$eval('[data-unfold="menu"]', (n) => n.textContent), 'Retransmission');
      await page.close();
    });

    test('the folded inspector tells what is selected, or else what has happened', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=60000', PHONE);
      await page.waitForFunction(() => /stands|joins|asks|is told/.test(document.querySelector('.news')?.textContent ?? ''));
      await page.click('.lane-tabs [data-lane="slots"]');
      await page.click('.slot-card .card-main');
      const name = await page.$eval('.slot-card .name', (n) => n.textContent);
      await page.waitForFunction((name) => document.querySelector('.news')?.textContent === name, {}, name);
      await page.click('[data-unfold="side"]');
      await page.waitForSelector('lab-inspector .facts');
      assert.ok(await shown(page, 'lab-inspector .who h3') > 10, 'the selection is in sight');
      assert.ok(await shown(page, '.slot-card[data-selected]') > 40, 'and so is its card');
      await page.close();
    });

    test('what is selected stays in sight when the inspector takes half of the picture', async () => {
      const { page } = await open(started, '#1/unicast?p=five-percent&m=single&t=900', PHONE);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('unicast-pane'))?.lanes[0]?.run.arrows.length > 80);
      await page.evaluate(() => /** @type {any} */ (document.querySelector('unicast-pane')).move(1));
      await page.click('[data-unfold="side"]');
      await page.waitForFunction(() => {
        const pane = /** @type {any} */ (document.querySelector('unicast-pane'));
        const { scrollTop, clientHeight } = pane.scroller;
        const { y0, y1 } = pane.lanes[0].line(pane.lanes[0].run.arrow(pane.session.selection.arrow), pane.axis);
        return y0 >= scrollTop && y1 <= scrollTop + clientHeight;
      });
      await page.close();
    });

    test('a whole map stays whole when a node at its edge is selected', async () => {
      const { page } = await open(started, '#1/routing?p=route-expired&m=single&t=100', SMALL);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('routing-pane'))?.stages[0]?.sight);
      const camera = await page.evaluate(() => {
        const pane = /** @type {any} */ (document.querySelector('routing-pane'));
        pane.move(0, 0);
        const { x, y, zoom } = pane.stages[0].camera;
        return [pane.session.selection.name, x, y, zoom];
      });
      assert.deepEqual(camera, ['asker', 0, 0, 1]);
      await page.close();
    });

    test('a fault leaves a sign at the folded timeline, and its pin and the branches inside', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=60000', PHONE);
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.seek(40e6); session.actions.gesture('restart'); });
      await page.waitForSelector('.branch');
      assert.equal(await page.$eval('.lab-time > .fold', (n) => getComputedStyle(n, '::before').content), '""');
      assert.equal(await page.$eval('.branch', (n) => n.checkVisibility()), false);
      await page.click('[data-unfold="time"]');
      // While the future is found out the lanes are drawn again and again.
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await frame(page);
      await page.click('.branch');
      assert.equal((await state(page)).branch, 0);
      await page.close();
    });

    test('with letters twice as large nothing is wider than the screen, and all of it can be scrolled to', async () => {
      for (const [view, hash, picture] of VIEWS) {
        const { page } = await open(started, hash, SMALL);
        await page.evaluate(() => { document.documentElement.style.fontSize = '200%'; });
        await frame(page);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= SMALL.width, view);
        const high = await page.$$eval(picture, (all) => Math.max(...all.map((n) => n.getBoundingClientRect().height)));
        assert.ok(high > 100, `${view}: ${high}`);
        await page.$eval('[data-do="play"]', (n) => n.scrollIntoView());
        await page.click('[data-do="play"]');
        assert.equal((await state(page)).playing, true, view);
        await page.close();
      }
    });

    test('the table of events has room for what happened', async () => {
      const { page } = await open(started, '#1/events?p=rush-hour&t=60000', SMALL);
      await page.waitForSelector('.events tr[data-seq]');
      await frame(page);
      const wide = await page.$eval('.events td.what', (n) => n.getBoundingClientRect().width);
      assert.ok(wide > 130, `${wide}`);
      await page.close();
    });

    test('on a larger screen nothing is folded', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=60000');
      await frame(page);
      assert.deepEqual(await page.$$eval('[data-unfold]', (all) => all.filter((n) => n.checkVisibility()).map((n) => n.className)), []);
      for (const part of ['[data-view="routing"]', '[data-mode="events"]', '.story strong', '[data-do="first"]', 'lab-inspector h2', '.readout.event']) assert.ok(await page.$eval(part, (n) => n.checkVisibility()), part);
      await page.close();
    });
  });
}
