/** A page hands its recording to the room in pieces: the room's request is answered once the last of them is there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Handing } from '../../js/peer/handing.js';

/** Two and a half pieces. */
const TAPE = new Uint8Array(5 << 19);

test('wb_5_the_last_piece_of_a_recording_answers_the_room', async (t) => {
  const pieces = /** @type {[number, number, number][]} */ ([]);
  const globals = /** @type {any} */ (globalThis);
  const { fetch: before, window: none } = globals;
  t.after(() => Object.assign(globals, { fetch: before, window: none }));
  globals.window = globals;
  globals.fetch = async (/** @type {string} */ address, /** @type {{ body: Uint8Array }} */ { body }) => {
    const given = new URLSearchParams(address.split('?')[1]);
    pieces.push([Number(given.get('from')), body.length, Number(given.get('round'))]);
    const has = Number(given.get('from')) + body.length;
    if (has === TAPE.length) handing.end();
    return new Response(JSON.stringify({ has }));
  };
  let told = () => {};
  const peer = { view: () => ({ called: true }), tapeLines: () => 1, tapeFrom: (/** @type {number} */ line) => (line ? new Uint8Array(0) : TAPE) };
  const handing = new Handing(/** @type {any} */ (peer), ['240.0.0.1:1', 'secret'], (on) => { if (!on) told(); });
  const ended = new Promise((resolve) => { told = resolve; });
  handing.begin(7);
  await ended;
  assert.deepEqual(pieces, [[0, 1 << 20, 0], [1 << 20, 1 << 20, 0], [2 << 20, 1 << 19, 7]]);
});

test('wb_5_what_a_page_has_when_it_goes_follows_the_piece_on_its_way', (t) => {
  const globals = /** @type {any} */ (globalThis);
  const { fetch: before, window: none } = globals;
  const { navigator: given } = globals;
  const define = (/** @type {any} */ value) => Object.defineProperty(globals, 'navigator', { value, configurable: true });
  t.after(() => { Object.assign(globals, { fetch: before, window: none }); define(given); });
  globals.window = globals;
  globals.fetch = () => new Promise(() => {});
  const beacons = /** @type {[number, number][]} */ ([]);
  define({ sendBeacon: (/** @type {string} */ address, /** @type {Uint8Array} */ data) => beacons.push([Number(new URLSearchParams(address.split('?')[1]).get('from')), data.length]) });
  const lines = [1000, 30];
  const peer = { view: () => ({ called: true }), tapeLines: () => 1, tapeFrom: () => new Uint8Array(lines.shift() ?? 0) };
  const handing = new Handing(/** @type {any} */ (peer), ['240.0.0.1:1', 'secret'], () => {});
  handing.begin();
  handing.last();
  handing.end();
  assert.deepEqual(beacons, [[1000, 30]]);
});
