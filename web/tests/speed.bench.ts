// Time of the engine in Chromium over that of the installed engine, for P1 to P3 of the benches, in turn. The fastest repetition counts: other programs
// have disturbed it least.
import { readFileSync } from "node:fs";
import { test } from "@playwright/test";
import { startEngine } from "./engine";
import { python, root } from "./python";

const REPETITIONS = 10;

/** Prints the milliseconds of a second run in a process. The first also reads the module from the disk. */
const NATIVE = `
import sys, time
from bloatlab import _core
text = open(sys.argv[1]).read()
_core.run(text, 42)
began = time.perf_counter()
_core.run(text, 42)
print((time.perf_counter() - began) * 1e3)
`;

/** Milliseconds of a run at once. */
function atOnce(document: string): number {
  const began = performance.now();
  engine.run(document, 42n);
  return performance.now() - began;
}

/** Milliseconds of a run as the lab makes it: 1/60 s at a time, with events and rows. */
function inSteps(document: string): number {
  const began = performance.now();
  const lab = new engine.Lab(document, 42n, false);
  while (lab.now < lab.duration) {
    lab.advance(lab.now + 1 / 60);
    lab.take_events(6000);
    lab.contents(0);
    for (const series of ["flows", "links", "probes"]) lab.take_rows(series);
  }
  lab.finish();
  lab.free();
  return performance.now() - began;
}

test("speed", async ({ page }) => {
  const worker = await startEngine(page);
  for (const name of ["p1", "p2", "p3"]) {
    const path = `benches/scenarios/${name}.json`;
    const document = readFileSync(`${root}/${path}`, "utf8");
    await worker.evaluate(atOnce, document); // Compiles the module.
    const times = { native: [] as number[], atOnce: [] as number[], inSteps: [] as number[] };
    for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
      times.native.push(Number(python("-c", NATIVE, path)));
      times.atOnce.push(await worker.evaluate(atOnce, document));
      times.inSteps.push(await worker.evaluate(inSteps, document));
    }
    const native = Math.min(...times.native);
    const text = (all: number[]): string => `${Math.min(...all).toFixed(0)} ms (${(Math.min(...all) / native).toFixed(2)})`;
    console.log(`${name}: native ${native.toFixed(0)} ms, Chromium ${text(times.atOnce)}, in steps of 1/60 s ${text(times.inSteps)}`);
  }
});
