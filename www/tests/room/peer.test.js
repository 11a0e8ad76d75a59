/** A page takes part in a real servent's room: it searches, downloads, shares, survives a reload, and its tape is verified. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, digest, find, finished, give, join, room, tap, until } from '../room.js';

const view = (/** @type {any} */ page) => page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(10));

/** Opens the page's own tape and has all of it verified. @param {any} page */
async function verified(page) {
  await tap(page, '[data-do="look"]');
  await page.waitForFunction(() => {
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    if (session?.run?.kind !== 'trace' || session.live) return false;
    session.clock.seek(session.clock.end);
    const { checked, total, diverged_at: diverged } = session.run.verified();
    return total > 0 && checked === total && diverged === null;
  }, { timeout: 60_000 });
}

for (const name of BROWSERS) {
  describe(name, { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
    /** @type {any} */ let here;
    /** @type {Awaited<ReturnType<typeof start>>} */ let started;
    /** @type {import('puppeteer-core').Browser} */ let browser;
    before(async () => {
      [here, started] = await Promise.all([room(), start(name)]);
      ({ browser } = started);
    });
    after(async () => {
      await started.close();
      await here.close();
    });

    test('wb_2_a_page_searches_downloads_byte_for_byte_and_its_tape_is_verified', async () => {
      const { page, complaints } = await join(browser, here.url);
      await find(page, 'song');
      await tap(page, '[data-list="search"] button');
      await finished(page);
      assert.equal(await digest(page), createHash('sha1').update(here.song).digest('hex'));
      await verified(page);
      assert.deepEqual(complaints, []);
    });

    test('what a page shares is found by another, and stays its own over a reload until it is removed', async () => {
      const [giver, seeker] = [await join(browser, here.url), await join(browser, here.url, 390)];
      await giver.page.evaluate(() => {
        const data = new DataTransfer();
        data.items.add(new File(['a short poem'], 'poem of mine.txt'));
        document.querySelector('part-screen')?.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
      });
      await giver.page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).shares[0]?.sha1);
      await find(seeker.page, 'poem');
      const before = await view(giver.page);
      await giver.page.reload();
      await giver.page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      const after = await view(giver.page);
      assert.equal(after.servent, before.servent);
      assert.equal(after.shares[0].name, 'poem of mine.txt');
      await tap(giver.page, '[data-list="shares"] li button');
      await giver.page.waitForFunction(() => !/** @type {any} */ (document.querySelector('part-screen')).peer.view(1).shares.length);
      assert.deepEqual([...giver.complaints, ...seeker.complaints], []);
      // No page is wider than the screen of a phone.
      assert.ok(await seeker.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    });

    test('wb_3_two_pages_download_from_each_other_by_way_of_the_servent_byte_for_byte', async () => {
      const works = [['waltz of one.ogg', randomBytes(1_500_000)], ['tango of two.ogg', randomBytes(2_500_000)]];
      // A browser that has no channels, of which there are some.
      const without = () => { delete /** @type {any} */ (window).RTCPeerConnection; };
      const pages = [await join(browser, here.url, 1280, without), await join(browser, here.url, 1280, without)];
      for (const [n, { page }] of pages.entries()) await give(page, .../** @type {[string, Buffer]} */ (works[n]));
      for (const [n, { page }] of pages.entries()) {
        // A browser draws, and hurries, only the tab in front. The other one serves from behind.
        await page.bringToFront();
        const [name, data] = works[1 - n];
        await find(page, String(name).split(' ')[0]);
        assert.match(await page.$eval('[data-list="search"] li', (li) => li.textContent ?? ''), /from another page/);
        await tap(page, '[data-list="search"] button');
        await finished(page);
        assert.equal(await digest(page), createHash('sha1').update(data).digest('hex'));
        await verified(page);
      }
      const screen = await browser.newPage();
      await screen.goto(here.screen);
      await screen.waitForFunction(() => /4\.0 MB/.test(document.querySelector('room-screen')?.textContent ?? ''));
      assert.deepEqual(pages.flatMap(({ complaints }) => complaints), []);
      for (const { page } of pages) await page.close();
    });

    test('the host says a sentence, changes the rules and puts a page out', async () => {
      const { page } = await join(browser, here.url);
      const host = await browser.newPage();
      await host.goto(here.host);
      await host.waitForSelector('host-screen .part-list li[data-hue]');
      await host.type('.host-say input', 'Look at the waltz');
      await tap(host, '.host-say button');
      await page.bringToFront();
      await page.waitForFunction(() => document.querySelector('.part-note')?.textContent?.includes('Look at the waltz'));
      await host.bringToFront();
      await host.$eval('.host-rules input', (/** @type {any} */ input) => { input.value = '5'; });
      const again = page.waitForNavigation();
      await tap(host, '.host-rules button');
      await again;
      await page.bringToFront();
      await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      assert.equal((await view(page)).node.queue.slots, 5);
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).called);
      await host.bringToFront();
      await host.waitForSelector('[data-list="people"] li[data-hue] button');
      await tap(host, '[data-list="people"] li[data-hue] button');
      await page.bringToFront();
      await page.waitForFunction(() => document.querySelector('.part-note')?.getAttribute('role') === 'alert');
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).overlay.links.length === 0);
      await host.bringToFront();
      await host.waitForSelector('.host-people > .button:not([hidden])');
      await tap(host, '.host-people > .button');
      await host.waitForSelector('.host-people > .button[hidden]', { hidden: true });
      for (const one of [page, host]) await one.close();
    });

    for (const told of ['the first tab', 'the servent']) {
      test(`WB-7: a duplicated tab goes on alone: ${told} says so`, async () => {
        // Without a way from tab to tab the servent notices that both hold the same line.
        const first = told === 'the servent' ? () => { delete /** @type {any} */ (window).BroadcastChannel; } : undefined;
        const one = await join(browser, here.url, 1280, first);
        await give(one.page, 'mine alone.txt', Buffer.from('one of a kind'));
        const id = await one.page.evaluate(() => sessionStorage.getItem('servent.tab'));
        const { servent } = await view(one.page);
        const two = await browser.newPage();
        if (first) await two.evaluateOnNewDocument(first);
        // What a browser does that duplicates a tab.
        await two.evaluateOnNewDocument((/** @type {any} */ same) => sessionStorage.setItem('servent.tab', same), id);
        await two.goto(here.url);
        await one.page.waitForSelector('part-screen[data-moved]');
        await one.page.bringToFront();
        assert.match(await one.page.$eval('.part-note', (note) => note.textContent ?? ''), /goes on in another tab/);
        await two.bringToFront();
        await two.waitForSelector('part-screen[data-ready] .part-state[data-on]');
        await two.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).called);
        const after = await view(two);
        assert.deepEqual([after.servent, after.shares.map((/** @type {any} */ file) => file.name)], [servent, ['mine alone.txt']]);
        // The first one is over, and the second one keeps the line.
        await one.page.waitForFunction(() => { const { called, overlay } = /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1); return !called && !overlay?.links.length; });
        assert.equal(await two.$('part-screen[data-moved]'), null);
        // A page that wants to goes on there.
        await one.page.bringToFront();
        await tap(one.page, '.part-note button');
        await two.waitForSelector('part-screen[data-moved]');
        for (const page of [one.page, two]) await page.close();
      });
    }

    test('wb_5_the_host_freezes_the_room_loses_datagrams_and_chooses_how_a_queue_is_told_to_ask', async () => {
      const { page } = await join(browser, here.url);
      const host = await browser.newPage();
      await host.goto(here.host);
      await host.waitForSelector('.host-freeze button:not([hidden])');
      await tap(host, '.host-freeze button:not([hidden])');
      await page.bringToFront();
      await page.waitForSelector('part-screen[data-frozen]');
      assert.ok(await page.$eval('.part-form input', (input) => input.closest('[inert]') !== null));
      // A page that comes now is frozen, too.
      await page.reload();
      await page.waitForSelector('part-screen[data-frozen]');
      await host.bringToFront();
      await host.waitForFunction(() => /** @type {any} */ (document.querySelector('.host-freeze button:last-child'))?.checkVisibility());
      await tap(host, '.host-freeze button:last-child');
      await page.bringToFront();
      await page.waitForSelector('part-screen:not([data-frozen])');
      assert.equal(await page.$('main [inert], main > [inert]'), null);

      await page.evaluate(() => {
        const { peer } = /** @type {any} */ (document.querySelector('part-screen'));
        const lose = peer.lose.bind(peer);
        peer.lose = (/** @type {number} */ loss, /** @type {number} */ seed) => { /** @type {any} */ (window).lost = loss; lose(loss, seed); };
      });
      await host.bringToFront();
      await host.$eval('.host-loss input', (/** @type {any} */ input) => { input.value = '5'; });
      await tap(host, '.host-loss button');
      await page.bringToFront();
      await page.waitForFunction(() => /** @type {any} */ (window).lost === 50);

      await host.bringToFront();
      await host.select('.host-rules select', 'adaptive');
      const again = page.waitForNavigation();
      await tap(host, '.host-rules button');
      await again;
      await page.bringToFront();
      await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
      const tape = await page.evaluate(() => new TextDecoder().decode(/** @type {any} */ (document.querySelector('part-screen')).peer.tape()));
      assert.match(tape, /"policy":"adaptive"/);
      await here.ask('api/room', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"loss":0}' });
      for (const one of [page, host]) await one.close();
    });

    test('wb_5_the_host_cuts_a_page_off_from_the_servent_of_the_room_and_mends_that', async () => {
      const [{ page }, other] = [await join(browser, here.url), await join(browser, here.url)];
      const named = await page.$eval('.part-me strong', (n) => n.textContent);
      const host = await browser.newPage();
      await host.goto(here.host);
      const press = async (/** @type {string} */ act) => {
        await host.bringToFront();
        const button = `.host-people button[aria-label="${act}: ${named}"]`;
        await tap(host, button);
        await page.bringToFront();
      };
      /** Whether the page is a neighbour of the servent, which no page has as its name. */
      const linked = (/** @type {boolean} */ wanted) => page.waitForFunction((/** @type {boolean} */ on) => {
        const links = /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).overlay?.links ?? [];
        return on === links.some((/** @type {any} */ link) => !link.agent.includes('(tab)'));
      }, {}, wanted);
      await linked(true);
      await press('Cut the link');
      await linked(false);
      assert.match(await page.$eval('.part-note', (note) => note.textContent ?? ''), /cut you off/);
      // What the host says comes through, also after a reload; and others are not cut off.
      await page.reload();
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen'))?.peer?.view(1).called);
      await linked(false);
      assert.ok((await view(other.page)).overlay.links.some((/** @type {any} */ link) => !link.agent.includes('(tab)')));
      await press('Mend the link');
      await linked(true);
      for (const one of [page, other.page, host]) await one.close();
    });

    test('wb_5_the_host_cuts_the_link_between_two_pages_and_says_how_a_waiting_page_is_told', async () => {
      const [giver, seeker] = [await join(browser, here.url), await join(browser, here.url)];
      const polka = randomBytes(300_000);
      await give(giver.page, 'polka of one.ogg', polka);
      const names = await Promise.all([giver, seeker].map(({ page }) => page.$eval('.part-me strong', (n) => n.textContent ?? '')));
      const host = await browser.newPage();
      await host.goto(here.host);
      // Chosen and sent at once: the lists are filled anew whenever a page comes or goes.
      await host.waitForFunction((/** @type {string[]} */ named) => {
        const fields = ['One page', 'The other page'].map((label) => /** @type {any} */ (document.querySelector(`select[aria-label="${label}"]`)));
        const chosen = fields.map((field, n) => [...field?.options ?? []].find((one) => one.textContent === named[n])?.value);
        if (!chosen.every(Boolean)) return false;
        fields.forEach((field, n) => { field.value = chosen[n]; });
        fields[0].form.requestSubmit();
        return true;
      }, {}, names);
      for (const { page } of [giver, seeker]) {
        await page.bringToFront();
        await page.waitForFunction(() => /cut the link between you and another page/.test(document.querySelector('.part-note')?.textContent ?? ''));
      }
      // The servent between them still answers for both; but neither calls the other.
      await find(seeker.page, 'polka');
      await tap(seeker.page, '[data-list="search"] button');
      await seeker.page.waitForFunction(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1).node.fetches[0]?.sources[0]?.state === 'waiting');
      assert.equal((await view(seeker.page)).ways.some((/** @type {any} */ way) => way.way !== 'servent'), false);
      await host.bringToFront();
      await tap(host, '[data-list="links"] button');
      await seeker.page.bringToFront();
      await finished(seeker.page);
      assert.equal(await digest(seeker.page), createHash('sha1').update(polka).digest('hex'));
      await host.bringToFront();
      await host.select('.host-servent select', 'text');
      await tap(host, '.host-servent form:last-of-type button');
      const policy = async () => (await host.evaluate(async () => (await (await fetch('api/room')).json()).view.queue.policy));
      await until(async () => await policy() === 'text');
      await host.select('.host-servent select', 'adaptive');
      await tap(host, '.host-servent form:last-of-type button');
      await until(async () => await policy() === 'adaptive');
      for (const one of [giver.page, seeker.page, host]) await one.close();
    });

    test('wb_10_where_only_given_files_are_shared_a_page_shares_nothing', async () => {
      const given = await room('--files', 'given');
      try {
        const { page } = await join(browser, given.url);
        await page.evaluate(() => {
          const data = new DataTransfer();
          data.items.add(new File(['a diary'], 'diary.txt'));
          document.querySelector('part-screen')?.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
        });
        await page.waitForFunction(() => document.querySelector('[data-list="shares"]')?.textContent?.includes('only its host'));
        assert.deepEqual([(await view(page)).shares, await page.$eval('.part-drop', (drop) => drop.checkVisibility())], [[], false]);
        await find(page, 'song');
        await page.close();
      } finally {
        await given.close();
      }
    });

    test('the screen shows who is here', async () => {
      const one = (await join(browser, here.url)).page;
      const screen = await browser.newPage();
      await screen.goto(here.screen);
      const named = await one.$eval('.part-me strong', (n) => n.textContent);
      const told = () => screen.$$eval('.room-one', (all) => all.map((n) => [...n.querySelectorAll('text')].map((t) => t.textContent).join(' ')));
      await until(async () => (await told()).includes(String(named)));
      await one.close();
      await until(async () => !(await told()).includes(String(named)));
      assert.equal(`http://${await screen.$eval('.room-address', (n) => n.textContent)}/`, here.url);
    });
  });
}
