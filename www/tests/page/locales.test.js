/** Sentences and layout in two invented languages: with marks and longer than English (`xa`), and from right to left (`xb`). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';

/** @import { Page } from 'puppeteer-core' */

const STORIES = { queue: 'one-cut-wire', routing: 'round-and-back', unicast: 'lose-middle', swarm: 'two-for-one' };

/** Texts of the page that are no sentence of ours: letters that `xa` would have marked. What the core names stays. @param {Page} page */
const plain = (page) => page.evaluate(() => {
  const found = [];
  for (const node of document.querySelectorAll('servent-lab *, dialog *')) {
    if (node.closest('lesson-panel, .passages, code, td.kind, [lang], .story, .preset, .lane-name, svg, style, [translate="no"]')) continue;
    const own = [...node.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent ?? '');
    for (const text of [...own, node.getAttribute('aria-label') ?? '', node.getAttribute('title') ?? '']) {
      // A word without any mark, of letters that would have one.
      const word = /(?<![\p{L}\p{N}_-])(?=[a-z]*[aeiou])[a-z]{4,}(?![\p{L}\p{N}_-])/u.exec(text);
      if (word) found.push(`${word[0]}: ${text.slice(0, 60)}`);
    }
  }
  return found;
});

/** What is wider than the window, and buttons whose words do not fit. @param {Page} page */
const tooWide = (page) => page.evaluate(() => {
  const wide = document.scrollingElement && document.scrollingElement.scrollWidth > innerWidth ? [`the page: ${document.scrollingElement.scrollWidth} of ${innerWidth}`] : [];
  for (const node of document.querySelectorAll('.lab-head .button, .lab-time .button, .hint .button, lab-inspector .button')) {
    if (!node.checkVisibility()) continue;
    const { left, right } = node.getBoundingClientRect();
    if (left < -1 || right > innerWidth + 1 || node.scrollWidth > node.clientWidth + 2) wide.push(`${node.textContent?.slice(0, 40)}: ${Math.round(left)}–${Math.round(right)}, ${node.scrollWidth} of ${node.clientWidth}`);
  }
  return wide;
});

/** Somewhere in the middle, with an event to tell of. @param {Page} page */
async function middle(page) {
  await page.evaluate(() => {
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    session.clock.pause();
    session.clock.seek(session.clock.end * 0.6);
    session.clock.step(1);
  });
  await frame(page);
}

/** Where the knob is when that part of the story is over. @param {Page} page @param {number} part */
async function knobAt(page, part) {
  await page.evaluate((to) => {
    const { clock } = /** @type {any} */ (document.querySelector('servent-lab')).session;
    clock.seek(clock.end * to);
  }, part);
  await frame(page);
  return page.$eval('.track .knob', (n) => n.getBoundingClientRect().left);
}

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, story] of Object.entries(STORIES)) {
      test(`${view}: every sentence is one of the strings, and longer ones fit`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?p=${story}&lang=xa`);
        await middle(page);
        assert.deepEqual(await plain(page), []);
        assert.deepEqual(await tooWide(page), []);
        await page.setViewport({ width: 390, height: 844 });
        await frame(page);
        assert.deepEqual(await tooWide(page), [], '390 px');
        assert.deepEqual(complaints, []);
        await page.close();
      });

      test(`${view}: from right to left the parts change sides, and time does not`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?p=${story}&lang=xb`);
        await middle(page);
        const at = await page.evaluate(() => {
          const left = (/** @type {string} */ selector) => document.querySelector(selector)?.getBoundingClientRect().left ?? NaN;
          return { side: left('.lab-side'), stage: left('.lab-view'), logo: left('.brand'), early: left('.bar .early'), lost: left('.bar .lost') };
        });
        assert.ok(at.side < at.stage, 'the inspector is at the end of a line');
        assert.ok(at.logo > 640, 'the name is at the beginning of a line');
        const [early, late] = [await knobAt(page, 0.1), await knobAt(page, 0.5)];
        assert.ok(early < late, `time runs from left to right: ${early}, ${late}`);
        if (view === 'queue') assert.ok(at.early < at.lost, 'a window opens at its left');
        assert.deepEqual(await tooWide(page), []);
        await page.setViewport({ width: 390, height: 844 });
        await frame(page);
        assert.deepEqual(await tooWide(page), [], '390 px');
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }
  });
}
