/** The page in other languages than English: chosen by the browser, switched by hand, kept in the address. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, press, start, state } from '../browser.js';
import { ENGLISH } from '../tongues.js';

/** @import { Page } from 'puppeteer-core' */

/** Texts and names of all that can be seen and that English words are left in. @param {Page} page @param {string} [lang] */
const english = (page, lang = 'de') => page.evaluate((pattern) => {
  const words = new RegExp(pattern, 'iu');
  const found = [];
  for (const node of document.querySelectorAll('servent-lab *, dialog *')) {
    if (node.closest('lesson-panel, [data-lesson], .passages, code, td.kind, [lang="en"]')) continue;
    const own = [...node.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent ?? '');
    found.push(...[...own, node.getAttribute('aria-label') ?? '', node.getAttribute('title') ?? ''].filter((text) => words.test(text.replace(/„[^“]*“|«[^»]*»|: [A-Z]+ \/.*/g, ''))));
  }
  return found;
}, ENGLISH[lang].source);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    // German in every view; the others in two each, for time.
    for (const [view, story, lang] of [
      ['queue', 'one-cut-wire', 'de'], ['routing', 'round-and-back', 'de'], ['unicast', 'lose-middle', 'de'], ['swarm', 'two-for-one', 'de'],
      ['queue', 'one-cut-wire', 'es'], ['unicast', 'lose-middle', 'es'], ['routing', 'round-and-back', 'fr'], ['swarm', 'two-for-one', 'fr'],
    ]) {
      test(`no English is left in ${view}, ${lang}`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?p=${story}&lang=${lang}`);
        assert.equal(await page.evaluate(() => document.documentElement.lang), lang);
        await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.pause(); session.clock.seek(session.clock.end * 0.6); session.clock.step(1); });
        await frame(page);
        assert.deepEqual(await english(page, lang), [], 'the view');
        await page.keyboard.press('?');
        await page.waitForSelector('dialog[open]');
        assert.deepEqual(await english(page, lang), [], 'keys and signs');
        await page.keyboard.press('Escape');
        await press(page, '[data-tool="scenario"]');
        await page.waitForSelector('dialog[open]');
        assert.deepEqual(await english(page, lang), [], 'stories and form');
        await page.keyboard.press('Escape');
        await page.keyboard.press('e');
        await page.waitForSelector('.events td.what');
        assert.deepEqual(await english(page, lang), [], 'events');
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    test('a lesson is in German from its list to its verdict', async () => {
      const { page } = await open(started, '#1/swarm?les=deadlock/3&lang=de');
      await page.waitForSelector('.lesson-goal select');
      // Nothing done, then something that does not help, then what does.
      await page.click('[data-lesson="try"]');
      await page.waitForSelector('.lesson-verdict');
      const words = () => page.$eval('lesson-panel', (n) => n.textContent ?? '');
      assert.match(await words(), /Noch ist nichts getan\./);
      assert.match(await page.$eval('.lesson-goal option:checked', (n) => n.textContent ?? ''), /von 2004/);
      assert.doesNotMatch(await words(), ENGLISH.de);
      await page.$$eval('.lesson-goal select', ([, , slots]) => { /** @type {HTMLSelectElement} */ (slots).selectedIndex = 1; slots.dispatchEvent(new Event('change')); });
      await page.click('[data-lesson="try"]');
      await page.waitForFunction(() => /Startwert/.test(document.querySelector('.lesson-verdict h3')?.textContent ?? ''));
      assert.doesNotMatch(await words(), ENGLISH.de);
      await press(page, '[data-tool="lessons"]');
      await page.waitForSelector('dialog .preset');
      assert.deepEqual(await english(page), [], 'the list of lessons');
      await page.close();
    });

    test('the head has one row on a laptop', { skip: name !== 'chromium' && 'it is laid out the same' }, async () => {
      for (const [lang, link] of ['en', 'de', 'es', 'fr'].flatMap((one) => [[one, '#1/unicast?p=lose-middle'], [one, '#1/queue?p=one-cut-wire']])) {
        const { page } = await open(started, `${link}&lang=${lang}`);
        const [tabs, tools] = await page.evaluate(() => ['.tabs', '.lab-tools'].map((part) => document.querySelector(part)?.getBoundingClientRect().bottom ?? 0));
        assert.ok(Math.abs(tabs - tools) < 20, `${lang}: ${tabs}, ${tools}`);
        await page.close();
      }
    });

    test('a click switches, and the link and the next visit keep it', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=40000');
      assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
      const { index } = await state(page);
      await press(page, '[data-tool="language"]');
      assert.deepEqual(await page.$$eval('[role="menuitemradio"]', (all) => all.map((n) => [n.lang, n.getAttribute('aria-checked')])), [['en', 'true'], ['de', 'false'], ['es', 'false'], ['fr', 'false']]);
      await Promise.all([page.waitForNavigation(), page.click('[role="menuitemradio"][lang="de"]')]);
      await page.waitForFunction(() => document.documentElement.lang === 'de' && /** @type {any} */ (document.querySelector('servent-lab')).session?.run);
      assert.equal((await state(page)).index, index, 'the same moment');
      assert.match(await page.evaluate(() => location.hash), /lang=de/);
      assert.match(await page.$eval('.story strong', (n) => n.textContent ?? ''), /gekappte Leitung/);
      const link = await page.evaluate(() => location.hash);
      await page.close();
      // A person who gets the link has it in German, whatever the browser speaks; and a link can bring back English.
      const other = await open(started, link);
      assert.equal(await other.page.evaluate(() => document.documentElement.lang), 'de');
      await Promise.all([other.page.waitForNavigation(), other.page.evaluate(() => { location.hash = location.hash.replace('lang=de', 'lang=en'); })]);
      await other.page.waitForFunction(() => document.documentElement.lang === 'en' && document.querySelector('.transport'));
      await other.page.close();
    });

    test('the browser’s language is spoken when none was chosen', { skip: name !== 'chromium' && 'this browser’s languages are set by its profile' }, async () => {
      const page = await started.browser.newPage();
      await page.evaluateOnNewDocument(() => Object.defineProperty(navigator, 'languages', { get: () => ['de-AT', 'en'] }));
      await page.goto(`${started.server.url}#1/swarm?p=two-for-one`);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session?.run);
      assert.equal(await page.evaluate(() => document.documentElement.lang), 'de');
      assert.doesNotMatch(await page.evaluate(() => location.hash), /lang=/, 'a link does not say what the user did not choose');
      await page.close();
    });
  });
}
