/** What a visitor does with a meeting, in real browsers. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { violations } from '../axe.js';
import { BROWSERS, frame, oddSentences, open, start, state } from '../browser.js';

/** Waits until the picture knows all there is to know. @param {import('puppeteer-core').Page} page */
const drawn = (page) => page.waitForFunction(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { lane } = /** @type {any} */ (document.querySelector('meet-pane')) ?? {};
  return session.view.id === 'meet' && session.run?.explored && lane?.run === session.run && lane.run.arrows.length > 20 && lane.lines.size > 0;
});

/** What Play lies under, if it does. @param {import('puppeteer-core').Page} page */
const overPlay = (page) => page.evaluate(() => {
  const play = /** @type {Element} */ (document.querySelector('.play'));
  const { left, top, width, height } = play.getBoundingClientRect();
  const over = document.elementFromPoint(left + width / 2, top + height / 2);
  return play.contains(over) ? null : over?.outerHTML.slice(0, 80) ?? 'nothing';
});

/** What the picture writes, and where, and at which height the present is; runs in the page. */
function painted() {
  const { lane, axis } = /** @type {any} */ (document.querySelector('meet-pane'));
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const look = { axis, now: session.run.now, top: 0, height: axis.height, colours: /** @type {any} */ (document.querySelector('meet-pane')).colours, selected: null, pointed: null, still: true, found: null };
  const ctx = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  const words = /** @type {{text: string, left: number, right: number, y: number, size: number}[]} */ ([]);
  ctx.fillText = (text, x, y) => {
    const { width } = ctx.measureText(text);
    const left = ctx.textAlign === 'center' ? x - width / 2 : x;
    words.push({ text, left, right: left + width, y, size: look.colours.size });
  };
  lane.paint(ctx, look);
  return { words, now: axis.of(look.now) };
}

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('every knock has its end, each router its table, and the path says how it was found', async () => {
      const { page, complaints } = await open(started, '#1/meet?p=knock-early&t=2000');
      await drawn(page);
      await frame(page);
      const seen = await page.evaluate(() => ({
        cards: [...document.querySelectorAll('.meet-card b')].map((n) => n.textContent),
        path: /** @type {HTMLElement} */ (document.querySelector('.meet-path')).dataset.path,
        says: document.querySelector('.meet-path')?.textContent,
        rows: [...document.querySelectorAll('.meet-table')].map((table) => [...table.querySelectorAll('tbody td')].map((n) => n.textContent)),
        knocks: document.querySelector('[data-outcome="knocks"] dd')?.textContent,
      }));
      assert.deepEqual(seen.cards, ['Ada', 'Ada’s router', 'Meeting place', 'Ben’s router', 'Ben']);
      assert.equal(seen.path, 'direct');
      assert.match(seen.says ?? '', /Ada → Ben.*direct.*198\.51\.100\.2:20007, since 1\.4/);
      assert.deepEqual(seen.rows.map(([inside, outside]) => [inside, outside]), [['10.0.0.1:6348', ':20007'], ['10.1.0.2:6348', ':20007']]);
      assert.match(seen.rows[1][3] ?? '', /198\.51\.100\.1:20007/);
      assert.match(seen.knocks ?? '', /^12 of 15$/);
      const words = await page.$eval('meet-pane', (n) => n.textContent ?? '');
      assert.doesNotMatch(words, /undefined|NaN|null|[a-z]+\.[a-z_]+\.[a-z]/);
      assert.deepEqual((await oddSentences(page)).odd, []);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('the keys lead to a knock that was dropped, which says by what rule, and can be dropped elsewhere', async () => {
      const { page } = await open(started, '#1/meet?p=knock-early&t=0');
      await drawn(page);
      const dropped = await page.evaluate(() => /** @type {any} */ (document.querySelector('meet-pane')).lane.run.arrows.findIndex((/** @type {any} */ a) => a.fate === 'dropped'));
      for (let i = 0; i <= dropped; i += 1) await page.keyboard.press('ArrowDown');
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.seek(2e6); });
      await page.waitForFunction(() => /Ada’s router/.test(document.querySelector('lab-inspector')?.textContent ?? ''));
      const told = await page.$eval('lab-inspector', (n) => n.textContent ?? '');
      assert.match(told, /its host has written nothing to that sender/);
      assert.ok(await page.$('lab-inspector .clause'), 'the rule can be opened');
      const before = await state(page);
      await page.keyboard.press('d');
      await frame(page);
      assert.ok((await state(page)).branch !== before.branch, 'a branch begins');
      await page.close();
    });

    test('no words of the picture cover each other, and what lies ahead cuts no gap into the present', async () => {
      const wrong = [];
      for (const story of ['p=relay-first&t=1300', 'p=two-doors&t=1250', 'p=knock-early&t=1350', 'les=two-doors/7']) {
        const { page } = await open(started, `#1/meet?${story}`, { width: 1280, height: 800 });
        await drawn(page);
        for (const [width, height] of [[390, 844], [1280, 800]]) {
          await page.setViewport({ width, height });
          await frame(page);
          const { words, now } = await page.evaluate(painted);
          assert.ok(words.length > 3, `${story} at ${width}: ${words.length} words`);
          const hidden = story.startsWith('les');
          for (const [i, a] of words.entries()) {
            for (const b of words.slice(i + 1)) if (a.left < b.right - 1 && b.left < a.right - 1 && Math.abs(a.y - b.y) < a.size) wrong.push(`${story} at ${width}: ${a.text} and ${b.text}`);
            if (hidden && a.y - a.size < now && a.y + a.size * 0.6 > now) wrong.push(`${story} at ${width}: ${a.text} lies over the present`);
          }
        }
        await page.close();
      }
      assert.deepEqual(wrong, []);
    });

    test('a router that is restarted has an empty table', async () => {
      const { page } = await open(started, '#1/meet?p=two-doors&t=2000');
      await drawn(page);
      await page.click('.meet-card[data-role="router"]');
      await page.keyboard.press('r');
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.pause(); session.clock.seek(2_000_010); });
      await page.waitForFunction(() => /empty/.test(document.querySelector('.meet-table .meet-none:not([hidden])')?.textContent ?? ''));
      await page.close();
    });

    for (const [width, height, projector] of /** @type {[number, number, boolean][]} */ ([[390, 844, false], [1024, 768, false], [1280, 800, true], [1920, 1080, false]])) {
      test(`at ${width} × ${height}${projector ? ' with a projector' : ''} the lesson that speaks of tables shows them, and whose address each gets`, async () => {
        const { page } = await open(started, '#1/meet?les=two-doors/4', { width, height });
        await drawn(page);
        await page.evaluate((on) => {
          document.documentElement.toggleAttribute('data-projector', on);
          const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
          session.clock.pause();
          session.clock.seek(1_200_000);
        }, projector);
        await page.waitForFunction(() => [...document.querySelectorAll('.meet-table td.remote')].filter((n) => /198\.51/.test(n.textContent ?? '')).length === 2);
        await frame(page);
        const seen = await page.$$eval('.meet-table', (tables) => tables.map((table) => {
          const [cell, rows] = [/** @type {Element} */ (table.querySelector('td.remote')), /** @type {Element} */ (table.querySelector('.meet-rows'))];
          const range = document.createRange();
          const words = /** @type {Text} */ (cell.firstChild);
          range.setStart(words, 0);
          range.setEnd(words, words.data.includes(',') ? words.data.indexOf(',') : words.data.length);
          const [at, room, of] = [range, rows, cell].map((one) => one.getBoundingClientRect());
          const inside = at.left >= room.left && at.right <= Math.min(room.right, of.right) && at.bottom <= room.bottom + 1 && room.bottom <= innerHeight;
          return { first: range.toString(), inside, visible: table.checkVisibility() };
        }));
        assert.deepEqual(seen, ['198.51.100.2:20007', '198.51.100.1:20007'].map((first) => ({ first, inside: true, visible: true })));
        const body = await page.$eval('.meet-body', (n) => n.getBoundingClientRect().height);
        assert.ok(body > height * 0.25, `${body} pixels for the picture`);
        assert.equal(await overPlay(page), null);
        await page.evaluate(() => document.documentElement.removeAttribute('data-projector'));
        await page.close();
      });
    }

    for (const [width, height] of [[390, 844], [1024, 768], [1280, 800]]) {
      test(`at ${width} × ${height} nothing lies over Play, the picture has room, and no rule of access is broken`, async () => {
        for (const projector of width === 1280 ? [false, true] : [false]) {
          const { page, complaints } = await open(started, '#1/meet?p=relay-first&t=1300', { width, height });
          await drawn(page);
          if (projector) await page.evaluate(() => { document.documentElement.dataset.projector = ''; });
          await frame(page);
          assert.equal(await overPlay(page), null);
          const body = await page.$eval('.meet-body', (n) => n.getBoundingClientRect().height);
          assert.ok(body > height * 0.25, `${body} pixels for the picture`);
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is wider than the screen');
          assert.deepEqual(await violations(page), []);
          assert.deepEqual(complaints, []);
          await page.close();
        }
      });
    }
  });
}
