/** For a class: a link that leads nowhere else, worksheets with and without answers, a black screen, the keys of clickers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, drop, frame, open, press, start, state } from '../browser.js';
import { ANSWERS } from '../lessons.js';
import { WWW } from '../serve.js';

/** @import { Page } from 'puppeteer-core' */

/** Makes the worksheet without a dialog of the system; its words. @param {Page} page @param {boolean} answers */
const sheet = (page, answers) => page.evaluate((wanted) => {
  window.print = () => {};
  /** @type {any} */ (document.querySelector('[data-lesson="teacher"]')).click();
  const items = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.menu [role="menuitem"]')]);
  items.at(wanted ? -1 : -2)?.click();
  const made = document.querySelector('.worksheet');
  return { text: made?.textContent ?? '', right: [...made?.querySelectorAll('[data-right="true"]') ?? []].map((n) => n.textContent ?? '') };
}, answers);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('the link for a class opens the lesson at its beginning and leads nowhere else', async () => {
      const { page } = await open(started, '#1/queue?les=cut-the-wire/4&lang=en');
      await page.waitForSelector('[data-lesson="teacher"]');
      await page.click('[data-lesson="teacher"]');
      await page.click('.menu [role="menuitem"]');
      const link = await page.evaluate(() => location.hash);
      assert.match(link, /^#1\/queue\?les=cut-the-wire\/1&lang=en&lock=1$/);
      await page.close();

      const { page: pupil } = await open(started, link);
      await pupil.waitForSelector('lesson-panel h2');
      const seen = await pupil.$$eval('[data-tool], .tabs button, .segmented button, [data-lesson]', (all) => all.filter((n) => n.checkVisibility()).map((n) => { const { tool, lesson, view, mode } = /** @type {HTMLElement} */ (n).dataset; return tool ?? lesson ?? view ?? mode; }));
      for (const away of ['open', 'save', 'lessons', 'link', 'scenario', 'teacher', 'leave', 'routing', 'events', 'compare']) assert.ok(!seen.includes(away), `${away} among ${seen}`);
      assert.ok(seen.includes('next') && seen.includes('theme') && seen.includes('help'));
      for (const key of ['2', 'e', 'v', '/']) await pupil.keyboard.press(key);
      await drop(pupil, 'mine.toml', readFileSync(path.join(WWW, '../sim/lessons/flood.toml'), 'utf8'));
      const own = await pupil.evaluate(() => location.hash);
      // Another address in the same window leads back.
      await pupil.evaluate(() => { location.hash = '#1/queue?les=cut-the-wire/5'; });
      await pupil.waitForFunction((hash) => location.hash.split('&')[0] === hash.split('&')[0], {}, own);
      const { view, mode } = await state(pupil);
      assert.deepEqual([view, mode], ['queue', 'single']);
      assert.equal(await pupil.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).room.step), 0);
      // A reload keeps it, at the step one was at.
      await pupil.click('[data-lesson="next"]');
      await pupil.waitForFunction(() => location.hash.includes('les=cut-the-wire/2') && location.hash.includes('lock=1'));
      await pupil.reload();
      await pupil.waitForSelector('.lesson-choice');
      assert.equal(await pupil.$eval('.tabs', (n) => n.checkVisibility()), false);
      await pupil.close();
    });

    test('a story alone is a link for a class too', async () => {
      const { page } = await open(started, '#1/routing?p=round-and-back');
      await press(page, '[data-tool="save"]');
      await page.evaluate(() => /** @type {HTMLElement|undefined} */ ([...document.querySelectorAll('.menu [role="menuitem"]')].find((item) => item.textContent?.includes('class')))?.click());
      assert.equal(await page.evaluate(() => location.hash), '#1/routing?p=round-and-back&lock=1');
      await page.close();
      const { page: pupil } = await open(started, '#1/routing?p=round-and-back&lock=1');
      assert.equal(await pupil.$eval('.tabs', (n) => n.checkVisibility()), false);
      assert.equal((await state(pupil)).view, 'routing');
      await pupil.close();
    });

    test('a worksheet asks all that the lesson asks; its answers are those of the core', async () => {
      for (const [id, view] of [['cut-the-wire', 'queue'], ['newcomer', 'queue'], ['way-back', 'routing'], ['late-push', 'routing'], ['lose-the-first', 'unicast'], ['deadlock', 'swarm']]) {
        const { page, complaints } = await open(started, `#1/${view}?les=${id}/1`);
        await page.waitForSelector('[data-lesson="teacher"]');
        const told = await page.evaluate(() => {
          const { lesson, view: whole } = /** @type {any} */ (document.querySelector('servent-lab')).room;
          return whole.steps.map((/** @type {any} */ { task, kind, text }, /** @type {number} */ i) => ({ kind, text, choices: task?.question?.choice, ...task ? lesson.answer(i) : {} }));
        });
        const plain = await sheet(page, false);
        const solved = await sheet(page, true);
        assert.deepEqual(plain.right, []);
        for (const [i, step] of told.entries()) {
          if (step.truth === undefined) continue;
          assert.ok(plain.text.includes(step.text.split('\n')[0].replaceAll(/[`*]/g, '')), `${id}: ${step.text}`);
          const why = step.why.replaceAll(/[`*]/g, '');
          assert.ok(solved.text.includes(why) && !plain.text.includes(why), `${id}: ${why}`);
          const stored = ANSWERS[id][i]?.right;
          if (stored?.choice !== undefined) assert.equal(step.truth, step.choices[stored.choice], `${id}: as stored`);
        }
        assert.deepEqual(complaints, []);
        await page.close();
      }
    });

    test('on paper there is the worksheet alone, on few pages', { skip: name !== 'chromium' && 'it is printed the same' }, async () => {
      const { page } = await open(started, '#1/queue?les=cut-the-wire/1', { dark: true });
      await page.waitForSelector('[data-lesson="teacher"]');
      await sheet(page, true);
      await page.emulateMediaType('print');
      assert.equal(await page.$eval('servent-lab', (n) => n.checkVisibility()), false);
      assert.equal(await page.$eval('.worksheet', (n) => getComputedStyle(n).color), 'rgb(0, 0, 0)');
      // The picture is as wide as the paper, which is 174 mm between its margins.
      await page.setViewport({ width: 658, height: 900 });
      const { width, right } = await page.$eval('.worksheet figure img', (n) => { const { width: wide, right: edge } = n.getBoundingClientRect(); return { width: wide, right: edge }; });
      assert.ok(width > 640 && right <= 659, `${width} to ${right}`);
      const pdf = Buffer.from(await page.pdf({ preferCSSPageSize: true })).toString('latin1');
      const pages = pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
      assert.ok(pages >= 1 && pages <= 3, `${pages} pages`);
      await page.close();
    });

    test('a presenter blackens the screen and comes back; the keys of a clicker step', async () => {
      const { page } = await open(started, '#1/unicast?p=lose-middle');
      const { index } = await state(page);
      await page.keyboard.press('PageDown');
      assert.equal((await state(page)).index, index + 1, 'without a lesson a clicker steps');
      await page.keyboard.press('PageUp');
      assert.equal((await state(page)).index, index);
      await page.keyboard.press('b');
      assert.equal(await page.$('dialog.black'), null, 'only on a projector');
      await press(page, '[data-tool="projector"]');
      for (const key of ['b', '.']) {
        await page.keyboard.press(key);
        await frame(page);
        const black = await page.$eval('dialog.black', (n) => { const { width, height } = n.getBoundingClientRect(); return [getComputedStyle(n).backgroundColor, width >= innerWidth, height >= innerHeight]; });
        assert.deepEqual(black, ['rgb(0, 0, 0)', true, true]);
        await page.keyboard.press(key);
        await page.waitForFunction(() => !document.querySelector('dialog.black'));
      }
      assert.equal((await state(page)).index, index, 'what wakes the screen does nothing else');
      await page.close();
    });
  });
}
