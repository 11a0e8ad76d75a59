// Runs a scenario in the page's own module: `node lab.mjs PKG SCENARIO RUNS SEEKS`.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pkg, scenario, runs, seeks] = process.argv.slice(2);
const { default: init, Queue } = await import(pathToFileURL(resolve(pkg, "servent.js")).href);
await init({ module_or_path: readFileSync(join(pkg, "servent_bg.wasm")) });

const world = JSON.parse(readFileSync(scenario, "utf8"));
const explore = [];
let run;
for (let i = 0; i < Number(runs); i += 1) {
  run?.free();
  const began = performance.now();
  const queue = Queue.fromScenario(world);
  run = queue.run();
  queue.free();
  while (!run.explore(1_000));
  explore.push((performance.now() - began) / 1000);
}

const horizon = run.horizon();
const times = [];
// Evenly spread and far from each other: 0.618… visits everywhere.
for (let i = 1, at = 0; i <= Number(seeks); i += 1) {
  at = (at + 0.6180339887) % 1;
  const start = performance.now();
  run.seek(Math.floor(at * horizon));
  times.push(performance.now() - start);
}
run.seek(horizon);
console.log(JSON.stringify({ explore, seeks: times, digest: run.digest() }));
