// The engine in Chromium gives the results of the installed engine, bit for bit.
import type { Page, Worker } from "@playwright/test";
import { startEngine } from "./engine";
import { expect, test as base } from "./lab";
import { python } from "./python";

interface Native {
  kind: string;
  name: string;
  document: string;
  files: Record<string, string>;
  seed: number;
  digest: string;
}

const KINDS = ["network", "queue", "congestion control", "rate", "rate file", "delay", "loss", "impairment", "cell", "timeline", "documentation"];

const test = base.extend<{ worker: Worker }, { native: Native[] }>({
  native: [async ({}, use) => use(JSON.parse(python("tests/web/native_digests.py"))), { scope: "worker" }],
  worker: async ({ page }: { page: Page }, use) => use(await startEngine(page)),
});

/** Digests of the scenarios, run at once and in steps. */
function digests(scenarios: Native[]): { name: string; atOnce: string; inSteps: string }[] {
  const STEPS = 7;
  return scenarios.map(({ name, document, files, seed }) => {
    const load = () => engine.Lab.with_files(document, BigInt(seed), false, Object.keys(files), Object.values(files));
    const finish = (lab: InstanceType<typeof engine.Lab>): string => {
      lab.finish();
      const { digest } = lab;
      lab.free();
      return digest;
    };
    // `run` takes no files.
    const atOnce = Object.keys(files).length > 0 ? finish(load()) : JSON.parse(engine.run(document, BigInt(seed))).digest;
    const lab = load();
    for (let step = 1; step <= STEPS; step += 1) {
      lab.advance((lab.duration * step) / (STEPS + 1));
      lab.take_events(100);
    }
    return { name, atOnce, inSteps: finish(lab) };
  });
}

test("there are at least 30 scenarios, and some of every kind", ({ native }) => {
  expect(native.length).toBeGreaterThanOrEqual(30);
  expect(new Set(native.map(({ kind }) => kind))).toEqual(new Set(KINDS));
});

for (const kind of KINDS) {
  test(`digests: ${kind}`, async ({ native, worker }) => {
    const scenarios = native.filter((scenario) => scenario.kind === kind);
    const expected = scenarios.map(({ name, digest }) => ({ name, atOnce: digest, inSteps: digest }));
    expect(await worker.evaluate(digests, scenarios)).toEqual(expected);
  });
}

test("texts equal those of the extension module", async ({ worker }) => {
  const code =
    "import json; from bloatlab import _core as c;" +
    "print(json.dumps({'version': c.engine_version(), 'schema': c.schema(), 'algorithms': c.algorithms()," +
    "'metrics': c.metric_definitions(), 'tc': c.tc('\"fq_codel limit 5000\"', 'eth0')}))";
  const native = JSON.parse(python("-c", code));
  const texts: Record<string, unknown> = await worker.evaluate(() => ({
    version: engine.engine_version(),
    schema: engine.schema(),
    algorithms: engine.algorithms(),
    metrics: engine.metric_definitions(),
    tc: engine.tc('"fq_codel limit 5000"', "eth0"),
  }));
  expect(texts["version"]).toBe(native.version);
  // Only names are compared in the end: the texts would fill many screens.
  const different = Object.keys(texts).filter((name) => JSON.stringify(texts[name]) !== JSON.stringify(native[name]));
  expect(different).toEqual([]);
});

test("errors have one line", async ({ worker }) => {
  const messages = await worker.evaluate(() => {
    const wrong = [
      () => new engine.Lab("{", 1n, false),
      () => engine.normalise('{"duration": "1s"}'),
      () => engine.tc('"fifoo"', "eth0"),
      () => engine.normalise("[".repeat(1_000_000)),
    ];
    return wrong.map((call) => {
      try {
        call();
        return null;
      } catch (error) {
        return error instanceof Error ? error.message : null;
      }
    });
  });
  for (const message of messages) expect(message).toMatch(/^.+$/);
});
