/** A lesson in a learning platform: the package of the real program, in a run-time of SCORM 1.2. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, patient, start } from '../browser.js';
import { ANSWERS } from '../lessons.js';
import { platform, unzipped } from '../lms.js';
import { PROGRAM } from '../program.js';

const LESSON = 'cut-the-wire';

/** What the platform has kept. @param {import('puppeteer-core').Page} page */
const kept = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('kept') ?? '{}'));

/** The frame of the lesson, when the lesson has begun. @param {import('puppeteer-core').Page} page */
async function inside(page) {
  const frame = await (await page.waitForSelector('iframe'))?.contentFrame();
  assert.ok(frame);
  await frame.waitForSelector('lesson-panel h2');
  return frame;
}

/** Answers a step and goes on. @param {import('puppeteer-core').Frame} frame @param {number} step @param {any} reply */
const answer = (frame, step, reply) => frame.evaluate((step, reply) => {
  const { room } = /** @type {any} */ (document.querySelector('servent-lab'));
  room.go(step);
  room.commit(reply);
}, step, reply);

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    /** @type {Awaited<ReturnType<typeof platform>>} */ let here;
    const folder = mkdtempSync(path.join(tmpdir(), 'servent-scorm-'));
    const file = path.join(folder, 'lesson.zip');
    before(async () => {
      execFileSync(String(PROGRAM), ['lesson', 'pack', LESSON, '--out', file]);
      here = await platform(unzipped(file));
      started = await start(name);
    });
    after(async () => {
      here?.close();
      await started?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test('a package that is there is left as it is', () => {
      const other = path.join(folder, 'other.zip');
      writeFileSync(other, 'mine');
      const { status, stderr } = spawnSync(String(PROGRAM), ['lesson', 'pack', LESSON, '--out', other], { encoding: 'utf8' });
      assert.equal(status, 4);
      assert.match(stderr, /is there already/);
      assert.equal(readFileSync(other, 'utf8'), 'mine');
    });

    test('it is told where the learner is, when all is answered and how well, and leads back', async () => {
      const page = patient(await started.browser.newPage());
      await page.goto(here.url);
      let frame = await inside(page);
      const [first, ...others] = Object.entries(ANSWERS[LESSON]);
      await answer(frame, Number(first[0]), first[1].wrong);
      assert.equal((await kept(page))['cmi.core.lesson_status'], 'incomplete');

      // Another day: the lesson goes on where it was left.
      await page.reload();
      frame = await inside(page);
      const at = await frame.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).room.step);
      assert.equal(at, Number(first[0]));
      // A second answer does not make the first one right.
      await answer(frame, Number(first[0]), first[1].right);
      for (const [step, { right }] of others) await answer(frame, Number(step), right);
      const said = await kept(page);
      assert.equal(said['cmi.core.lesson_status'], 'completed');
      assert.equal(said['cmi.core.score.raw'], '67');

      await page.goto(`${here.url}nothing`);
      assert.match((await kept(page))['cmi.core.session_time'], /^0000:\d\d:\d\d$/);
      assert.deepEqual(await page.evaluate(() => JSON.parse(localStorage.getItem('faults') ?? '[]')), []);
      await page.close();
    });
  });
}
