/** The lab in a page of another site: by the HTML that is copied, and by `<servent-world>`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, forgetful, open, patient, press, start } from '../browser.js';
import { measure, overlaps } from '../layout.js';
import { WWW } from '../serve.js';

/** @import { Frame, Page } from 'puppeteer-core' */

const WIDTHS = [320, 768, 1280];
/** What teachers are told to write. */
const TOLD = readFileSync(path.join(WWW, '../docs/workshop.md'), 'utf8');
const TAGS = [...TOLD.matchAll(/`(<servent-world [^`]*<\/servent-world>)`/g)].map(([, tag]) => tag);

/** Any site may load the module, as the hosts of static pages let it. @param {any} req @param {any} res */
function forAll(req, res) {
  res.setHeader('access-control-allow-origin', '*');
  return forgetful(req, res);
}

/** The other site: the page it was given last, and one that says what a lab would say. */
function site() {
  let body = '';
  const forged = '<!doctype html><title>forged</title><script>parent.postMessage({ servent: "answer", lesson: "forged", step: 1, right: true }, "*")</script>';
  const server = createServer(({ url }, res) => res.writeHead(200, { 'content-type': 'text/html' }).end(url === '/forged' ? forged : body));
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({ url: `http://127.0.0.1:${port}/`, holds: (/** @type {string} */ html) => { body = html; }, close: () => { server.close(); server.closeAllConnections(); } });
    });
  });
}

/** A page with something of its own, and what is embedded; it keeps what it hears. @param {string} lab its address @param {string[]} parts */
const around = (lab, parts) => `<!doctype html><meta name="viewport" content="width=device-width"><title>Slides</title><style>body { margin: 0 }</style>
<p><input autofocus></p>${parts.map((part) => `<section>${part}</section>`).join('')}
<script>
  window.heard = [];
  window.told = [];
  addEventListener('message', ({ data, source }) => heard.push({ ...data, from: [...document.querySelectorAll('iframe')].findIndex((one) => one.contentWindow === source) }));
  for (const world of document.querySelectorAll('servent-world')) for (const kind of ['state', 'answer']) world.addEventListener(kind, ({ detail }) => told.push(detail));
</script><script type="module" src="${lab}js/world.js"></script>`;

/** The nth frame, once its lab runs. @param {Page} page @param {number} n */
async function lab(page, n) {
  await page.waitForFunction((i) => document.querySelectorAll('iframe')[i], {}, n);
  const handle = (await page.$$('iframe'))[n];
  // A frame that is far away is not loaded.
  await handle.evaluate((node) => node.scrollIntoView({ block: 'center' }));
  const frame = await handle.contentFrame();
  await frame.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab'))?.session?.run && document.querySelector('.transport'), { polling: 40, timeout: 60_000 });
  return frame;
}

/** What the page was told of such a kind. @param {Page} page @param {string} kind @param {(one: any) => boolean} [fits] */
const heard = async (page, kind, fits = () => true) => (await page.evaluate(() => /** @type {any} */ (window).heard)).filter((/** @type {any} */ one) => one.servent === kind).filter(fits);

/** Waits for a message. @param {Page} page @param {Record<string, unknown>} like */
const message = (page, like) => page.waitForFunction((wanted) => /** @type {any} */ (window).heard.some((/** @type {any} */ one) => Object.entries(wanted).every(([key, value]) => one[key] === value)), {}, /** @type {any} */ (like));

/** Presses in a frame what can be seen there, once it has been scrolled to. @param {Frame} frame @param {string} selector */
async function tap(frame, selector) {
  await frame.waitForSelector(selector);
  const under = await frame.$eval(selector, (node) => {
    node.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { left, top, width, height } = node.getBoundingClientRect();
    const at = document.elementFromPoint(left + width / 2, top + height / 2);
    const seen = node === at || node.contains(at);
    /** @type {HTMLElement} */ (node).click();
    return seen ? '' : `${at?.outerHTML.slice(0, 80)}`;
  });
  assert.equal(under, '', `${selector} can be pressed`);
}

/** What is wrong with the layout within a frame. @param {Frame} frame @param {boolean} taught @param {number} least pixels of the picture */
async function wrongIn(frame, taught, least) {
  await frame.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null)))));
  const { parts, covered, wide, picture, height } = await measure(/** @type {any} */ (frame));
  const card = parts.find(({ name }) => name === '.lab-side')?.at ?? null;
  const out = parts.filter(({ at }) => at && (at.bottom > height + 1 || at.top < -1)).map(({ name }) => `${name} leaves the frame`);
  const below = card && picture && card.top < picture.bottom - 1 ? ['the card is not below the picture'] : [];
  const low = !picture || picture.height < least ? [`the picture has ${picture?.height} px`] : [];
  return [...overlaps(parts), ...covered, ...out, ...below, ...low, ...(wide > 0 ? [`${wide} px too wide`] : []), ...(Boolean(card) === taught ? [] : [taught ? 'no card' : 'a card without a lesson'])];
}

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    /** @type {any} */ let other;
    before(async () => {
      started = await start(name, { extra: forAll });
      other = await site();
    });
    after(async () => {
      other?.close();
      await started?.close();
    });

    /** A page of the other site. @param {import('node:test').TestContext} t @param {...string} parts */
    async function outside(t, ...parts) {
      other.holds(around(started.server.url, parts));
      const page = patient(await started.browser.newPage());
      t.after(() => page.close());
      await page.setViewport({ width: 1280, height: 900 });
      await page.goto(other.url);
      return page;
    }

    /** What a teacher copies. @param {string} hash */
    async function copied(hash) {
      const { page } = await open(started, hash);
      await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async (/** @type {string} */ text) => { /** @type {any} */ (window).copied = text; } } }));
      await press(page, '[data-tool="save"]');
      await page.evaluate(() => /** @type {HTMLElement|undefined} */ ([...document.querySelectorAll('.menu [role="menuitem"]')].find((item) => item.textContent?.includes('HTML')))?.click());
      await page.waitForFunction(() => /** @type {any} */ (window).copied);
      const html = await page.evaluate(() => /** @type {any} */ (window).copied);
      await page.evaluate(() => { delete /** @type {any} */ (navigator).clipboard; });
      await page.close();
      return html;
    }

    test('a story that was copied is a picture and its time, and says how it stands', async (t) => {
      const page = await outside(t, await copied('#1/routing?p=round-and-back'));
      const frame = await lab(page, 0);
      await message(page, { servent: 'state', view: 'routing', story: 'round-and-back', playing: false });
      for (const width of WIDTHS) {
        await page.setViewport({ width, height: 900 });
        assert.deepEqual(await wrongIn(frame, false, 200), [], `${width} px`);
        assert.equal(await frame.$eval('.lab-head', (n) => n.checkVisibility()), false);
      }
      await tap(frame, '[data-do="play"]');
      await message(page, { servent: 'state', playing: true });
      await tap(frame, '[data-do="play"]');
      // How it stands in the end is told, however soon that comes.
      await page.waitForFunction(() => /** @type {any} */ (window).heard.at(-1).playing === false);
      const { now, end } = (await heard(page, 'state')).at(-1);
      assert.ok(now > 0 && end > now, `${now} of ${end}`);
      assert.equal(await frame.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.now / 1e6), now);
    });

    test('a lesson that was copied is taught: its card below the picture, and nothing that leads away', async (t) => {
      const html = await copied('#1/queue?les=cut-the-wire/3');
      assert.match(html, /title="Cut the wire"/);
      const page = await outside(t, html, html.replace(/height="\d+"/, 'height="420"'));
      const [frame, low] = [await lab(page, 0), await lab(page, 1)];
      await frame.waitForSelector('lesson-panel:not([hidden]) h2');
      assert.equal(await page.evaluate(() => document.activeElement?.localName), 'input', 'the page around keeps the focus');
      const before = await page.evaluate(() => history.length);
      await tap(frame, '[data-lesson="next"]');
      for (const width of WIDTHS) {
        await page.setViewport({ width, height: 900 });
        assert.deepEqual(await wrongIn(frame, true, 180), [], `${width} px`);
        assert.deepEqual(await wrongIn(low, true, 100), [], `${width} px, 420 px high`);
      }
      await page.setViewport({ width: 320, height: 900 });
      const seen = await frame.$$eval('[data-lesson], [data-tool], [data-view]', (all) => all.filter((n) => n.checkVisibility()).map((n) => { const { lesson, tool, view } = /** @type {HTMLElement} */ (n).dataset; return lesson ?? tool ?? view; }));
      assert.deepEqual(seen.toSorted(), ['back', 'commit', 'next']);
      // A wrong answer, then all that is asked, to the end.
      await tap(frame, '.lesson-choice:nth-child(3) input');
      await tap(frame, '[data-lesson="commit"]');
      await message(page, { servent: 'answer', lesson: 'cut-the-wire', step: 2, right: false, from: 0 });
      await tap(frame, '[data-lesson="next"]');
      await frame.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.playing);
      await frame.evaluate(() => { const { session, room } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.seek(room.now.until); });
      await frame.waitForSelector('.lesson-verdict[data-right="false"]');
      await tap(frame, '[data-lesson="next"]');
      await tap(frame, '.lesson-choice:nth-child(1) input');
      await tap(frame, '[data-lesson="commit"]');
      await message(page, { servent: 'answer', lesson: 'cut-the-wire', step: 4, right: true });
      assert.equal((await heard(page, 'answer')).length, 2);
      // Keys of views and of the table lead nowhere.
      for (const key of ['2', 'e']) await frame.evaluate((pressed) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: pressed, bubbles: true })), key);
      assert.equal(await frame.evaluate(() => { const { room, session } = /** @type {any} */ (document.querySelector('servent-lab')); return `${session.view.id} ${session.mode} ${room.step}`; }), 'queue single 3');
      assert.equal(await page.evaluate(() => history.length), before, 'the history of the page around is its own');
    });

    test('a lesson of every view has its picture and its card in a low and narrow frame', async (t) => {
      const page = patient(await started.browser.newPage());
      t.after(() => page.close());
      for (const hash of ['queue?les=newcomer/1', 'routing?les=way-back/2', 'unicast?les=lose-the-middle/3', 'swarm?les=deadlock/3', 'meet?les=two-doors/3']) {
        await page.goto(`${started.server.url}?embed#1/${hash}`);
        await page.reload();
        await page.waitForSelector('lesson-panel:not([hidden]) h2');
        for (const [width, height, least] of [[320, 640, 80], [320, 420, 70], [768, 420, 80], [1280, 640, 120]]) {
          await page.setViewport({ width, height });
          assert.deepEqual(await wrongIn(/** @type {any} */ (page), true, least), [], `${hash} at ${width} × ${height}`);
        }
      }
    });

    test('the elements that teachers are told to write show what they name, and tell it', async (t) => {
      assert.ok(TAGS.some((tag) => tag.includes('preset=')) && TAGS.some((tag) => tag.includes('lesson=')), TOLD);
      const page = await outside(t, ...TAGS);
      for (const [i, tag] of TAGS.entries()) {
        const frame = await lab(page, i);
        const taught = /lesson="([^"]+)"/.exec(tag)?.[1];
        if (taught) {
          await frame.waitForSelector('lesson-panel:not([hidden]) h2');
          assert.equal(await frame.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).room.view.id), taught);
        } else await message(page, { servent: 'state', from: i, story: /preset="([^"]+)"/.exec(tag)?.[1], view: /view="([^"]+)"/.exec(tag)?.[1] ?? 'routing' });
        const language = /lang="([^"]+)"/.exec(tag)?.[1];
        if (language) assert.equal(await frame.evaluate(() => document.documentElement.lang), language);
        for (const width of WIDTHS) {
          await page.setViewport({ width, height: 900 });
          assert.deepEqual(await wrongIn(frame, Boolean(taught), taught ? 180 : 200), [], `${tag} at ${width} px`);
        }
      }
      await page.waitForFunction(() => /** @type {any} */ (window).told.length > 0);
    });

    test('a world tells what a learner answered and tried, goes to another lesson, and believes no other site', async (t) => {
      const page = await outside(t, '<servent-world lesson="deadlock"></servent-world>');
      const frame = await lab(page, 0);
      const said = (/** @type {Record<string, unknown>} */ like) => page.waitForFunction((wanted) => /** @type {any} */ (window).told.some((/** @type {any} */ one) => Object.entries(wanted).every(([key, value]) => one[key] === value)), {}, /** @type {any} */ (like));
      await tap(frame, '.lesson-choice:nth-child(1) input');
      await tap(frame, '[data-lesson="commit"]');
      await said({ servent: 'answer', lesson: 'deadlock', step: 1, right: false });
      await frame.evaluate(() => {
        const { room } = /** @type {any} */ (document.querySelector('servent-lab'));
        room.go(2);
        room.tryIt();
        room.change('source_slots', 8);
        room.tryIt();
      });
      await said({ servent: 'answer', lesson: 'deadlock', step: 3, right: false });
      assert.equal((await page.evaluate(() => /** @type {any} */ (window).told)).filter((/** @type {any} */ one) => one.step === 3).length, 1, 'where nothing was done nothing was tried');
      // The page around may show something else.
      await page.$eval('servent-world', (world) => world.setAttribute('lesson', 'flood'));
      await frame.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).room.view?.id === 'flood', { polling: 40 });
      await page.$eval('servent-world', (world) => { world.removeAttribute('lesson'); world.setAttribute('preset', 'ring'); });
      await message(page, { servent: 'state', story: 'ring' });
      assert.equal(await frame.$eval('.lab-side', (n) => n.checkVisibility()), false);

      const before = await page.evaluate(() => /** @type {any} */ (window).told.length);
      await page.evaluate(() => postMessage({ servent: 'answer', lesson: 'forged', step: 1, right: true }, '*'));
      await page.$eval('servent-world iframe', (node, url) => { /** @type {HTMLIFrameElement} */ (node).src = url; }, `${other.url}forged`);
      await page.waitForFunction(() => /** @type {any} */ (window).heard.filter((/** @type {any} */ one) => one.lesson === 'forged').length === 2);
      const told = await page.evaluate(() => /** @type {any} */ (window).told);
      assert.deepEqual(told.slice(before).filter((/** @type {any} */ one) => one.lesson === 'forged'), []);
    });

    test('what cannot be embedded is not offered: a lesson from a file, and the page of a running servent', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire');
      const offers = async () => {
        await press(page, '[data-tool="save"]');
        const offered = await page.$$eval('.menu [role="menuitem"]', (all) => all.some((item) => item.textContent?.includes('HTML')));
        await page.keyboard.press('Escape');
        return offered;
      };
      assert.equal(await offers(), true);
      await page.evaluate(() => document.querySelector('meta[name="servent-api"]')?.setAttribute('content', 'here'));
      assert.equal(await offers(), false);
      await page.evaluate(() => document.querySelector('meta[name="servent-api"]')?.setAttribute('content', 'none'));
      await page.evaluate(async (text) => {
        const { Lesson } = await import(/** @type {any} */ ('#servent'));
        await /** @type {any} */ (document.querySelector('servent-lab')).room.begin(Lesson.read(text));
      }, readFileSync(path.join(WWW, '../sim/lessons/flood.toml'), 'utf8'));
      assert.equal(await offers(), false);
      await page.close();
    });
  });
}
