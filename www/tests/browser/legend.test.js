/** Every sign that is drawn stands in a legend, and the legend can be opened at every size. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';
import { WWW } from '../serve.js';

/** @import { Page } from 'puppeteer-core' */

const VIEWS = { queue: 'rush-hour', routing: 'round-and-back', unicast: 'lose-middle', swarm: 'two-for-one', meet: 'two-doors' };
const SIZES = [[320, 568], [320, 700], [390, 844], [844, 390], [568, 320], [768, 1024], [1024, 768], [1280, 800]];
/** What a picture is made of, and what says nothing by itself. */
const PLAIN = ['ink', 'ink-soft', 'line', 'line-strong', 'surface', 'paper', 'sunken', 'accent', 'accent-wash', 'wire', 'node'];
/** Of many the flood tree and what it has reached, paler. */
const PALER = ['lit', 'reached'];
/** Where the words for what is drawn stand in the painters, and which sign it is. @type {Record<string, {file: string, words: RegExp, same: Record<string, string|null>}[]>} */
const PAINTERS = {
  routing: [{ file: 'routing/canvas/network-layer.js', words: /role === '(\w+)'/g, same: { both: 'asks', plain: null } }],
  unicast: [{ file: 'unicast/lane.js', words: /kind === '(\w+)'/g, same: { unreachable: 'crashed', restarted: 'opened', resent: 'acted', requested: 'acted' } }],
  meet: [{ file: 'meet/lane.js', words: /(?:kind|'router'|role\w*) ?=== '(\w+)'/g, same: { evicted: 'expired', moved: 'found', fault: 'alone' } }],
  swarm: [{ file: 'swarm/cells.js', words: /state === (\w+)/g, same: { given: 'held', asked: 'flight' } }],
};

/** The signs of a view, and the kinds of what travels in it. @param {Page} page @param {string} view */
const listed = (page, view) => page.evaluate(async (of) => {
  const { SIGNS } = await import(`/js/${of}/signs.js`);
  const { STROKES = {}, KINDS = [] } = await import(`/js/${of}/look.js`);
  return { signs: /** @type {string[]} */ (SIGNS), kinds: /** @type {string[]} */ ([...Object.keys(STROKES), ...KINDS]) };
}, view);

/** The names of the colours in which something is drawn in any story, and are in no sample of the legend. @param {Page} page @param {string} view @param {string[]} plain */
const unexplained = (page, view, plain) => page.evaluate(async (of, plain) => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { palette } = await import(`/js/${of}/look.js`);
  const ctx = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  const normal = (/** @type {string} */ colour) => {
    ctx.fillStyle = colour;
    return String(ctx.fillStyle);
  };
  const used = new Set();
  const { prototype } = CanvasRenderingContext2D;
  const { fill, fillRect, stroke, strokeRect } = prototype;
  for (const [deed, ink] of /** @type {const} */ ([['fill', 'fillStyle'], ['fillRect', 'fillStyle'], ['stroke', 'strokeStyle'], ['strokeRect', 'strokeStyle']])) {
    const does = /** @type {any} */ (prototype[deed]);
    prototype[deed] = function (/** @type {any[]} */ ...how) {
      if (typeof this[ink] === 'string') used.add(this[ink]);
      return does.apply(this, how);
    };
  }
  for (const { id } of session.view.presets()) {
    session.openPreset(id);
    for (const part of [0.02, 0.1, 0.25, 0.5, 0.75, 1]) {
      session.clock.seek(part * session.clock.end);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
  }
  Object.assign(prototype, { fill, fillRect, stroke, strokeRect });
  const legend = document.body.appendChild(document.createElement('div'));
  legend.append(...session.view.signs());
  const explained = new Set();
  for (const node of legend.querySelectorAll('.signs li > :first-child, .signs li > :first-child *')) {
    const { color, fill: inside, stroke: line, backgroundColor, backgroundImage, borderTopColor } = getComputedStyle(node);
    for (const text of [color, inside, line, backgroundColor, backgroundImage, borderTopColor]) for (const [found] of text.matchAll(/(?:rgba?|color)\([^)]*\)/g)) explained.add(normal(found));
  }
  legend.remove();
  const host = document.querySelector(`${of}-pane`);
  const names = Object.entries(palette(host)).filter(([name, colour]) => typeof colour === 'string' && name !== 'font').map(([name, colour]) => [name, normal(colour)]);
  const said = names.filter(([name]) => plain.includes(name)).map(([, colour]) => colour);
  const drawn = names.filter(([, colour]) => used.has(colour));
  return { drawn: drawn.length, missing: drawn.filter(([, colour]) => !explained.has(colour) && !said.includes(colour)).map(([name]) => name) };
}, view, plain);

/** What is wrong with a legend that is open. @param {Page} page @param {number} least so many signs */
const wrongIn = (page, least) => page.evaluate((least) => {
  const dialog = /** @type {HTMLElement} */ (document.querySelector('dialog[open]'));
  const rows = [...dialog.querySelectorAll('.signs li')];
  const wrong = rows.length < least ? [`${rows.length} of ${least} signs`] : [];
  for (const row of rows) {
    const { width, height } = /** @type {Element} */ (row.firstElementChild).getBoundingClientRect();
    if (width < 4 || height < 1 || !row.textContent?.trim() || /sign\.|undefined/.test(row.textContent)) wrong.push(`${width} × ${height}: ${row.textContent}`);
  }
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  if (left < 0 || top < 0 || right > innerWidth + 1 || bottom > innerHeight + 1) wrong.push(`the legend leaves the screen: ${[left, top, right, bottom]}`);
  if (dialog.scrollWidth > dialog.clientWidth + 1) wrong.push('it is too wide');
  return wrong;
}, least);

/** Whether something can be pressed. @param {Page} page @param {string} selector */
const pressable = (page, selector) => page.evaluate((s) => {
  const node = document.querySelector(s);
  if (!node?.checkVisibility()) return false;
  const { x, y, width, height } = node.getBoundingClientRect();
  return width >= 24 && height >= 24 && node.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}, selector);

/** Whether the line of signs below a picture is in sight, whole. @param {Page} page */
const lined = (page) => page.evaluate(() => {
  const line = [...document.querySelectorAll('.legend, .routing-legend, .unicast-legend, .swarm-legend, .meet-legend')].find((node) => node.checkVisibility());
  if (!line) return false;
  const { left, right, top, bottom } = line.getBoundingClientRect();
  return left >= 0 && right <= innerWidth + 1 && top >= 0 && bottom <= innerHeight && [...line.children].every((one) => one.getBoundingClientRect().right <= innerWidth + 1);
});

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, painters] of Object.entries(PAINTERS)) {
      test(`${view}: whatever the painters know by name has a sign`, async () => {
        const { page } = await open(started, `#1/${view}?p=${VIEWS[/** @type {keyof typeof VIEWS} */ (view)]}`);
        const { signs, kinds } = await listed(page, view);
        const words = painters.flatMap(({ file, words: pattern, same }) => {
          const found = [...readFileSync(path.join(WWW, 'js', file), 'utf8').matchAll(pattern)].map(([, word]) => word.toLowerCase());
          assert.ok(found.length > 3, `${file}: ${found}`);
          return found.map((word) => (word in same ? same[word] : word)).filter((word) => word !== null);
        });
        assert.deepEqual([...new Set([...kinds, ...words])].filter((word) => !signs.includes(/** @type {string} */ (word))), []);
        await page.close();
      });

      test(`${view}: whatever colour says something stands in the legend`, async () => {
        const { page } = await open(started, `#1/${view}?p=${VIEWS[/** @type {keyof typeof VIEWS} */ (view)]}`);
        const { drawn, missing } = await unexplained(page, view, PLAIN);
        assert.ok(drawn > 6, `${drawn} colours`);
        assert.deepEqual(missing.filter((one) => !PALER.includes(one)), []);
        await page.close();
      });
    }

    for (const [width, height] of SIZES) {
      test(`at ${width} × ${height} the signs are in sight, or one button away`, async () => {
        for (const [view, story] of Object.entries(VIEWS)) {
          const { page, complaints } = await open(started, `#1/${view}?p=${story}&t=100`, { width, height });
          await frame(page);
          const least = view === 'queue' ? 9 : (await listed(page, view)).signs.length;
          const small = width <= 704 || height <= 544;
          if (small) {
            assert.ok(await pressable(page, '.signs-button'), `${view}: the button`);
            await page.click('.signs-button');
          } else {
            assert.ok(await lined(page), `${view}: the line`);
            await page.keyboard.press('?');
          }
          await page.waitForSelector('dialog[open] .signs');
          assert.deepEqual(await wrongIn(page, least), [], view);
          await page.keyboard.press('Escape');
          assert.deepEqual(complaints, []);
          await page.close();
        }
      });
    }

    test('in a lesson and in another page the button is there too', async () => {
      for (const [view, les] of [['queue', 'cut-the-wire'], ['routing', 'flood'], ['unicast', 'lose-the-middle'], ['swarm', 'two-for-one'], ['meet', 'two-doors']]) {
        const { page } = await open(started, `#1/${view}?les=${les}/2`, { width: 320, height: 700 });
        await page.waitForSelector('lesson-panel:not([hidden]) h2');
        assert.ok(await pressable(page, '.signs-button'), `${view}, in a lesson`);
        await page.close();
        for (const width of [320, 768, 1280]) {
          const { page: inside } = await open(started, `#1/${view}?p=${VIEWS[/** @type {keyof typeof VIEWS} */ (view)]}`, { width, height: 480, url: `${started.server.url}?embed&in=${view}${width}` });
          assert.ok(await pressable(inside, '.signs-button') && await pressable(inside, '.play'), `${view}, in another page of ${width} px`);
          await inside.close();
        }
      }
    });
  });
}
