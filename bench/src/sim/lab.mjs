// Runs a scenario in the page's own module: `node lab.mjs PKG SCENARIO SEEKS`.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pkg, scenario, seeks] = process.argv.slice(2);
const { default: init, Lab } = await import(pathToFileURL(resolve(pkg, "servent_web.js")).href);
await init({ module_or_path: readFileSync(join(pkg, "servent_web_bg.wasm")) });

const lab = Lab.fromScenario(readFileSync(scenario, "utf8"));
const began = performance.now();
while (!lab.explore(100_000));
const explore = (performance.now() - began) / 1000;

const horizon = lab.horizon();
const times = [];
// Evenly spread and far from each other: 0.618… visits everywhere.
for (let i = 1, at = 0; i <= Number(seeks); i += 1) {
  at = (at + 0.6180339887) % 1;
  const start = performance.now();
  lab.seek(Math.floor(at * horizon));
  times.push(performance.now() - start);
}
lab.seek(horizon);
console.log(JSON.stringify({ explore, seeks: times, digest: lab.digest() }));
