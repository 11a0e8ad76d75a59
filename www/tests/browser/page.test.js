/** What a visitor does with the page, in real browsers. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, copiedLink, drop, frame, open, start, state } from '../browser.js';

const STORY = '#1/queue?p=rush-hour';

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('loads without a complaint and asks no other server', async () => {
      const { page, complaints } = await open(started);
      await page.waitForSelector('.routing-stage canvas');
      assert.deepEqual(complaints, []);
      const asked = await page.evaluate(() => performance.getEntriesByType('resource').map((one) => one.name));
      assert.ok(asked.length > 50, `what is loaded is listed: ${asked.length}`);
      assert.deepEqual(asked.filter((url) => !url.startsWith(started.server.url) && !url.startsWith('data:')), []);
      await page.close();
    });

    test('plays and pauses', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      const before = await state(page);
      assert.equal(before.playing, false, 'a link with a moment does not start by itself');
      await page.click('[data-do="play"]');
      await page.waitForFunction((t) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.now > t, {}, before.now + 5e6);
      await page.click('[data-do="play"]');
      const stopped = await state(page);
      await new Promise((done) => setTimeout(done, 200));
      assert.equal((await state(page)).now, stopped.now, 'the clock stands');
      await page.close();
    });

    test('one step on and one step back is where it was', async () => {
      const { page } = await open(started, `${STORY}&t=60000`);
      const before = await state(page);
      assert.ok(before.index > 0);
      await page.click('[data-do="forth"]');
      const on = await state(page);
      assert.equal(on.index, before.index + 1);
      assert.notEqual(on.digest, before.digest);
      await page.click('[data-do="back"]');
      await page.click('[data-do="back"]');
      await page.click('[data-do="forth"]');
      const back = await state(page);
      assert.deepEqual([back.index, back.digest], [before.index, before.digest]);
      await page.close();
    });

    test('seeking by dragging and by keys leads to the same state as running', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      const box = /** @type {any} */ (await (await page.$('.track'))?.boundingBox());
      await page.mouse.move(box.x + 20, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2, { steps: 4 });
      await page.mouse.up();
      const dragged = await state(page);
      assert.ok(Math.abs(dragged.now / dragged.end - 0.25) < 0.02, `dragged to ${dragged.now / dragged.end}`);
      const ran = await page.evaluate((to) => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const fresh = session.view.fromScenario(session.scenario);
        while (fresh.now < to) if (fresh.advance(to, 100) >= to) break;
        const digest = fresh.digest;
        fresh.raw.free();
        return digest;
      }, dragged.now);
      assert.equal(ran, dragged.digest, 'seek(t) is run(t)');
      await page.focus('.track');
      await page.keyboard.press('Home');
      assert.equal((await state(page)).now, 0);
      await page.keyboard.press('PageDown');
      assert.ok(Math.abs((await state(page)).now / dragged.end - 0.1) < 0.01);
      assert.match(String(await page.$eval('.track', (n) => n.getAttribute('aria-valuetext'))), /of/);
      await page.close();
    });

    test('a link leads back to time, selection, faults and view', async () => {
      const { page } = await open(started, `${STORY}&t=40000`);
      await page.waitForSelector('.lane[data-lane="sync"] .card, .lane[data-lane="async"] .card');
      await page.click('.wait-card .card-main');
      await page.keyboard.press('d');
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(90e6));
      for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowRight');
      const before = await state(page);
      assert.equal(before.faults, 1);
      const hash = await copiedLink(page);
      assert.ok(hash.length <= 400, `the link has ${hash.length} characters`);
      await page.close();
      const again = await open(started, hash);
      await frame(again.page);
      const after = await state(again.page);
      for (const key of /** @type {const} */ (['now', 'index', 'digest', 'selected', 'faults', 'view', 'mode'])) assert.equal(after[key], before[key], key);
      assert.equal(await again.page.$('.notice.bad'), null);
      await again.page.close();
    });

    test('a link brings back every branch and the one in use', async () => {
      const { page } = await open(started, `${STORY}&t=40000`);
      await page.waitForSelector('.wait-card');
      const done = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const select = (/** @type {number} */ node) => session.select({ node, ticket: null, name: session.run.node(node).name });
        session.clock.seek(60e6);
        session.clock.seek(30e6);
        select(2);
        session.actions.gesture('cut');
        session.clock.seek(45e6);
        session.actions.gesture('restart');
        session.actions.useBranch(0);
        session.clock.seek(20e6);
        select(3);
        session.actions.gesture('sleep');
        session.actions.useBranch(1);
        session.clock.seek(50e6);
        return { digest: session.run.digest, branch: session.actions.branch, branches: session.run.branches(), faults: session.actions.faults() };
      });
      assert.equal(done.branches.length, 3);
      assert.equal(done.faults.length, 2);
      const hash = await copiedLink(page);
      assert.match(hash, /&b=1&/);
      await page.close();
      const again = await open(started, hash);
      assert.equal(await again.page.$('.notice.bad'), null);
      const back = await again.page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        return { digest: session.run.digest, branch: session.actions.branch, branches: session.run.branches(), faults: session.actions.faults() };
      });
      assert.deepEqual(back, done);
      await again.page.close();
    });

    test('of several servers one is chosen, and a link keeps which', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const [one] = session.scenario.servers;
        session.openScenario({ ...session.scenario, servers: [one, { ...one, name: 'second' }], clients: session.scenario.clients.map((/** @type {any} */ g) => ({ ...g, servers: [1] })), faults: [] });
        session.clock.seek(40e6);
      });
      await page.waitForSelector('.which:not([hidden])');
      assert.equal((await page.$$('.card')).length, 0, 'no client asks the first');
      await page.select('.which', '1');
      await page.waitForSelector('.card');
      await page.keyboard.press('Escape');
      await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).blur());
      const hash = await copiedLink(page);
      await page.close();
      const again = await open(started, hash);
      await again.page.waitForSelector('.card');
      assert.equal(await again.page.$eval('.which', (n) => /** @type {HTMLSelectElement} */ (n).value), '1');
      await again.page.close();
    });

    test('a link of another core or another state says so', async () => {
      for (const [wrong, sentence] of [['core=9.9.9', /core 9\.9\.9/], ['h=0000000000000000', /not the same/]]) {
        const { page } = await open(started, `${STORY}&t=60000&${wrong}`);
        await page.waitForSelector('.notice.bad');
        assert.match(await page.$eval('.notice.bad', (n) => n.textContent ?? ''), /** @type {RegExp} */ (sentence));
        await page.close();
      }
    });

    test('a damaged link is met with the first story and a sentence', async () => {
      const { page } = await open(started, '#1/queue?s=%%%broken&t=5');
      await page.waitForSelector('.notice.bad');
      assert.equal((await state(page)).kind, 'scenario');
      await page.close();
    });

    test('a file that is no trace is refused with a sentence, and what was looked at stays', async () => {
      const { page } = await open(started, '#1/unicast?p=lose-middle&t=100');
      const before = await state(page);
      await drop(page, 'broken.sqlog', '{"this is": "no tape');
      await page.waitForSelector('.notice.bad');
      assert.match(await page.$eval('.notice.bad', (n) => n.textContent ?? ''), /not a trace the lab can read/);
      const after = await state(page);
      assert.deepEqual([after.view, after.digest, after.now], ['unicast', before.digest, before.now]);
      assert.ok(await page.$eval('unicast-pane', (n) => n.checkVisibility()));
      await page.close();
    });

    test('cutting a wire opens a branch and keeps the old future', async () => {
      const { page } = await open(started, `${STORY}&t=40000`);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await page.waitForSelector('.wait-card');
      const before = await state(page);
      await page.click('.wait-card .card-menu');
      await page.waitForSelector('[role="menu"]');
      await page.click('[role="menuitem"]');
      await page.waitForSelector('.branch');
      const cut = await state(page);
      assert.equal(cut.branches, before.branches + 1);
      assert.notEqual(cut.branch, before.branch);
      await page.keyboard.press('ArrowRight');
      await page.waitForSelector('.pin[data-kind="fault"]');
      await page.keyboard.press('u');
      const home = await state(page);
      assert.equal(home.branch, before.branch);
      assert.equal(home.digest, before.digest, 'the old branch is as it was');
      await page.close();
    });

    test('after a panic the core is loaded afresh and a link leads back', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(30e6));
      await frame(page);
      await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.guard(() => { throw new WebAssembly.RuntimeError('unreachable'); }));
      await page.waitForSelector('.notice.bad a[href*="t=30000"]');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run);
      await page.click('[data-do="forth"]');
      assert.equal((await state(page)).index, 1, 'the fresh core works');
      await page.close();
    });

    test('two rules side by side follow one clock', async () => {
      const { page } = await open(started, '#1/compare?p=aq-vs-parq&t=120000');
      await page.waitForFunction(() => document.querySelectorAll('server-queue:not([hidden])').length === 2);
      const [a, b, dialects] = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const of = (/** @type {any} */ run) => [...new Set(run.nodes.filter((/** @type {any} */ n) => n.role === 'client').map((/** @type {any} */ n) => n.dialect))].join();
        return [session.run.now, session.other.now, [of(session.run), of(session.other)]];
      });
      assert.equal(a, b);
      assert.deepEqual(dialects, ['active', 'parq']);
      await page.close();
    });

    test('an own scenario runs, a senseless one is refused with a sentence', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await page.click('[data-tool="scenario"]');
      await page.waitForSelector('dialog[open] input[name="slots"]');
      await page.$eval('input[name="slots"]', (n) => { const input = /** @type {HTMLInputElement} */ (n); input.value = '1'; input.dispatchEvent(new Event('input')); });
      await page.click('dialog button[type="submit"]');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      assert.equal(await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.scenario.servers[0].queue.slots), 1);
      const refused = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        try {
          session.openScenario({ ...session.scenario, servers: [] });
          return '';
        } catch (why) {
          return String(why);
        }
      });
      assert.match(refused, /server/);
      await page.close();
    });

    test('a kept slot says for which client, and no card says two things', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=240000');
      await page.waitForSelector('.slot-frame[data-kept]');
      const { kept, frames } = await page.evaluate(() => {
        const { run } = /** @type {any} */ (document.querySelector('servent-lab')).session;
        return {
          kept: run.lanes({ sync: 0, async: 0, grace: 0 }, 5).queue.kept.map((/** @type {any} */ k) => k.ticket),
          frames: [...document.querySelectorAll('.slot-frame[data-kept]')].map((n) => [/** @type {HTMLElement} */ (n).dataset.kept, n.textContent]),
        };
      });
      assert.ok(kept.length > 0);
      assert.deepEqual(frames.map(([ticket]) => ticket), kept);
      for (const [, text] of frames) assert.match(String(text), /kept for \w+-\d+.*(ask|asks)/);
      const lines = await page.$$eval('.wait-card .state', (all) => all.map((n) => [...n.children].map((c) => c.textContent ?? '')));
      const seconds = (/** @type {string} */ text) => (/([\d:]+)(?: s)?$/.exec(text)?.[1] ?? '0').split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
      const both = lines.filter(([ask, slot]) => /^may ask in/.test(ask) && /^slot [≥≈]/.test(slot));
      assert.ok(both.length > 3, JSON.stringify(lines));
      for (const [ask, slot] of both) assert.ok(seconds(slot) >= seconds(ask), `${ask}, but ${slot}`);
      await page.click('.slot-frame[data-kept] .card-main');
      await frame(page);
      assert.ok((await page.$$('.wait-card[data-selected]')).length === 1, 'the kept slot selects the client it is kept for');
      await page.close();
    });

    test('a sentence names whose place it is, whichever node caused it', async () => {
      const { page } = await open(started, '#1/queue?p=rush-hour&t=300000');
      const pairs = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { run } = session;
        const of = (/** @type {string} */ filter) => run.records(0, 400, filter).filter((/** @type {any} */ r) => r.seq < run.index);
        const given = new Map(of('"arrived"').map((/** @type {any} */ r) => [r.event.queue.ticket, r.who]));
        return of('"entitled"').map((/** @type {any} */ r) => [given.get(r.event.queue.ticket), session.named(r).who]);
      });
      assert.ok(pairs.length > 3);
      for (const [owner, said] of pairs) assert.equal(said, owner);
      await page.close();
    });

    test('nothing is left on its way, and nothing flies at high speed', async () => {
      const { page } = await open(started, `${STORY}&t=20000`);
      await page.evaluate(() => { Object.assign(/** @type {any} */ (document.querySelector('servent-lab')).session.clock, { speed: 50 }); });
      await page.click('[data-do="play"]');
      await new Promise((done) => setTimeout(done, 1500));
      await page.click('[data-do="play"]');
      await page.waitForFunction(() => !document.querySelector('.overlay > *, .travelling'));
      await page.evaluate(() => { Object.assign(/** @type {any} */ (document.querySelector('servent-lab')).session.clock, { speed: 300 }); });
      await page.click('[data-do="play"]');
      for (let i = 0; i < 8; i += 1) {
        await frame(page);
        assert.equal((await page.$$('.overlay > *')).length, 0);
      }
      await page.close();
    });

    test('a part of a microsecond is not waited for', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      const asked = await page.evaluate(() => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const fresh = session.view.fromScenario(session.scenario);
        while (!fresh.explore(100));
        const { raw } = fresh;
        const advance = raw.advance.bind(raw);
        let asked = 0;
        raw.advance = (/** @type {number} */ us, /** @type {number} */ events) => {
          asked += 1;
          return advance(us, events);
        };
        const reached = fresh.advance(1000.5, 500);
        fresh.free();
        return [asked, reached];
      });
      assert.deepEqual(asked, [1, 1000]);
      await page.close();
    });

    test('the first visit has a hint, the second has none', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      assert.match(await page.$eval('.hint', (n) => n.textContent ?? ''), /cut its wire/);
      await page.click('.hint .button.small');
      assert.equal(await page.$('.hint'), null);
      await page.reload();
      await page.waitForSelector('.transport');
      assert.equal(await page.$('.hint'), null);
      await page.close();
    });

    test('a scenario has no packets, and says so', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await page.click('[data-tool="save"]');
      await page.waitForSelector('[role="menu"]');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.notice');
      assert.match(await page.$eval('.notice', (n) => n.textContent ?? ''), /recorded run has packets/);
      await page.close();
    });

    test('playing is quiet, pausing is not', async () => {
      const { page } = await open(started, `${STORY}&t=20000`);
      await page.keyboard.press('ArrowRight');
      await page.evaluate(() => {
        const lab = /** @type {any} */ (globalThis);
        lab.said = 0;
        for (const region of document.querySelectorAll('[aria-live], [role="status"], output')) {
          if (region.tagName === 'OUTPUT') continue;
          new MutationObserver(() => { lab.said += 1; }).observe(region, { childList: true, characterData: true, subtree: true });
        }
      });
      const said = () => page.evaluate(() => /** @type {any} */ (globalThis).said);
      await page.keyboard.press(' ');
      await new Promise((done) => setTimeout(done, 1000));
      assert.equal(await said(), 0);
      await page.keyboard.press(' ');
      await page.waitForFunction(() => /** @type {any} */ (globalThis).said > 0);
      await frame(page);
      assert.equal(await said(), 1);
      assert.equal(await page.$$eval('output:not([aria-live="off"])', (all) => all.length), 0, 'the clock is not read aloud');
      await page.close();
    });

    test('the timeline tells the time under the pointer and under the focus, and a flag its fault', async () => {
      const { page } = await open(started, `${STORY}&t=60000`);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      const tip = () => page.$eval('.tip', (n) => (/** @type {HTMLElement} */ (n).hidden ? null : n.textContent));
      const box = /** @type {any} */ (await (await page.$('.track'))?.boundingBox());
      await page.mouse.move(box.x + box.width / 2, box.y + 10);
      assert.match(String(await tip()), /^[\d:.]+( s)?$/);
      await page.mouse.move(5, 5);
      assert.equal(await tip(), null);
      await page.keyboard.press('Tab');
      await page.focus('.track');
      assert.equal(await tip(), '1:00.000');
      await page.keyboard.press('Home');
      await frame(page);
      assert.equal(await tip(), '0.000 s');
      await page.evaluate(() => { const { session } = /** @type {any} */ (document.querySelector('servent-lab')); session.clock.seek(40e6); session.actions.gesture('restart'); });
      await page.keyboard.press('ArrowRight');
      await page.waitForSelector('.pin[data-kind="fault"] span');
      assert.match(await page.$eval('.pin[data-kind="fault"] span', (n) => n.textContent ?? ''), /server/);
      await page.focus('.pin[data-kind="fault"]');
      assert.match(String(await tip()), /^Fault at .*: server /);
      await page.close();
    });

    test('the events table shows, filters and leads to a moment', async () => {
      const { page, complaints } = await open(started, `#1/events?p=rush-hour&t=60000`);
      await page.waitForSelector('.events tr[data-seq]');
      const rows = (await page.$$('.events tr[data-seq]')).length;
      const all = await page.$eval('.table-tools .shown', (n) => n.textContent ?? '');
      assert.ok(rows > 10 && rows < 120, `${rows} rows exist`);
      await page.keyboard.press('/');
      await page.keyboard.type('started');
      await page.waitForFunction((n) => !document.querySelector('.table-tools')?.textContent?.includes(n), {}, all);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.explored);
      await frame(page);
      const seq = Number(await page.$eval('.events tr[data-seq]', (n) => /** @type {HTMLElement} */ (n).dataset.seq));
      await page.click('.events tr[data-seq] button');
      assert.equal((await state(page)).index, seq + 1);
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
