/**
 * Two pages of one room reach each other on a data channel: unordered, without retransmissions, and with every twentieth
 * datagram lost before it is sent. Everything arrives in order and once, and both tapes are verified, datagrams and all.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, start } from '../browser.js';
import { PROGRAM, digest, find, finished, give, join, room, tap } from '../room.js';

/** Of a thousand datagrams. */
const LOST = 50;
const SIZE = 600_000;

const view = (/** @type {any} */ page) => page.evaluate(() => /** @type {any} */ (document.querySelector('part-screen')).peer.view(1));

/** Runs the page's own tape again. @param {any} page */
const replayed = (page) => page.evaluate(async () => {
  const { Tape } = await import('#servent');
  const run = Tape.fromBytes(/** @type {any} */ (document.querySelector('part-screen')).peer.tape()).run();
  run.seek(Math.max(run.horizon(), run.frontier()));
  const { checked, total, diverged_at: diverged } = run.verified();
  return { checked, total, diverged: diverged ?? null };
});

const PAIRS = [['chromium', 'chromium'], ['chromium', 'firefox'], ['firefox', 'firefox']].filter((pair) => pair.every((name) => /** @type {string[]} */ (BROWSERS).includes(name)));

describe('channels', { skip: !PROGRAM && 'SERVENT_PROGRAM names no program' }, () => {
  /** @type {any} */ let here;
  /** @type {Map<string, Awaited<ReturnType<typeof start>>>} */ let started;
  before(async () => {
    here = await room();
    started = new Map(await Promise.all(BROWSERS.map(async (name) => /** @type {const} */ ([name, await start(name)]))));
  });
  after(async () => {
    for (const one of started.values()) await one.close();
    await here.close();
  });

  for (const [n, pair] of PAIRS.entries()) {
    test(`wb_4_in_order_and_once_with_loss_${pair.join('_and_')}`, async () => {
      const joined = await Promise.all(pair.map((name) => join(/** @type {any} */ (started.get(name)).browser, here.url)));
      const pages = joined.map(({ page }) => page);
      const works = /** @type {[string, Buffer][]} */ ([[`prelude${n} one.bin`, randomBytes(SIZE)], [`nocturne${n} two.bin`, randomBytes(SIZE)]]);
      for (const [at, page] of pages.entries()) {
        await page.evaluate((/** @type {number} */ lost, /** @type {number} */ seed) => /** @type {any} */ (document.querySelector('part-screen')).peer.lose(lost, seed), LOST, at + 1);
        await give(page, ...works[at]);
      }
      for (const [at, page] of pages.entries()) {
        await page.bringToFront();
        await find(page, works[1 - at][0].split(' ')[0]);
        await tap(page, '[data-list="search"] button');
        await finished(page);
        assert.equal(await digest(page), createHash('sha1').update(works[1 - at][1]).digest('hex'));
      }
      for (const page of pages) {
        const { channels } = await view(page);
        assert.ok(channels.opened > 0 && channels.lost > 10 && channels.refused === 0, JSON.stringify(channels));
        const { checked, total, diverged } = await replayed(page);
        assert.ok(total > 0 && checked === total && diverged === null, `${checked} of ${total}, ${diverged}`);
      }
      assert.deepEqual(joined.flatMap(({ complaints }) => complaints), []);
      for (const page of pages) await page.close();
    });
  }

  const relayed = async () => (await (await here.ask('api/room')).json()).relayed.bytes;

  test('nothing has passed through the servent', async () => assert.equal(await relayed(), 0));

  test('wb_4_where_no_channel_opens_the_servent_passes_the_bytes_on', async () => {
    // As in a network that separates its devices: no page says where it may be reached.
    const alone = () => {
      const Real = window.RTCPeerConnection;
      /** @type {any} */ (window).RTCPeerConnection = class extends Real { constructor() { super({ iceTransportPolicy: 'relay' }); } };
    };
    const { browser } = /** @type {any} */ (started.get(BROWSERS[0]));
    const [giver, seeker] = await Promise.all([join(browser, here.url, 1280, alone), join(browser, here.url, 1280, alone)]);
    const work = randomBytes(SIZE);
    await give(giver.page, 'etude alone.bin', work);
    await seeker.page.bringToFront();
    await find(seeker.page, 'etude');
    await tap(seeker.page, '[data-list="search"] button');
    await finished(seeker.page);
    assert.equal(await digest(seeker.page), createHash('sha1').update(work).digest('hex'));
    const { channels } = await view(seeker.page);
    assert.ok(channels.opened === 0 && channels.failed === 1, JSON.stringify(channels));
    assert.ok(await relayed() > SIZE);
    // Firefox itself writes into the console that no way was found.
    const complaints = [...giver.complaints, ...seeker.complaints].filter((text) => !text.includes('ICE failed'));
    assert.deepEqual(complaints, []);
    for (const { page } of [giver, seeker]) await page.close();
  });
});
