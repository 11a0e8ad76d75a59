// Plays a story of the map in the page's own module: `node map.mjs PKG STORY SEEKS`.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pkg, story, seeks] = process.argv.slice(2);
const { default: init, Map } = await import(pathToFileURL(resolve(pkg, "servent.js")).href);
const { memory } = await init({ module_or_path: readFileSync(join(pkg, "servent_bg.wasm")) });

const { scenario } = JSON.parse(Map.presets()).find((preset) => preset.id === story);
const since = (start) => performance.now() - start;
let start = performance.now();
const map = Map.fromScenario(JSON.stringify(scenario));
const begin = since(start);
start = performance.now();
while (!map.explore(4_096));
const explore = since(start);

start = performance.now();
map.pins();
const survey = since(start);

const horizon = map.horizon();
const times = [];
const frames = [];
const tables = [];
let most = 0;
// Evenly spread and far from each other: 0.618… visits everywhere.
for (let i = 1, at = 0; i <= Number(seeks); i += 1) {
  at = (at + 0.6180339887) % 1;
  const to = Math.floor(at * horizon);
  start = performance.now();
  map.seek(to);
  times.push(since(start));
  start = performance.now();
  const flights = map.flights(to, to, 100_000);
  frames.push(since(start));
  most = Math.max(most, flights.length / 10);
  start = performance.now();
  map.tables(i % scenario.nodes, 0, 12);
  map.counters(-1);
  map.inspect(i % scenario.nodes);
  tables.push(since(start));
}
map.seek(horizon);
const records = map.count();
console.log(JSON.stringify({
  begin, explore, survey, records, seeks: times, frames, tables, most,
  mib: memory.buffer.byteLength / 1_048_576, digest: map.digest(),
}));
