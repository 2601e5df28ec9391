// The engine as WebAssembly gives the bytes of the installed engine. Run: node --test web/tests/digests.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { engine, python } from "./engine.mjs";

const STEPS = 7;
const native = JSON.parse(python("tests/web/native_digests.py"));

/** The digest of a run in steps, with events. */
function stepped(document, seed) {
  const lab = new engine.Lab(document, seed, false);
  for (let step = 1; step <= STEPS; step += 1) {
    lab.advance((lab.duration * step) / (STEPS + 1));
    lab.take_events(100);
  }
  lab.finish();
  const { digest } = lab;
  lab.free();
  return digest;
}

test("there are enough scenarios of every kind", () => {
  assert.ok(native.length >= 30, `${native.length}`);
  for (const kind of ["cell: ", "queue: ", "congestion control: ", "rate: ", "impairment: ", "parking-lot", "timeline", "docs/"]) {
    assert.ok(native.some(({ name }) => name.startsWith(kind)), kind);
  }
});

for (const { name, document, seed, digest } of native) {
  test(`digest of ${name}`, () => {
    assert.equal(JSON.parse(engine.run(document, BigInt(seed))).digest, digest, "at once");
    assert.equal(stepped(document, BigInt(seed)), digest, "in steps");
  });
}

test("texts equal those of the extension module", () => {
  const code =
    "import json; from bloatlab import _core as c;" +
    "print(json.dumps([c.schema(), c.algorithms(), c.metric_definitions(), c.tc('\"fq_codel limit 5000\"', 'eth0'), c.engine_version()]))";
  const [schema, algorithms, metrics, tc, version] = JSON.parse(python("-c", code));
  assert.equal(engine.engine_version(), version);
  assert.equal(engine.schema(), schema);
  assert.equal(engine.algorithms(), algorithms);
  assert.equal(engine.metric_definitions(), metrics);
  assert.deepEqual(engine.tc('"fq_codel limit 5000"', "eth0"), tc);
});

test("errors have one line", () => {
  const lines = [
    () => new engine.Lab("{", 1n, false),
    () => engine.normalise('{"duration": "1s"}'),
    () => engine.tc('"fifoo"', "eth0"),
    () => engine.normalise("[".repeat(1_000_000)),
  ];
  for (const wrong of lines) {
    assert.throws(wrong, (error) => error instanceof Error && !error.message.includes("\n"));
  }
});
