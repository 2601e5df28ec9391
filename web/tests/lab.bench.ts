// What the built lab takes: bytes, time until it is seen, frames, memory of an hour.
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { chromium, test, type Browser } from "@playwright/test";
import base from "../playwright.config";
import type { Scenario } from "../src/model/document";
import { encode } from "../src/model/share";
import { clock, open } from "./lab";
import { Hour } from "./hour";
import { packedSize } from "./packed";

const SECONDS = 10;
const FAST: Scenario = {
  name: "one flow at 100 Mbit/s",
  duration: "120s",
  dumbbell: { rate: "100Mbit/s", rtt: "30ms", queue: { kind: "fifo", limit: "1000p" } },
  flows: [{ cca: "cubic" }],
  timeline: [],
};
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  args: { name?: string; frame_reporter?: { state: string; frame_sequence: number } };
}

/** The frames of the page's compositor in a trace of Chromium, as a text. */
function frames(trace: TraceEvent[]): string {
  const page = trace.find(({ name, args }) => name === "process_name" && args.name === "Renderer")?.pid;
  const reports = trace.filter(({ name, ph, pid }) => name === "PipelineReporter" && ph === "b" && pid === page);
  // A frame has two reports if the page draws later than its compositor.
  const numbers = (state: RegExp): number =>
    new Set(reports.flatMap(({ args: { frame_reporter: frame } }) => (frame && state.test(frame.state) ? [frame.frame_sequence] : []))).size;
  return `${numbers(/PRESENTED/)} of ${numbers(/./)} frames presented in ${SECONDS} s`;
}

/** Starts Chromium on these CPU cores, a list such as 0-3. */
async function launchOn(cores: string): Promise<Browser> {
  const pin = (list: string): unknown => execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", list, String(process.pid)]);
  pin(cores); // Chromium inherits the cores of the process that starts it.
  const browser = await chromium.launch(base.use?.launchOptions ?? {});
  pin(`0-${cpus().length - 1}`);
  return browser;
}

test("size", () => {
  console.log(`dist, gzipped: ${megabytes(packedSize())}`);
});

test("first contentful paint", async ({ browser }) => {
  const times: number[] = [];
  for (let repetition = 0; repetition < 5; repetition += 1) {
    const page = await browser.newPage();
    await open(page);
    times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN));
    await page.close();
  }
  console.log(`first contentful paint, nothing cached: ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
});

test("frames", async () => {
  const browser = await launchOn("0");
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, baseURL: base.use?.baseURL ?? "" });
  await open(page, `#${encode({ document: FAST, seed: 1, now: 0, lanes: [] })}`);
  const session = await browser.newBrowserCDPSession();
  /** Seconds: of the wall clock, of CPU time of all processes of Chromium, of simulated time. */
  const times = async (): Promise<[number, number, number]> => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return [performance.now() / 1000, processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0), await clock(page)];
  };
  const [wall, cpu, simulated] = await times();
  await browser.startTracing(page, { categories: ["benchmark", "cc", "devtools.timeline.frame", "__metadata"] });
  await page.waitForTimeout(SECONDS * 1000);
  const [wallAfter, cpuAfter, simulatedAfter] = await times();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const share = (seconds: number): string => (seconds / (wallAfter - wall)).toFixed(2);
  console.log(
    `one flow at 100 Mbit/s on one CPU core: ${frames(traceEvents)}; ` +
      `in a second ${share(cpuAfter - cpu)} s of CPU time and ${share(simulatedAfter - simulated)} s of simulated time`,
  );
  await browser.close();
});

test.use({ bypassCSP: true });
test("an hour", async ({ page }) => {
  const hour = await Hour.open(page);
  const before = await hour.memory();
  const began = performance.now();
  await hour.toTheEnd(600_000);
  const took = (performance.now() - began) / 1000;
  const after = await hour.memory();
  console.log(`an hour of the first screen: ${took.toFixed(1)} s; engine ${megabytes(before.engine)}, then ${megabytes(after.engine)}; page ${megabytes(before.page)}, then ${megabytes(after.page)}`);
});
