/** A page hands its recording to the room in pieces: the room's request is answered once the last of them is there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Handing } from '../../js/peer/handing.js';

/** Gives the page's globals other values for one test. @param {import('node:test').TestContext} t @param {Record<string, unknown>} values */
function withGlobals(t, values) {
  for (const [name, value] of Object.entries({ window: globalThis, ...values })) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true });
    t.after(() => (before ? Object.defineProperty(globalThis, name, before) : Reflect.deleteProperty(globalThis, name)));
  }
}

/** Where a piece begins, and the request that it answers. @param {string} address */
function given(address) {
  const all = new URLSearchParams(address.split('?')[1]);
  return [Number(all.get('from')), Number(all.get('round'))];
}

/** Two and a half pieces. */
const TAPE = new Uint8Array(5 << 19);

test('wb_5_the_last_piece_of_a_recording_answers_the_room', async (t) => {
  const pieces = /** @type {[number, number, number][]} */ ([]);
  const fetch = async (/** @type {string} */ address, /** @type {{ body: Uint8Array }} */ { body }) => {
    const [from, round] = given(address);
    pieces.push([from, body.length, round]);
    const has = from + body.length;
    if (has === TAPE.length) handing.end();
    return new Response(JSON.stringify({ has }));
  };
  withGlobals(t, { fetch });
  let told = () => {};
  const peer = { view: () => ({ called: true }), tapeLines: () => 1, tapeFrom: (/** @type {number} */ line) => (line ? new Uint8Array(0) : TAPE) };
  const handing = new Handing(/** @type {any} */ (peer), ['240.0.0.1:1', 'secret'], (on) => { if (!on) told(); });
  const ended = new Promise((resolve) => { told = resolve; });
  handing.begin(7);
  await ended;
  assert.deepEqual(pieces, [[0, 1 << 20, 0], [1 << 20, 1 << 20, 0], [2 << 20, 1 << 19, 7]]);
});

test('wb_5_what_a_page_has_when_it_goes_follows_the_piece_on_its_way', (t) => {
  const beacons = /** @type {[number, number][]} */ ([]);
  const sendBeacon = (/** @type {string} */ address, /** @type {Uint8Array} */ data) => beacons.push([given(address)[0], data.length]);
  withGlobals(t, { fetch: () => new Promise(() => {}), navigator: { sendBeacon } });
  const lines = [1000, 30];
  const peer = { view: () => ({ called: true }), tapeLines: () => 1, tapeFrom: () => new Uint8Array(lines.shift() ?? 0) };
  const handing = new Handing(/** @type {any} */ (peer), ['240.0.0.1:1', 'secret'], () => {});
  handing.begin();
  handing.last();
  handing.end();
  assert.deepEqual(beacons, [[1000, 30]]);
});
