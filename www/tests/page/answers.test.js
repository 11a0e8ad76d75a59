/** What a learner answered and tried is kept, saved as a table, and printed. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, open, press, start } from '../browser.js';

/** Lines of a table without quoted line ends, as cells. @param {string} text */
const cells = (text) => text.trim().split('\r\n').map((line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain));

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('commits and attempts at a goal stand in the table and on paper, with their times', async () => {
      const { page, complaints } = await open(started, '#1/swarm?les=deadlock/1');
      await page.waitForSelector('.lesson-choice');
      await page.click('.lesson-choice:nth-child(1) input');
      await page.click('[data-lesson="commit"]');
      await page.waitForSelector('.lesson-said');
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).room.go(2));
      await page.waitForSelector('.lesson-goal select');
      // Nothing was done, so nothing is kept of it.
      await page.click('[data-lesson="try"]');
      await page.waitForSelector('.lesson-verdict');
      const choose = (/** @type {number} */ which, /** @type {string} */ text) => page.$$eval('.lesson-goal select', (all, i, wanted) => {
        const select = /** @type {HTMLSelectElement} */ (all[i]);
        select.selectedIndex = [...select.options].findIndex((option) => option.text === wanted);
        select.dispatchEvent(new Event('change'));
      }, which, text);
      await choose(2, '8');
      await page.click('[data-lesson="try"]');
      await page.waitForSelector('.lesson-verdict[data-right="false"] button');
      await page.click('[data-lesson="again"]');
      const rules = await page.$eval('.lesson-goal select', (select) => /** @type {HTMLSelectElement} */ (select).options[1].text);
      await choose(0, rules);
      await page.click('[data-lesson="try"]');
      await page.waitForSelector('.lesson-verdict[data-right="true"]');

      await page.evaluate(() => {
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => {
          /** @type {any} */ (window).saved = /** @type {Blob} */ (blob).text();
          return make.call(URL, blob);
        };
        // The system's own dialogs stay away.
        HTMLAnchorElement.prototype.click = function click() { /** @type {any} */ (window).called = this.download; };
        /** @type {any} */ (window).printed = 0;
        window.print = () => { /** @type {any} */ (window).printed += 1; };
      });
      await press(page, '[data-tool="lessons"]');
      await page.waitForSelector('[data-answers="answers.csv"]');
      assert.match(await page.$eval('.answers p', (n) => n.textContent ?? ''), /^3 answers of yours/);
      await page.click('[data-answers="answers.csv"]');
      const table = cells(await page.evaluate(() => /** @type {any} */ (window).saved));
      assert.equal(await page.evaluate(() => /** @type {any} */ (window).called), 'answers.csv');
      assert.deepEqual(table[0], ['at', 'lesson', 'title', 'step', 'kind', 'said', 'right', 'attempt', 'seconds']);
      assert.deepEqual(table.slice(1).map(([, lesson, , step, kind, , right, attempt]) => [lesson, step, kind, right, attempt]), [
        ['deadlock', '1', 'predict', 'false', '1'], ['deadlock', '3', 'goal', 'false', '1'], ['deadlock', '3', 'goal', 'true', '2'],
      ]);
      assert.match(table[2][5], /^\S.*: 8$/);
      assert.ok(table[3][5].endsWith(`: ${rules}`), table[3][5]);
      for (const [at, , , , , said, , , seconds] of table.slice(1)) assert.ok(said && Number.isFinite(Date.parse(at)) && /^\d+$/.test(seconds), `${at} ${said} ${seconds}`);

      await page.click('[data-answers="answers.print"]');
      await page.waitForFunction(() => /** @type {any} */ (window).printed === 1);
      const rows = await page.$$eval('.worksheet tbody tr', (all) => all.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent ?? '')));
      assert.deepEqual(rows.map(([, title, step, said, judged, attempt, seconds]) => [title, step, said, judged, attempt, seconds]), table.slice(1).map(([, , title, step, , said, right, attempt, seconds]) => [title, step, said, right === 'true' ? 'right' : 'not right', attempt, seconds]));
      await page.evaluate(() => dispatchEvent(new Event('afterprint')));
      assert.equal(await page.$('.worksheet'), null);
      assert.deepEqual(complaints, []);
      await page.goto('about:blank');
      await page.close();
    });

    test('what was done by hand in the picture is told in words', async () => {
      const { page } = await open(started, '#1/unicast?les=lose-the-first/3');
      await page.waitForSelector('.lesson-goal');
      await page.evaluate(() => {
        const { room, session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.seek(0);
        session.actions.inject({ drop: { from: 0, to: 1, n: 5 } });
        room.tryIt();
      });
      const [one] = await page.evaluate(() => JSON.parse(localStorage.getItem('answers') ?? '[]'));
      assert.deepEqual([one.kind, one.right, one.attempt], ['goal', false, 1]);
      assert.match(one.said, /^0\.000 s: Drop \(A, B, 5\)$/);
      await page.close();
    });
  });
}
