/**
 * The plan of docs/workshop.md, walked through as it is done before a class: a
 * laptop of 1280 × 800 on a projector, the keys of a clicker. At each step the
 * picture is large, nothing covers anything, and the question can be answered.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, open, start } from '../browser.js';
import { inNode } from '../digest.js';
import { measure, overlaps } from '../layout.js';
import { ANSWERS, DEEDS } from '../lessons.js';
import { WWW } from '../serve.js';

/** @import { Page } from 'puppeteer-core' */

const SIZE = { width: 1280, height: 800 };
/** Beside a lesson the picture has this share of the height at least. */
const SHARE = 0.4;

/** The rows of the plan: what is done in each. */
const PLAN = (/\n## The plan\n([^]*?)\n## /.exec(readFileSync(path.join(WWW, '../docs/workshop.md'), 'utf8'))?.[1] ?? '')
  .split('\n').filter((line) => /^\| \d/.test(line)).map((line) => line.split('|')[2]);

/** As the button does it, and in this browser only. @param {Page} page */
async function project(page) {
  await page.click('[data-tool="projector"]');
  await frame(page);
}

/** What is wrong with what is seen. @param {Page} page */
async function wrongIn(page) {
  await frame(page);
  const { parts, covered, wide, picture, height } = await measure(page);
  const small = !picture || picture.height < SHARE * height ? [`the picture has ${Math.round(picture?.height ?? 0)} of ${height}`] : [];
  return [...overlaps(parts), ...covered, ...(wide > 0 ? [`${wide} px too wide`] : []), ...small];
}

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('the plan has stories to play with, three lessons and a goal', () => {
      assert.equal(PLAN.filter((what) => what.includes('`#1/')).length, 2);
      assert.equal(PLAN.filter((what) => /^ Lesson \*/.test(what)).length, 3);
      assert.equal(PLAN.filter((what) => /^ A goal/.test(what)).length, 1);
    });

    for (const link of PLAN.flatMap((what) => /`(#1\/[^`]*)`/.exec(what)?.[1] ?? [])) {
      test(`to play with: ${link}`, async () => {
        const { page, complaints } = await open(started, link, SIZE);
        await project(page);
        assert.deepEqual(await wrongIn(page), []);
        await page.keyboard.press(' ');
        await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.now > 0);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    for (const [, title, from] of PLAN.flatMap((what) => { const found = /\*([A-Z][^*]+)\*(?:.*its (third) step)?/.exec(/^ (Lesson|A goal)/.test(what) ? what : ''); return found ? [found] : []; })) {
      test(`the lesson ${title}${from ? `, from its ${from} step` : ''}`, async () => {
        const core = /** @type {any} */ (await inNode());
        const lesson = core.Lesson.all().find((/** @type {any} */ one) => one.title === title);
        assert.ok(lesson, 'there is such a lesson');
        const first = from ? 2 : 0;
        const { page, complaints } = await open(started, `#1/${lesson.view}?les=${lesson.id}/${first + 1}`, SIZE);
        await page.waitForSelector('lesson-panel:not([hidden]) h2');
        await project(page);
        for (let step = first; step < lesson.steps.length; step += 1) {
          const at = `step ${step + 1}`;
          await page.waitForFunction((now) => /** @type {any} */ (document.querySelector('servent-lab')).room.step === now, {}, step);
          assert.deepEqual(await wrongIn(page), [], at);
          const reply = ANSWERS[lesson.id][step]?.right ?? null;
          const deed = DEEDS[lesson.id]?.[step]?.right ?? null;
          const right = await page.evaluate((said, done) => {
            const { room, session } = /** @type {any} */ (document.querySelector('servent-lab'));
            if (said) room.commit(said);
            for (const [key, value] of Object.entries(done?.set ?? {})) room.change(key, value);
            if (done) room.tryIt();
            // The test does not wait until it was shown.
            if (room.now.kind === 'reveal') session.clock.seek(room.now.until);
            return said ? room.answers.get(room.step).verdict.right : done ? room.attempt.right : true;
          }, reply, deed);
          assert.ok(right, at);
          // What was said can be read, and goes on by the clicker.
          assert.deepEqual(await wrongIn(page), [], `${at}, answered`);
          if (step < lesson.steps.length - 1) await page.keyboard.press('PageDown');
        }
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }
  });
}
