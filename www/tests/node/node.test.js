/** The module as a package in Node: its documented call, and what it refuses. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import { inNode } from '../digest.js';
import { WWW } from '../serve.js';

/** @type {import('#servent')} */
let core;
before(async () => { core = await inNode(); });

/** A world that has come some way. */
function world() {
  const [{ scenario }] = core.World.presets('queue');
  const queue = core.World.fromScenario('queue', scenario).queue();
  const run = queue.run();
  run.seek(60e6);
  return { queue, run, scenario };
}

test('the call that is documented works as it stands', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'servent-package-'));
  try {
    mkdirSync(path.join(dir, 'node_modules'));
    symlinkSync(path.join(WWW, 'pkg'), path.join(dir, 'node_modules/servent'));
    const readme = readFileSync(path.join(WWW, '../web/README.md'), 'utf8');
    const [, call] = /```js\n([\s\S]*?)```/.exec(readme) ?? [];
    writeFileSync(path.join(dir, 'call.mjs'), String(call));
    const said = execFileSync(process.execPath, ['call.mjs'], { cwd: dir, encoding: 'utf8' });
    assert.match(said, /^\d+ of \d+ slots busy, \d+ in line\nbranch 1 differs from record \d+ on\n[0-9a-f]{16}\n$/);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('a node that is not there is an error, and everything goes on', () => {
  const { queue, run } = world();
  const nothing = /^Error: there is no node 9999: there are \d+, numbered from 0$/;
  const before = run.digest();
  for (const ask of [() => queue.positions(9999, 1, 10), () => queue.lanes(9999, 0, 0, 0, 10), () => run.inspect(9999), () => run.diff(9999), () => run.stepNode(9999, 1)]) {
    assert.throws(ask, (why) => nothing.test(String(why)));
  }
  assert.throws(() => run.fault({ crash: { node: 9999 } }), /there is no node 9999/);
  assert.equal(run.record(4_000_000_000), undefined);
  assert.equal(run.seekEvent(4_000_000_000), false);
  assert.equal(run.useBranch(7), false);
  assert.equal(run.divergence(3, 4), undefined);
  assert.deepEqual(queue.positions(0, 4_000_000_000, 4_000_000_000).queue.cards, []);
  run.seek(60e6);
  assert.equal(run.digest(), before);
  const routing = core.World.fromScenario('routing', core.World.presets('routing')[0].scenario).routing();
  const swarm = core.World.fromScenario('swarm', core.World.presets('swarm')[0].scenario).swarm();
  const unicast = core.World.fromScenario('unicast', core.World.presets('unicast')[0].scenario).unicast();
  for (const ask of [() => routing.tables(9999, 0, 1), () => routing.counters(9999), () => unicast.margins(9999), () => swarm.run().inspect(9999)]) {
    assert.throws(ask, (why) => nothing.test(String(why)));
  }
  assert.equal(routing.guidHex(9999), undefined);
  assert.equal(swarm.funnel(1e9), undefined);
  assert.deepEqual([...swarm.rows(9999, 9999)], []);
});

test('an unknown name is refused with a sentence', () => {
  const { run, scenario } = world();
  for (const [fault, what] of /** @type {[any, RegExp][]} */ ([
    [{ crash: { node: 0, at: 5 } }, /`crash`: unknown field `at`/], [{ crush: { node: 0 } }, /unknown variant `crush`/],
    [{ crash: { node: 0 }, restart: { node: 0 } }, /one thing to do/], [{ crash: {} }, /missing field `node`/], [{}, /one thing to do/],
    [{ crash: { node: -1 } }, /invalid value/], [{ crash: { node: 0.5 } }, /invalid type/], [null, /invalid type/],
  ])) {
    assert.throws(() => run.fault(fault), what);
  }
  assert.throws(() => core.World.fromScenario('queue', /** @type {any} */ ({ ...scenario, sede: 7 })), /unknown field `sede`/);
  assert.throws(() => core.World.fromScenario('queue', /** @type {any} */ ({ ...scenario, faults: [{ at: 1, crash: { node: 0, at: 1 } }] })), /unknown field `at`/);
  assert.throws(() => core.World.fromScenario('swarm', /** @type {any} */ ({ pices: 4 })), /unknown field `pices`/);
});

test('a tape is read as it comes, and reading can be given up', async () => {
  const { run } = world();
  run.seek(run.horizon());
  const file = new Blob([/** @type {BlobPart} */ (run.exportSqlog())]);
  const told = /** @type {number[]} */ ([]);
  const tape = await core.Tape.open(file.stream(), (bytes) => told.push(bytes), undefined);
  assert.equal(told.at(-1), file.size);
  const { scenario, claim } = /** @type {NonNullable<ReturnType<typeof tape.world>>} */ (tape.world());
  const again = core.World.fromWorld('queue', scenario, claim).run();
  while (!again.explore(100));
  assert.equal(again.verified().text, 'verified 1/1');

  const reading = new AbortController();
  let cancelled = false;
  const endless = new ReadableStream({
    pull(stream) { stream.enqueue(new TextEncoder().encode('\x1e{}\n')); },
    cancel() { cancelled = true; },
  });
  const opening = core.Tape.open(endless, (bytes) => { if (bytes > 100) reading.abort(new Error('enough')); }, reading.signal);
  await assert.rejects(opening, /enough/);
  assert.ok(cancelled, 'the page does not go on reading');
  await assert.rejects(core.Tape.open(new Blob(['not a trace\n']).stream(), undefined, undefined), /not a trace/);
});

test('what is read from JavaScript may ask the run it is for', () => {
  const { run } = world();
  const branch = run.fault(/** @type {any} */ ({ get crash() { run.seek(30e6); return { node: 0 }; } }));
  assert.equal(branch, 1);
  assert.equal(run.branches()[1].at, 30e6);
});

test('the example of a protocol runs as any other', () => {
  assert.ok(core.World.protocols().includes('echo'));
  const { scenario } = core.World.presets('echo').find(({ id }) => id === 'echo-again') ?? {};
  const world = core.World.fromScenario('echo', scenario);
  const run = world.run();
  run.seek(run.horizon());
  const told = run.records(0, 100, '').map((/** @type {any} */ { event }) => (Object.values(event)[0].again ? 'again' : Object.values(event)[0].what));
  assert.deepEqual(told, ['asked', 'echoed', 'answered', 'asked', 'echoed', 'lost', 'again', 'echoed', 'answered', 'asked', 'echoed', 'answered']);
  assert.deepEqual(run.nodes().map((/** @type {any} */ { role }) => role), ['asks', 'echoes']);
  assert.throws(() => world.unicast(), /this is no world of unicast/);
  assert.throws(() => core.World.presets('torrent'), /there is no protocol torrent/);
});
