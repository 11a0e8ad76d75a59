/** What a visitor does with the routing map, in real browsers. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BROWSERS, copiedLink, forgetful, frame, oddSentences, open, start, state } from '../browser.js';

const STORY = '#1/routing?p=cycles&m=single';

/** How long a slow machine may take to find out all of ten thousand nodes, in milliseconds. */
const PATIENCE = 240_000;

/** Has the future found out, and waits until the map knows all there is to know. @param {import('puppeteer-core').Page} page */
const drawn = (page) => page.waitForFunction(() => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const { stages } = /** @type {any} */ (document.querySelector('routing-pane')) ?? {};
  if (session.view.id !== 'routing' || !session.run) return false;
  for (const run of session.runs()) if (!run.explore(100)) return false;
  session.clock.touch();
  return session.runs().every((/** @type {any} */ run) => run.flights.known >= run.raw.frontier() && run.flights.count > 0) && stages?.length === session.runs().length && stages[0].sight;
}, { timeout: PATIENCE });

/** The messages of the first run, as the page has them. @param {import('puppeteer-core').Page} page */
const flights = (page) => page.evaluate(() => {
  const { flights: f } = /** @type {any} */ (document.querySelector('servent-lab')).session.run;
  return Array.from({ length: f.count }, (_, i) => ({ id: f.id[i], from: f.from[i], to: f.to[i], sent: f.sent[i], due: f.due[i], kind: f.kind[i], fate: f.fate[i], guid: f.guid[i], link: f.link[i] }));
});

/** @param {import('puppeteer-core').Page} page @param {number} us */
const seek = (page, us) => page.evaluate((to) => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.seek(to), us);

/** Where a thing is on the page. @param {import('puppeteer-core').Page} page @param {{kind: string, i: number}} thing */
const where = (page, thing) => page.evaluate((wanted) => {
  const [stage] = /** @type {any} */ (document.querySelector('routing-pane')).stages;
  const { left, top } = stage.node.getBoundingClientRect();
  const { x, y } = stage.where(wanted);
  return { x: left + x, y: top + y };
}, thing);

/** The page's selection. @param {import('puppeteer-core').Page} page */
const selection = (page) => page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.selection);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    test('opens by a key, with its module only then', async () => {
      const fresh = await start(name, { extra: forgetful });
      const { page, complaints } = await open(fresh, '#1/queue?p=rush-hour&t=60000');
      assert.deepEqual(fresh.server.requests.filter((r) => r.startsWith('/js/routing/')), [], 'the page of the queue loads nothing else');
      await page.keyboard.press('2');
      await drawn(page);
      assert.ok(fresh.server.requests.some((r) => r === '/js/routing/view.js'));
      const words = await page.$eval('routing-pane', (n) => n.textContent ?? '');
      assert.match(words, /duplicate/);
      assert.doesNotMatch(words, /undefined|NaN|null|[a-z]+\.[a-z]+\.[a-z]/);
      assert.deepEqual(complaints, []);
      await page.close();
      await fresh.close();
    });

    test('what is drawn is what the core says: in flight, arrived, dropped', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await drawn(page);
      const all = await flights(page);
      assert.ok(all.some((f) => f.fate === 10), 'cycles bring duplicates');
      assert.ok(all.every((f) => f.due > f.sent));
      assert.deepEqual(all.map((f) => f.id), all.map((f) => f.id).sort((a, b) => a - b), 'numbers follow the order of departure');
      const end = all.reduce((last, f) => Math.max(last, f.due), 0);
      for (const part of [0.2, 0.5, 0.8]) {
        const now = Math.round(end * part);
        await seek(page, now);
        await frame(page);
        const shown = await page.evaluate(() => [.../** @type {any} */ (document.querySelector('routing-pane')).stages[0].messages.flying.list.subarray(0, /** @type {any} */ (document.querySelector('routing-pane')).stages[0].messages.flying.count)]);
        assert.deepEqual(shown, all.flatMap((f, i) => (f.sent <= now && f.due > now ? [i] : [])), `in flight at ${now}`);
      }
      await page.close();
    });

    test('the flood is painted: where it has been is lit, elsewhere not', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await drawn(page);
      const all = await flights(page);
      const first = all.find((f) => f.kind === 2 && f.fate === 1);
      assert.ok(first);
      const colour = async () => {
        await frame(page);
        return page.evaluate(({ from, to }) => {
          const [stage] = /** @type {any} */ (document.querySelector('routing-pane')).stages;
          const { px, py } = stage.places;
          const at = (/** @type {number} */ part) => [...stage.network.ctx.getImageData(Math.round((px[from] + (px[to] - px[from]) * part) * stage.scale), Math.round((py[from] + (py[to] - py[from]) * part) * stage.scale), 1, 1).data].slice(0, 3);
          return [0.4, 0.5, 0.6].map(at).join('|');
        }, first);
      };
      const before = await colour();
      await seek(page, first.due + 1);
      const lit = await colour();
      assert.notEqual(lit, before, 'it is lit once it has arrived');
      await seek(page, 0);
      assert.equal(await colour(), before, 'and dark again before');
      await page.close();
    });

    test('a click selects a node, a message, a link, and tells of each', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await drawn(page);
      await frame(page);
      const node = await where(page, { kind: 'node', i: 1 });
      await page.mouse.click(node.x, node.y);
      assert.equal((await selection(page)).node, 1);
      await page.waitForFunction(() => (document.querySelector('lab-inspector dl.facts')?.textContent ?? '').length > 0);
      const all = await flights(page);
      const [first] = all;
      await seek(page, Math.round((first.sent + first.due) / 2));
      await frame(page);
      const message = await where(page, { kind: 'message', i: 0 });
      await page.mouse.click(message.x, message.y);
      const { arrow } = await selection(page);
      assert.ok(arrow !== undefined, 'a message is selected');
      await page.waitForFunction(() => /→/.test(document.querySelector('lab-inspector .who h3')?.textContent ?? ''));
      await page.evaluate(() => {
        const pane = /** @type {any} */ (document.querySelector('routing-pane'));
        pane.move(0, 0);
        pane.link();
      });
      assert.match((await selection(page)).ticket, /^l\d+$/);
      await page.close();
    });

    test('why a message was dropped is said over no node', async () => {
      for (const width of [390, 1280]) {
        const { page } = await open(started, '#1/routing?les=way-back/3', { width, height: 844 });
        await page.evaluate(() => {
          const { room, session } = /** @type {any} */ (document.querySelector('servent-lab'));
          session.clock.pause();
          session.clock.seek(room.now.until);
        });
        await page.waitForFunction(() => [...document.querySelectorAll('.routing-word')].some((n) => n.checkVisibility()));
        await frame(page);
        const over = await page.evaluate(() => {
          const [stage] = /** @type {any} */ (document.querySelector('routing-pane')).stages;
          const { left, top } = stage.node.getBoundingClientRect();
          const { px, py, radius } = stage.places;
          return [...stage.node.querySelectorAll('.routing-word')].filter((n) => n.checkVisibility()).flatMap((n) => {
            const box = n.getBoundingClientRect();
            return [...px.keys()].filter((i) => Math.hypot(px[i] + left - Math.max(box.left, Math.min(box.right, px[i] + left)), py[i] + top - Math.max(box.top, Math.min(box.bottom, py[i] + top))) < radius - 1).map((i) => `${n.textContent} over ${i}`);
          });
        });
        assert.deepEqual(over, [], `${width} px`);
        await page.close();
      }
    });

    test('keys go to a neighbour, kill it and cut a link; the old future is kept', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await drawn(page);
      const before = await state(page);
      const old = await flights(page);
      await page.keyboard.press('ArrowDown');
      const { node } = await selection(page);
      assert.ok(Number.isInteger(node));
      await page.keyboard.press('n');
      const { ticket } = await selection(page);
      assert.match(ticket, /^l\d+$/);
      await page.keyboard.press('d');
      await page.waitForSelector('.branch');
      await drawn(page);
      const after = await state(page);
      assert.equal(after.branches, before.branches + 1);
      const link = Number(ticket.slice(1));
      assert.equal(await page.evaluate((i) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.links.up[i], link), 0, 'it shows at once');
      assert.ok(old.some((f) => f.link === link && f.fate < 40), 'something went over it');
      assert.ok((await flights(page)).filter((f) => f.link === link).every((f) => f.fate >= 40), 'nothing gets over a cut link');
      await page.keyboard.press('u');
      await drawn(page);
      assert.deepEqual(await flights(page), old, 'the old future is as it was');
      const [first] = old;
      await page.evaluate((i) => /** @type {any} */ (document.querySelector('servent-lab')).session.select({ node: i, ticket: null, name: 'it', lane: 0 }), first.to);
      await page.keyboard.press('x');
      await drawn(page);
      assert.equal(await page.evaluate((i) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.source.up()[i], first.to), 0);
      assert.ok((await flights(page)).filter((f) => f.from === first.to).length === 0, 'who is down sends nothing');
      await page.keyboard.press('x');
      await drawn(page);
      assert.equal(await page.evaluate((i) => /** @type {any} */ (document.querySelector('servent-lab')).session.run.source.up()[i], first.to), 1);
      await page.close();
    });

    test('the list of the map goes along neighbours without a pointer', async () => {
      const { page } = await open(started, '#1/routing?p=ring&m=single&t=0');
      await drawn(page);
      await page.focus('.routing-list');
      const seen = new Set();
      for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowLeft', 'ArrowUp']) {
        await page.keyboard.press(key);
        seen.add((await selection(page)).node);
      }
      assert.ok(seen.size >= 4, [...seen].join());
      await page.waitForFunction(() => document.querySelector('.routing-list [aria-selected="true"]'));
      assert.match(await page.$eval('.routing-list', (n) => n.textContent ?? ''), /Neighbour of/);
      await page.keyboard.press('Enter');
      await page.waitForSelector('.menu [role="menuitem"]');
      await page.close();
    });

    test('longer tables are another story, at the same moment', async () => {
      const { page } = await open(started, '#1/routing?p=route-expired&m=single&t=0');
      await drawn(page);
      const at = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.clock.end * 0.9);
      await seek(page, at);
      const now = (await state(page)).now;
      await page.$eval('.routing-lives input', (n) => {
        const input = /** @type {HTMLInputElement} */ (n);
        input.value = input.max;
        for (const type of ['input', 'change']) input.dispatchEvent(new Event(type));
      });
      await drawn(page);
      assert.equal((await state(page)).now, now);
      assert.equal(await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.scenario.config.query_life), 3600e6);
      await page.close();
    });

    test('a story about lives is told beside longer ones: the hit is dropped, and comes home', async () => {
      const { page } = await open(started, '#1/routing?p=route-expired&t=0');
      await drawn(page);
      const fates = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.runs().map((/** @type {any} */ run) => {
        const f = run.flights;
        return Array.from({ length: f.count }, (_, i) => i).filter((i) => f.kind[i] === 3).map((i) => f.fate[i]);
      }));
      assert.equal(fates.length, 2);
      assert.ok(fates[0].includes(11), `no way back: ${fates[0]}`);
      assert.ok(!fates[1].includes(11), `longer tables: ${fates[1]}`);
      await page.close();
    });

    test('a link leads back to moment, branch, what is followed and what is selected', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await drawn(page);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('n');
      await page.keyboard.press('d');
      await drawn(page);
      await page.keyboard.press('g');
      await seek(page, 400_000);
      const before = await state(page);
      const { ticket } = await selection(page);
      const hash = await copiedLink(page);
      await page.close();
      const again = await open(started, hash);
      await drawn(again.page);
      const after = await state(again.page);
      for (const key of /** @type {const} */ (['now', 'index', 'digest', 'branch', 'branches', 'view', 'mode'])) assert.equal(after[key], before[key], key);
      assert.equal((await selection(again.page)).ticket, ticket);
      assert.equal(typeof await again.page.evaluate(() => /** @type {any} */ (document.querySelector('routing-pane')).follow), 'number');
      assert.equal(await again.page.$('.notice.bad'), null);
      await again.page.close();
    });

    test('every story opens, and every event reads as a sentence', async () => {
      const { page, complaints } = await open(started, `${STORY}&t=0`);
      await drawn(page);
      const { ids, odd } = await oddSentences(page);
      assert.ok(ids.length >= 8, ids.join());
      assert.deepEqual([...new Set(odd)], []);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('zoom keeps what is under the pointer, and leads back to the whole', async () => {
      const { page } = await open(started, `${STORY}&t=0`);
      await drawn(page);
      await frame(page);
      const before = await where(page, { kind: 'node', i: 2 });
      await page.mouse.move(before.x, before.y);
      await page.mouse.wheel({ deltaY: -400 });
      await page.waitForFunction(() => /** @type {any} */ (document.querySelector('routing-pane')).stages[0].camera.zoom > 1);
      await frame(page);
      const after = await where(page, { kind: 'node', i: 2 });
      assert.ok(Math.hypot(after.x - before.x, after.y - before.y) < 40, JSON.stringify({ before, after }));
      await page.keyboard.press('0');
      await frame(page);
      assert.equal(await page.evaluate(() => /** @type {any} */ (document.querySelector('routing-pane')).stages[0].camera.zoom), 1);
      await page.close();
    });

    test('on a phone one map is shown, and the other by its tab', async () => {
      const { page } = await open(started, '#1/routing?p=route-expired&t=0', { width: 320, height: 640 });
      await drawn(page);
      await frame(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 320);
      await page.waitForSelector('.routing-tabs:not([hidden])');
      assert.equal((await page.$$('.routing-column:not([hidden])')).length, 1);
      await page.click('.routing-tabs [data-lane="1"]');
      await page.waitForSelector('.routing-tabs [data-lane="1"][aria-pressed="true"]');
      assert.equal((await page.$$('.routing-column:not([hidden])')).length, 1);
      await page.close();
    });

    test('ten thousand nodes: thousands of messages in flight are drawn from columns, and a seek is at once the state that running leads to', async () => {
      const { page, complaints } = await open(started, '#1/routing?p=ten-thousand&m=single&t=0');
      await drawn(page);
      const found = await page.evaluate(async () => {
        const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
        const { flights: f } = session.run;
        // The densest moment: most departures without their arrivals.
        const steps = [...Array(f.count).keys()].flatMap((i) => [[f.sent[i], 1], [f.due[i], -1]]).sort((a, b) => a[0] - b[0]);
        let [messages, most, dense] = [0, 0, 0];
        for (const [at, by] of steps) {
          messages += by;
          if (messages > most) [most, dense] = [messages, at];
        }
        session.clock.seek(dense);
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const [stage] = /** @type {any} */ (document.querySelector('routing-pane')).stages;
        const { width, height } = stage.messages.canvas;
        const pixels = new Uint32Array(stage.messages.ctx.getImageData(0, 0, width, height).data.buffer);
        let painted = 0;
        for (const pixel of pixels) if (pixel !== 0) painted += 1;
        const digest = session.run.digest;
        session.clock.seek(session.clock.end);
        session.clock.seek(dense);
        return { nodes: session.run.nodes.length, most, shown: stage.messages.flying.count, painted, same: session.run.digest === digest };
      });
      assert.equal(found.nodes, 10_000);
      assert.ok(found.most > 3000, `${found.most} messages at once`);
      assert.ok(found.shown >= found.most * 0.95, JSON.stringify(found));
      assert.ok(found.painted > found.most / 2, JSON.stringify(found));
      assert.ok(found.same);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('the single file has this view too', { skip: !(process.env.SERVENT_SINGLE && existsSync(process.env.SERVENT_SINGLE)) }, async () => {
      const url = pathToFileURL(String(process.env.SERVENT_SINGLE)).href;
      const { page, complaints } = await open(started, `${STORY}&t=1000`, { url });
      await drawn(page);
      assert.ok((await state(page)).index > 0);
      assert.deepEqual(complaints, []);
      await page.close();
    });
  });
}
