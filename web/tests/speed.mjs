// Time of the engine as WebAssembly over that of the installed engine, for P1 to P3 of the benches, in turn. Run: node web/tests/speed.mjs [repetitions]

import { readFileSync } from "node:fs";

import { engine, python, root } from "./engine.mjs";

const SEED = 42n;
const repetitions = Number(process.argv[2] ?? 5);

function milliseconds(work) {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** A run as the lab makes it: a frame of the screen at a time, with events and rows. */
function watched(document) {
  const lab = new engine.Lab(document, SEED, false);
  while (lab.now < lab.duration) {
    lab.advance(lab.now + 1 / 60);
    lab.take_events(2000);
    lab.contents(0);
    lab.bands(0);
    ["flows", "links", "probes"].forEach((series) => lab.take_rows(series));
  }
  lab.finish();
  lab.free();
}

for (const name of ["p1", "p2", "p3"]) {
  const path = `benches/scenarios/${name}.json`;
  const document = readFileSync(`${root}/${path}`, "utf8");
  engine.run(document, SEED); // Compiles the module.
  const times = { native: [], wasm: [], watched: [] };
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    times.native.push(JSON.parse(python("benches/once.py", path)).ns / 1e6);
    times.wasm.push(milliseconds(() => engine.run(document, SEED)));
    times.watched.push(milliseconds(() => watched(document)));
  }
  const [native, wasm, lab] = [times.native, times.wasm, times.watched].map(median);
  const ratio = (time) => (time / native).toFixed(2);
  console.log(
    `${name}: native ${native.toFixed(0)} ms, wasm ${wasm.toFixed(0)} ms (${ratio(wasm)}), as the lab at 60 frames a second ${lab.toFixed(0)} ms (${ratio(lab)})`,
  );
}
