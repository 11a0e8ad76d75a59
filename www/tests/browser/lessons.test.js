/** A lesson in each view, by the keyboard alone: predict, commit, watch, say what was seen, and once more alone. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { plain } from '../../js/lesson/marks.js';
import { violations } from '../axe.js';
import { BROWSERS, drop, frame, open, press, start, state } from '../browser.js';
import { ANSWERS } from '../lessons.js';
import { WWW } from '../serve.js';

/** @import { Page } from 'puppeteer-core' */

const LESSONS = { queue: 'cut-the-wire', routing: 'way-back', unicast: 'lose-the-middle', swarm: 'two-for-one', meet: 'two-doors' };

/** Goes on by Tab until something has the focus. @param {Page} page @param {string} selector */
async function tabTo(page, selector) {
  for (let i = 0; i < 60; i += 1) {
    if (await page.evaluate((s) => document.activeElement?.matches(s), selector)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab never reaches ${selector}`);
}

/** Answers what is asked, by keys. @param {Page} page @param {any} reply */
async function answer(page, reply) {
  if (reply.choice !== undefined) {
    await tabTo(page, '.lesson-choice input');
    // An arrow chooses the next one; Space the one that has the focus.
    if (reply.choice === 0) await page.keyboard.press(' ');
    for (let i = 0; i < reply.choice; i += 1) await page.keyboard.press('ArrowDown');
  } else if (reply.number !== undefined) {
    await tabTo(page, '.lesson-number input');
    await page.keyboard.type(String(reply.number));
  } else {
    await tabTo(page, 'lesson-panel select');
    await page.keyboard.type(reply.node);
  }
  await tabTo(page, '[data-lesson="commit"]');
  await page.keyboard.press('Enter');
}

/** Where the lesson is. @param {Page} page */
const lesson = (page) => page.evaluate(() => {
  const { room, session } = /** @type {any} */ (document.querySelector('servent-lab'));
  return { step: room.step, kind: room.now?.kind, asks: room.asks, seen: room.seen, at: room.now?.at, now: session.run.now, answers: room.answers.size };
});

/** All that is in the accessibility tree, in the order in which it is read. @param {Page} page */
async function tree(page) {
  /** @param {import('puppeteer-core').SerializedAXNode|null} node @returns {import('puppeteer-core').SerializedAXNode[]} */
  const flat = (node) => (node ? [node, ...(node.children ?? []).flatMap(flat)] : []);
  return flat(await page.accessibility.snapshot());
}

/** Keeps what a screen reader is told to speak. @param {Page} page */
const listen = (page) => page.evaluate(() => {
  const told = /** @type {string[]} */ ([]);
  Object.assign(window, { told });
  new MutationObserver(() => told.push(document.querySelector('[aria-live="polite"]')?.textContent ?? '')).observe(document.body, { subtree: true, childList: true, characterData: true });
});
/** Waits until it was told to speak something. @param {Page} page @param {RegExp} what */
const spoken = (page, what) => page.waitForFunction((pattern) => /** @type {any} */ (window).told.some((/** @type {string} */ one) => new RegExp(pattern).test(one)), {}, what.source);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const [view, id] of Object.entries(LESSONS)) {
      test(`the keyboard alone finishes a lesson of ${view}`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?les=${id}/1`);
        await page.waitForSelector('lesson-panel h2');
        const steps = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).room.view.steps.length);
        for (let step = 0; step < steps; step += 1) {
          await page.waitForFunction((n) => /** @type {any} */ (document.querySelector('servent-lab')).room.step === n, {}, step);
          const { kind } = await lesson(page);
          const stored = ANSWERS[id][step];
          if (stored) {
            // The first time wrong, the last time right.
            await answer(page, kind === 'predict' ? stored.wrong : stored.right);
            assert.equal((await lesson(page)).answers, Object.keys(ANSWERS[id]).filter((s) => Number(s) <= step).length);
            const told = await page.$('.lesson-verdict');
            assert.equal(told !== null, kind !== 'predict', 'a prediction is judged by what happens');
          }
          if (kind === 'reveal') {
            // It is shown in ten seconds; a learner who wants to sees it faster.
            for (let i = 0; i < 3; i += 1) await page.keyboard.press(']');
            await page.waitForSelector('.lesson-verdict', { timeout: 40_000 });
            assert.equal(await page.$eval('.lesson-verdict', (n) => /** @type {HTMLElement} */ (n).dataset.right), 'false');
            assert.ok((await page.$eval('.lesson-verdict', (n) => n.textContent ?? '')).length > 60, 'it is said why');
          }
          if (step < steps - 1) {
            await tabTo(page, '[data-lesson="next"]');
            await page.keyboard.press('Enter');
          }
        }
        assert.equal(await page.$eval('.lesson-verdict', (n) => /** @type {HTMLElement} */ (n).dataset.right), 'true');
        assert.equal(await page.evaluate((key) => localStorage.getItem(key), `lesson.${id}`), 'done');
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    for (const [view, id] of Object.entries(LESSONS)) {
      test(`a lesson of ${view} is done by the accessibility tree and the keys alone`, { skip: name !== 'chromium' && 'its tree is the one that can be read' }, async () => {
        const { page } = await open(started, `#1/${view}?les=${id}/1`);
        await page.waitForSelector('lesson-panel h2');
        await listen(page);
        /** Goes on by Tab until what has the focus is called so. @param {string} role @param {RegExp} called */
        const to = async (role, called) => {
          for (let i = 0; i < 60; i += 1) {
            const focused = (await tree(page)).find((node) => node.focused && node.role !== 'RootWebArea');
            if (focused?.role === role && called.test(focused.name ?? '')) return;
            await page.keyboard.press('Tab');
          }
          assert.fail(`no ${role} ${called} gets the focus`);
        };
        const { steps } = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).room.view);
        for (const [step, { kind, text }] of steps.entries()) {
          await page.waitForFunction((n) => /** @type {any} */ (document.querySelector('servent-lab')).room.step === n, {}, step);
          const nodes = await tree(page);
          const [first] = text.split('\n').filter(Boolean)[0].split(/[`*]/);
          assert.ok(nodes.some((node) => node.name?.includes(first.trim())), `the text of step ${step} is in the tree`);
          assert.deepEqual(nodes.filter((node) => ['button', 'radio', 'textbox', 'spinbutton', 'combobox', 'slider', 'link'].includes(node.role) && !node.name?.trim()), [], 'all that can be used has a name');
          const choice = ANSWERS[id][step]?.right.choice;
          if (choice !== undefined) {
            const called = nodes.filter((node) => node.role === 'radio').map((node) => node.name ?? '');
            assert.ok(called.length > 1 && new Set(called).size === called.length, 'choices are told apart by their names');
            await to('radio', /./);
            if (choice === 0) await page.keyboard.press(' ');
            for (let i = 0; i < choice; i += 1) await page.keyboard.press('ArrowDown');
            assert.equal((await tree(page)).find((node) => node.role === 'radio' && node.checked)?.name, called[choice]);
            await to('button', /^Commit$/);
            await page.keyboard.press('Enter');
            await spoken(page, kind === 'predict' ? /^Your answer stands/ : /^You saw it coming\. ./);
          }
          if (kind === 'reveal') {
            for (let i = 0; i < 3; i += 1) await page.keyboard.press(']');
            await spoken(page, /^You saw it coming\. ./);
          }
          if (step < steps.length - 1) {
            await to('button', /^Next$/);
            await page.keyboard.press('Enter');
            await spoken(page, new RegExp(`^[^.]+\\. ${plain(steps[step + 1].text).slice(0, 20).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));
          }
        }
        await page.close();
      });
    }

    test('no learner sees what lies ahead before saying what they expect', async () => {
      const { page } = await open(started, '#1/queue?les=cut-the-wire/2');
      await page.waitForSelector('.lesson-choice');
      const { at } = await lesson(page);
      assert.equal((await state(page)).now, at);
      await page.keyboard.press('PageDown');
      assert.equal((await lesson(page)).step, 1, 'the next step waits for an answer');
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.seek(200e6); session.clock.step(1); });
      assert.equal((await state(page)).now, at, 'the clock stops at the question');
      assert.equal(await page.$eval('[data-tool="future"]', (n) => n.getAttribute('aria-pressed')), 'true');
      await page.click('.lesson-choice:nth-child(2)');
      await page.click('[data-lesson="commit"]');
      await frame(page);
      assert.equal(await page.$eval('[data-tool="future"]', (n) => n.getAttribute('aria-pressed')), 'false', 'after that the page is as it was');
      await page.keyboard.press('PageDown');
      assert.equal((await lesson(page)).kind, 'reveal');
      await page.keyboard.press('PageUp');
      assert.equal((await lesson(page)).kind, 'predict');
      await page.close();
    });

    for (const [view, id] of Object.entries({ ...LESSONS, routing: 'late-push' })) {
      test(`${id}: the verdict comes with what was asked, and the way on`, async () => {
        const { page, complaints } = await open(started, `#1/${view}?les=${id}/1`);
        await page.waitForSelector('lesson-panel:not([hidden]) h2');
        const seen = await page.evaluate(async (reply) => {
          const { room, session } = /** @type {any} */ (document.querySelector('servent-lab'));
          room.go(room.view.steps.findIndex((/** @type {any} */ one) => one.kind === 'predict'));
          room.commit(reply);
          room.turn(1);
          const { decided, now: { until } } = room;
          const next = () => /** @type {HTMLElement} */ (document.querySelector('[data-lesson="next"]'));
          const before = { primary: next().classList.contains('primary'), text: next().textContent };
          while (!document.querySelector('.lesson-verdict')) await new Promise(requestAnimationFrame);
          return { before, late: session.run.now - decided, left: until - decided, primary: next().classList.contains('primary'), text: next().textContent, playing: session.clock.playing };
        }, Object.values(ANSWERS[id])[0].wrong);
        assert.deepEqual(seen.before, { primary: false, text: 'Skip to the answer' });
        assert.ok(seen.late >= 0 && seen.late < 1e6, `${seen.late / 1e6} s behind it`);
        assert.ok(seen.left > 0, 'there is more to be seen');
        assert.deepEqual([seen.primary, seen.text, seen.playing], [true, 'Next', true], 'and it plays on');
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    test('no key and no button goes on past a verdict that was not given', async () => {
      const { page } = await open(started, '#1/queue?les=cut-the-wire/2');
      await page.waitForSelector('.lesson-choice');
      for (const on of [() => page.keyboard.press('PageDown'), () => page.click('[data-lesson="next"]')]) {
        await page.evaluate((reply) => /** @type {any} */ (document.querySelector('servent-lab')).room.commit(reply), ANSWERS['cut-the-wire'][1].wrong);
        await on();
        assert.equal((await lesson(page)).kind, 'reveal');
        assert.equal(await page.$('.lesson-verdict'), null);
        await on();
        await page.waitForSelector('.lesson-verdict');
        const { step, kind, now } = await lesson(page);
        assert.equal(kind, 'reveal', 'the first press leads to the verdict');
        assert.ok(now >= 35e6 && now < 45e6, `${now}`);
        await on();
        assert.equal((await lesson(page)).step, step + 1, 'the second one leads on');
        // What was being shown is shown to its end, and no further.
        assert.equal(await page.evaluate(() => { const { clock } = /** @type {any} */ (document.querySelector('servent-lab')).session; clock.seek(119e6); return clock.playing; }), true);
        await page.waitForFunction(() => !/** @type {any} */ (document.querySelector('servent-lab')).session.clock.playing);
        assert.equal((await lesson(page)).now, 120e6);
        // Who looks back a moment is not led forward again.
        await page.keyboard.press('PageUp');
        await page.keyboard.press('PageUp');
        assert.equal((await lesson(page)).kind, 'predict');
      }
      await page.close();
    });

    test('the keys say so in each language', async () => {
      for (const [language, says] of Object.entries({ en: 'to the answer', de: 'zur Antwort', es: 'a la respuesta', fr: 'à la réponse' })) {
        const { page } = await open(started, `#1/queue?p=one-cut-wire&lang=${language}`);
        await page.keyboard.press('?');
        const rows = await page.$$eval('.sheet > div', (all) => all.map((row) => row.textContent ?? ''));
        assert.ok(rows.some((row) => row.includes(says) && row.includes('PgDn')), `${language}: ${rows}`);
        await page.close();
      }
    });

    test('what was said of the world before is gone when a lesson begins', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire&t=20000');
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.actions.gesture('restart'); });
      await page.waitForSelector('.notice');
      await page.evaluate(() => { location.hash = '#1/queue?les=cut-the-wire/2'; });
      await page.waitForSelector('.lesson-choice');
      assert.equal(await page.$('.notice'), null);
      await page.close();
    });

    test('a step is a link, and a reload leads back to it', async () => {
      const { page } = await open(started, '#1/unicast?les=lose-the-middle/5');
      await page.waitForSelector('.lesson-choice');
      await page.waitForFunction(() => location.hash.includes('les=lose-the-middle/5') && location.hash.includes('t='));
      await page.reload();
      await page.waitForSelector('.lesson-choice');
      assert.equal((await lesson(page)).step, 4);
      assert.equal((await state(page)).view, 'unicast');
      await page.close();
    });

    test('before a lesson one plays, and what was broken then is whole when it begins', async () => {
      const { page } = await open(started, '#1/queue?les=polling-windows/1');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).room.now?.kind === 'free');
      await page.waitForSelector('.wait-card');
      const scripted = () => page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.scenario.faults.length);
      assert.equal(await scripted(), 0, 'what will be asked about does not happen yet');
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.actions.gesture('restart'); });
      assert.ok((await state(page)).faults > 0);
      await page.click('[data-lesson="next"]');
      await frame(page);
      assert.equal((await state(page)).faults, 0);
      assert.equal((await lesson(page)).kind, 'say');
      assert.ok(await scripted() > 0);
      await page.close();
    });

    test('a goal is tried with many seeds, and a failure can be looked at', async () => {
      const { page } = await open(started, '#1/swarm?les=deadlock/3');
      await page.waitForSelector('.lesson-goal select');
      await page.click('[data-lesson="try"]');
      await page.waitForSelector('.lesson-verdict[data-right="false"]');
      await page.$$eval('.lesson-goal select', ([, , slots]) => { /** @type {HTMLSelectElement} */ (slots).selectedIndex = 1; slots.dispatchEvent(new Event('change')); });
      await page.click('[data-lesson="try"]');
      await page.waitForSelector('.lesson-verdict button');
      await page.click('.lesson-verdict button');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.playing);
      await page.click('[data-lesson="again"]');
      await page.$$eval('.lesson-goal select', ([rules]) => { /** @type {HTMLSelectElement} */ (rules).selectedIndex = 1; rules.dispatchEvent(new Event('change')); });
      await page.click('[data-lesson="try"]');
      await page.waitForSelector('.lesson-verdict[data-right="true"]');
      await page.close();
    });

    test('a lesson of one’s own is dropped on the page; a broken one says where', async () => {
      const { page } = await open(started, '#1/queue?p=one-cut-wire');
      const text = readFileSync(path.join(WWW, '../sim/lessons/flood.toml'), 'utf8');
      await drop(page, 'mine.toml', text.replace('title = "A flood', 'title = "My flood'));
      await page.waitForFunction(() => document.querySelector('.lesson-name')?.textContent?.includes('My flood'));
      assert.equal((await state(page)).view, 'routing');
      await drop(page, 'broken.toml', text.replace('do = "say"', 'do = "sing"'));
      await page.waitForFunction(() => /line 1\d, column \d+/.test(document.querySelector('.notice.bad')?.textContent ?? ''));
      await page.click('[data-lesson="leave"]');
      await page.waitForFunction(() => /** @type {HTMLElement} */ (document.querySelector('lesson-panel')).hidden);
      await page.close();
    });

    for (const width of [320, 1280]) {
      for (const dark of [false, true]) {
        test(`axe finds nothing in a lesson at ${width} px, ${dark ? 'dark' : 'light'}`, { skip: name !== 'chromium' && 'it judges the document and its styles, which are the same here' }, async () => {
          const only = { colours: dark };
          for (const [hash, ready] of [['queue?les=cut-the-wire/2', '.lesson-choice'], ['queue?les=newcomer/1', '.lesson-order'], ['routing?les=flood/3', '.lesson-number'], ['routing?les=way-back/4', 'lesson-panel select'], ['unicast?les=lose-the-first/4', '.lesson-concept'], ['swarm?les=deadlock/3', '.lesson-goal']]) {
            const { page } = await open(started, `#1/${hash}`, { width, dark });
            await page.waitForSelector(ready);
            await frame(page);
            assert.deepEqual(await violations(page, only), [], hash);
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} is no wider than the page`);
            await page.close();
          }
          const { page } = await open(started, '#1/queue?p=one-cut-wire', { width, dark });
          await press(page, '[data-tool="lessons"]');
          await page.waitForSelector('dialog .preset');
          assert.equal((await page.$$('dialog .preset')).length, Object.keys(ANSWERS).length);
          assert.deepEqual(await violations(page, only), [], 'the list');
          await page.close();
        });
      }
    }
  });
}
