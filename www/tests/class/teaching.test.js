/** A class in a room: the code at the door, names, and lessons in which every learner predicts, does it, and hears from the recording what happened. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, digest, find, finished, join, room, tap, until } from '../room.js';

/** The pages of a class and the screens of its host. @param {import('puppeteer-core').Browser} browser @param {any} here @param {number} n */
async function classOf(browser, here, n) {
  const pages = [];
  for (let i = 0; i < n; i += 1) pages.push((await join(browser, here.url)).page);
  for (const page of pages) await page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).called);
  const host = await browser.newPage();
  await host.goto(here.host);
  await host.waitForSelector('[data-begin]');
  return { pages, host };
}

/** Presses a button of the host's, and waits for the step. @param {any} host @param {string} name @param {number} [step] */
async function press(host, name, step) {
  await host.bringToFront();
  await host.waitForSelector(`[data-teach="${name}"]`);
  await host.$eval(`[data-teach="${name}"]`, (/** @type {any} */ button) => button.click());
  if (step !== undefined) await host.waitForFunction((/** @type {string} */ text) => document.querySelector('.host-lesson .class-name')?.textContent?.includes(text), { timeout: 30_000 }, ` ${step + 1} of 8`);
}

/** Chooses a sentence, and commits. @param {any} page @param {number} choice */
async function commit(page, choice) {
  await page.bringToFront();
  await page.waitForSelector(`.class-choice input[value="${choice}"]:not(:disabled)`);
  await tap(page, `.class-choice input[value="${choice}"]`);
  await tap(page, '.class-form button');
  await page.waitForSelector('.class-form [role="status"]');
}

/** @param {any} page @param {string} text */
const says = (page, text) => page.waitForFunction((/** @type {string} */ wanted) => document.body.textContent?.includes(wanted), {}, text);

/** What the servent tells the host. @param {any} host */
const told = (host) => host.evaluate(async () => (await fetch('api/room')).json());

/** The same, once the recording was asked. @param {any} host */
async function asked(host) {
  await host.waitForFunction(async () => (await (await fetch('api/room')).json()).class.lesson.facts !== null, { polling: 200 });
  return told(host);
}

/** @param {any} host @param {string} id */
const begin = (host, id) => host.$eval(`[data-begin="${id}"]`, (/** @type {any} */ button) => button.click());

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    /** @type {import('puppeteer-core').Browser} */ let browser;
    before(async () => {
      started = await start(name);
      ({ browser } = started);
    });
    after(() => started.close());

    test('wb_8_no_page_comes_in_without_the_code_and_pages_inside_learn_the_next', async () => {
      const here = await room('--code', '--names', 'typed');
      const page = await browser.newPage();
      await page.goto(here.url);
      await page.waitForSelector('.part-coding:not([hidden])');
      await page.type('.part-code', 'AAAAA');
      await tap(page, '.part-coding button');
      await page.waitForSelector('.part-note[role="alert"]');
      assert.equal(await page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer), null);
      await page.type('.part-code', here.code.toLowerCase());
      await tap(page, '.part-coding button');
      await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      await page.type('.part-naming input', 'Jörg Ångström 1');
      const again = page.waitForNavigation();
      await tap(page, '.part-naming button');
      await again;
      // It is not asked for the code again, and neither when there is another one.
      await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      await page.waitForFunction(() => document.querySelector('.part-me strong')?.textContent === 'Joerg Angstroem 1');
      const host = await browser.newPage();
      await host.goto(here.host);
      await host.waitForFunction((/** @type {string} */ code) => document.querySelector('.host-secret')?.textContent === code, {}, here.code);
      await host.$eval('.host-secret + div button', (/** @type {any} */ button) => button.click());
      await host.waitForFunction((/** @type {string} */ code) => document.querySelector('.host-secret')?.textContent?.length === 5 && document.querySelector('.host-secret')?.textContent !== code, {}, here.code);
      const { secret } = await told(host);
      await page.bringToFront();
      await page.waitForFunction((/** @type {string} */ code) => /** @type {any} */ (document.querySelector('part-screen')).named.code === code, {}, secret);
      await page.reload();
      await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      await Promise.all([page.close(), host.close()]);
      await here.close();
    });

    test('wb_8_two_pages_that_draw_the_same_name_do_not_have_the_same_name', async () => {
      const here = await room();
      /** Both words of the first name are the first of their list. */
      const loaded = () => {
        const draw = crypto.getRandomValues.bind(crypto);
        let draws = 0;
        crypto.getRandomValues = (/** @type {any} */ into) => (into instanceof Uint32Array && (draws += 1) <= 2 ? into.fill(0) : draw(into));
      };
      const name = async () => (await join(browser, here.url, 1280, loaded)).page.$eval('.part-me strong', (n) => n.textContent);
      assert.equal(await name(), 'amber badger');
      await until(async () => (await (await here.ask('api/room')).json()).class.pages.length === 1);
      assert.notEqual(await name(), 'amber badger');
      await here.close();
    });

    test('wb_8_a_network_is_tried_on_two_devices_and_what_blocks_is_named', async () => {
      const here = await room('--check');
      const [one, two] = [(await join(browser, here.url)).page, (await join(browser, here.url)).page];
      const verdict = (/** @type {string} */ what) => `.part-check li:nth-child(${{ page: 1, socket: 2, held: 3, direct: 4 }[what]})`;
      for (const page of [one, two]) {
        await page.bringToFront();
        for (const what of ['page', 'socket', 'direct']) await page.waitForSelector(`${verdict(what)}[data-verdict="works"]`);
        assert.equal(await page.$eval(verdict('held'), (/** @type {any} */ row) => row.dataset.verdict), 'waits', 'that takes more than a minute');
      }
      // Where a proxy lets no WebSocket through.
      const shut = await browser.newPage();
      await shut.evaluateOnNewDocument(() => { window.WebSocket = /** @type {any} */ (class extends EventTarget { readyState = 3; close() {} }); });
      await shut.goto(here.url);
      await shut.waitForSelector(`${verdict('socket')}[data-verdict="fails"]`);
      assert.match(await shut.$eval(verdict('socket'), (/** @type {any} */ row) => row.textContent), /hotspot/);
      const host = await browser.newPage();
      await host.goto(here.host);
      await says(host, 'reaches others directly');
      await Promise.all([shut.close(), host.close()]);
      await here.close();
    });

    test('wb_9_a_class_predicts_searches_and_hears_from_its_recording_who_has_heard', async () => {
      const here = await room();
      const { pages, host } = await classOf(browser, here, 3);
      const screen = await browser.newPage();
      await screen.goto(here.screen);
      await host.bringToFront();
      await begin(host, 'find-the-song');
      await press(host, 'lesson.next', 1);
      for (const [n, page] of pages.entries()) await commit(page, n === 0 ? 0 : 2);
      await host.bringToFront();
      await says(host, '3 of 3 have committed');
      // The host alone sees how many chose what.
      assert.deepEqual((await told(host)).class.lesson.tally[1], [1, 0, 2]);
      await screen.bringToFront();
      await says(screen, 'What will happen?');
      assert.equal(await screen.$('.tally'), null);
      await press(host, 'lesson.next', 2);
      await press(host, 'lesson.next', 3);
      for (const page of pages.slice(0, 2)) await commit(page, 2);
      await host.bringToFront();
      await says(host, '2 of 3 have committed');
      await press(host, 'lesson.next', 4);
      await pages[0].bringToFront();
      await pages[0].waitForSelector('.part-class .tally');
      await find(pages[0], 'song');
      await press(host, 'lesson.next', 5);
      await commit(pages[1], 1);
      await press(host, 'lesson.next', 6);
      const { class: { lesson, pages: all } } = await asked(host);
      assert.equal(lesson.facts.unheard, 0, JSON.stringify(lesson.facts));
      assert.equal(lesson.truth[1], 2, 'every page has heard the question');
      assert.equal(all.filter((/** @type {any} */ page) => page.wrong_twice).length, 0);
      // What the host takes away counts what was believed, and names no person.
      await host.waitForSelector('[data-teach="host.answers.print"]');
      const sheet = await host.evaluate(() => {
        globalThis.print = () => {};
        /** @type {HTMLElement} */ (document.querySelector('[data-teach="host.answers.print"]')).click();
        const paper = /** @type {HTMLElement} */ (document.querySelector('.worksheet'));
        paper.remove();
        return { text: paper.textContent ?? '', counts: [...paper.querySelectorAll('section:first-of-type tbody tr')].map((row) => [...row.querySelectorAll('td')].slice(2).map((n) => n.textContent).join('/')) };
      });
      assert.deepEqual(sheet.counts, ['1/0', '0/0', '2/2']);
      assert.match(sheet.text, /Person 3/);
      for (const page of all) assert.ok(!sheet.text.includes(page.name), page.name);
      const saved = await host.evaluate(async () => {
        const [make, click] = [URL.createObjectURL, HTMLAnchorElement.prototype.click];
        /** @type {any} */ let table;
        let called = '';
        URL.createObjectURL = (blob) => { table = blob; return make.call(URL, blob); };
        HTMLAnchorElement.prototype.click = function click() { called = this.download; };
        /** @type {HTMLElement} */ (document.querySelector('[data-teach="host.answers.csv"]')).click();
        Object.assign(URL, { createObjectURL: make });
        HTMLAnchorElement.prototype.click = click;
        return { called, lines: (await table.text()).trim().split('\r\n') };
      });
      assert.equal(saved.called, 'find-the-song.csv');
      assert.equal(saved.lines[0], 'person,lesson,step,round,question,said,happened');
      // Three predicted, two once more, and one said what was observed.
      assert.deepEqual(saved.lines.slice(1).map((/** @type {string} */ line) => /,(predict|again|observe),/.exec(line)?.[1]).toSorted(), ['again', 'again', 'observe', 'predict', 'predict', 'predict']);
      for (const page of all) assert.ok(!saved.lines.join().includes(page.name), page.name);
      await pages[0].bringToFront();
      await says(pages[0], 'This happened: All of them.');
      await press(host, 'lesson.next', 7);
      await press(host, 'host.debrief');
      await host.waitForFunction(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        if (session?.run?.kind !== 'trace' || session.run.nodes.length < 4) return false;
        session.clock.seek(session.clock.end);
        const { checked, total, diverged_at: diverged } = session.run.verified();
        return total > 0 && checked === total && diverged === null;
      }, { timeout: 60_000 });
      await Promise.all([screen.close(), host.close()]);
      await here.close();
    });

    test('wb_9_a_class_waits_in_line_and_sees_its_own_arrivals_under_both_rules', async () => {
      const here = await room();
      const { pages, host } = await classOf(browser, here, 2);
      await begin(host, 'the-line');
      for (let step = 1; step <= 4; step += 1) await press(host, 'lesson.next', step);
      assert.equal((await told(host)).view.queue.slots, 1);
      // The lesson itself makes the servent slow enough for a line, and the host is told.
      await host.waitForFunction(() => document.querySelector('.host-rate')?.textContent?.includes('500 kB/s'));
      for (const page of pages) {
        await page.bringToFront();
        await find(page, 'song');
        await tap(page, '[data-list="search"] button');
        await page.waitForFunction(() => document.querySelector('[data-list="downloads"] small'));
      }
      await says(pages[1], 'place 1');
      for (const page of pages) {
        await page.bringToFront();
        await finished(page);
      }
      await press(host, 'lesson.next', 5);
      await press(host, 'lesson.next', 6);
      const { class: { lesson } } = await asked(host);
      assert.equal(lesson.facts.overtaken, 0, JSON.stringify(lesson.facts));
      assert.equal(lesson.truth[5], 0);
      assert.ok(lesson.facts.idle > 0 && lesson.truth[1] !== null, JSON.stringify(lesson.facts));
      await press(host, 'lesson.next', 7);
      await press(host, 'host.arrivals');
      await host.waitForFunction(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab')) ?? {};
        return session?.mode === 'compare' && session.scenario?.id === 'our-line' && session.runs().length === 2;
      });
      const seen = await host.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        session.clock.seek(session.clock.end);
        return session.runs().map((/** @type {any} */ run) => [run.scenario.clients.length, run.scenario.servers[0].queue.policy]);
      });
      assert.deepEqual(seen, [[2, 'text'], [2, 'adaptive']]);
      await host.close();
      await here.close();
    });

    test('wb_9_a_film_is_handed_on_when_its_source_is_unplugged_and_a_page_is_shown_to_all', async () => {
      const here = await room();
      const { pages: [giver, seeker], host } = await classOf(browser, here, 2);
      await begin(host, 'hand-on-the-film');
      await giver.bringToFront();
      await find(giver, 'song');
      await tap(giver, '[data-list="search"] button');
      await finished(giver);
      await giver.waitForFunction(() => [...document.querySelectorAll('[data-list="downloads"] button')].some((one) => one.textContent === 'Hand on'));
      await giver.evaluate(() => /** @type {any} */ ([...document.querySelectorAll('[data-list="downloads"] button')].find((one) => one.textContent === 'Hand on')).click());
      await giver.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).shares[0]?.sha1);
      for (let step = 1; step <= 4; step += 1) await press(host, 'lesson.next', step);
      assert.equal((await told(host)).view.queue.slots, 0);
      await seeker.bringToFront();
      // Of the two that have it one serves no other.
      for (let sources = 0; sources < 2;) {
        await find(seeker, 'song');
        sources = await seeker.evaluate(() => /** @type {any} */ ([.../** @type {any} */ (document.querySelector('part-screen')).found.values()][0])?.hits.length ?? 0);
      }
      await tap(seeker, '[data-list="search"] button');
      await finished(seeker);
      assert.equal(await digest(seeker), createHash('sha1').update(here.song).digest('hex'));
      await press(host, 'lesson.next', 5);
      await press(host, 'lesson.next', 6);
      const { class: { lesson, pages: all } } = await asked(host);
      assert.deepEqual([lesson.facts.handed, lesson.facts.without], [1, 0], JSON.stringify(lesson.facts));
      assert.equal(lesson.truth[1], 2);
      // One page for all, as long as the host likes, and its person knows.
      const mine = await seeker.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).named);
      const row = all.findIndex((/** @type {any} */ page) => page.at === mine.line[0]);
      await host.$eval(`[data-list="pages"] li:nth-child(${row + 1}) button`, (/** @type {any} */ button) => button.click());
      await seeker.bringToFront();
      await seeker.waitForFunction(() => !/** @type {any} */ (document.querySelector('part-screen')).shown.hidden);
      const screen = await browser.newPage();
      await screen.goto(here.screen);
      await says(screen, `The page of ${mine.name}`);
      await screen.waitForFunction(() => document.querySelector('.room-mirror')?.textContent?.includes('long song.ogg'));
      // Another class: everything is forgotten.
      await seeker.bringToFront();
      const again = seeker.waitForNavigation();
      await host.evaluate(() => fetch('api/room', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ teach: 'reset' }) }));
      await again;
      await seeker.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      const [named, done] = await seeker.evaluate(() => { const { named: who, peer } = /** @type {any} */ (document.querySelector('part-screen')); return [who, peer.view(1).done.length]; });
      assert.notEqual(named.line[0], mine.line[0]);
      assert.equal(done, 0);
      await Promise.all([screen.close(), host.close()]);
      await here.close();
    });
  });
}
