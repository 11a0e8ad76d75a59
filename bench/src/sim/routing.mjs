// Plays a story of routing in the page's own module: `node routing.mjs PKG STORY SEEKS`.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pkg, story, seeks] = process.argv.slice(2);
const { default: init, Routing } = await import(pathToFileURL(resolve(pkg, "servent.js")).href);
const { memory } = await init({ module_or_path: readFileSync(join(pkg, "servent_bg.wasm")) });

const { scenario } = Routing.presets().find((preset) => preset.id === story);
const since = (start) => performance.now() - start;
let start = performance.now();
const routing = Routing.fromScenario(scenario);
const run = routing.run();
const begin = since(start);
start = performance.now();
while (!run.explore(1_000));
const explore = since(start);

start = performance.now();
run.pins();
const survey = since(start);

const horizon = run.horizon();
const times = [];
const frames = [];
const tables = [];
let most = 0;
// Evenly spread and far from each other: 0.618… visits everywhere.
for (let i = 1, at = 0; i <= Number(seeks); i += 1) {
  at = (at + 0.6180339887) % 1;
  const to = Math.floor(at * horizon);
  start = performance.now();
  run.seek(to);
  times.push(since(start));
  start = performance.now();
  const flights = routing.flights(to, to, 100_000);
  frames.push(since(start));
  most = Math.max(most, flights.length / 10);
  start = performance.now();
  routing.tables(i % scenario.nodes, 0, 12);
  routing.counters();
  run.inspect(i % scenario.nodes);
  tables.push(since(start));
}
run.seek(horizon);
const records = run.count();
console.log(JSON.stringify({
  begin, explore, survey, records, seeks: times, frames, tables, most,
  mib: memory.buffer.byteLength / 1_048_576, digest: run.digest(),
}));
