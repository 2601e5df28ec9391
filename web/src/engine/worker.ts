// Runs the engine. One worker steps all lanes to the same time, so that they can be compared at every instant.
import { engineModule } from "#place/worker";
import init, * as engine from "./pkg/bloatlab_web.js";
import { parquet } from "./parquet";
import { pictured } from "./plan";
import { SERIES, type Band, type Change, type Description, type LaneFrame, type Plan, type Reply, type Request, type SeriesName } from "./types";

/** Events per frame. More would not be seen, and the picture then shows densities. */
const MOST_EVENTS = 6000;
/** Longest computation before the page is told how far the run is, in ms. */
const PATIENCE = 30;
/** Shortest time between two frames, in ms. The page answers a frame when it has drawn it, so there are at most 60 in a second. */
const FRAME_MS = 12;

interface Lane {
  lane: number;
  run: number;
  lab: engine.Lab;
  plan: Plan;
  /** Index of the link that the picture shows. */
  link: number;
  /** Bands of its queue, and how many entries of the timeline had happened when they were read: only these change the queue. */
  bands: Band[];
  happened: number;
  duration: number;
  ended: boolean;
}

const lanes = new Map<number, Lane>();
let playing = false;
let speed = 1;
/** Simulated time that the clock asks for. */
let target = 0;
let clock = performance.now();
let lastFrame = 0;
/** The page has drawn the last frame. Without this, frames would pile up in front of a slow page. */
let drawn = true;
/** The lanes have moved, or are new, since the last frame. */
let unsent = false;
/** Simulated seconds per ms of computation, measured. */
let pace = 0.05;

const send = (reply: Reply, transfer: Transferable[] = []): void => self.postMessage(reply, { transfer });
/** How the message of a panic begins (crates/web/src/exports.rs). */
const PANIC = "the engine failed: ";
const line = (error: unknown): string => (error instanceof Error ? error.message : String(error)).replace(PANIC, "").split("\n")[0] ?? "";
/** After a panic, a trap or a full stack, no call of the engine can be trusted. A refusal is a plain Error. */
const isPanic = (error: unknown): boolean => !(error instanceof Error) || error.constructor !== Error || error.message.startsWith(PANIC);

function describe(lab: engine.Lab): Description {
  const layout = Object.fromEntries(
    SERIES.map((name) => [name, { columns: lab.columns(name), entities: lab.entities(name) }]),
  ) as Description["layout"];
  return { document: lab.document(), plan: JSON.parse(lab.plan()), duration: lab.duration, now: lab.now, layout };
}

function open(request: Extract<Request, { type: "open" }>): void {
  close(request.lane);
  const { lane, run } = request;
  let lab: engine.Lab;
  try {
    lab = new engine.Lab(request.document, BigInt(request.seed), false);
  } catch (error) {
    if (isPanic(error)) throw error;
    send({ type: "refused", lane, run, message: line(error) });
    return;
  }
  const description = describe(lab);
  const { plan } = description;
  lanes.set(lane, { lane, run, lab, plan, link: pictured(plan), bands: [], happened: -1, duration: lab.duration, ended: false });
  target = lanes.size === 1 ? request.to : Math.max(target, request.to);
  unsent = true;
  send({ type: "opened", lane, run, description });
  wake();
}

function close(lane: number): void {
  lanes.get(lane)?.lab.free();
  lanes.delete(lane);
}

function frameOf(entry: Lane): LaneFrame {
  const { lab } = entry;
  const rows = Object.fromEntries(SERIES.map((name) => [name, lab.take_rows(name)])) as Record<SeriesName, Float64Array>;
  const events = lab.take_events(MOST_EVENTS);
  const contents = lab.contents(entry.link);
  const happened = entry.plan.timeline.filter(({ at_ns }) => at_ns <= lab.now * 1e9).length;
  if (happened !== entry.happened) Object.assign(entry, { happened, bands: JSON.parse(lab.bands(entry.link)) });
  return { lane: entry.lane, run: entry.run, now: lab.now, rows, contents, bands: entry.bands, events };
}

function sendFrames(slow: boolean): void {
  const frames = [...lanes.values()].filter((entry) => !entry.ended).map(frameOf);
  const buffers = frames.flatMap((frame) => [
    ...SERIES.map((name) => frame.rows[name].buffer),
    frame.contents.buffer,
    frame.events.buffer,
  ]);
  drawn = false;
  unsent = false;
  lastFrame = performance.now();
  send({ type: "frame", frames, slow }, buffers as ArrayBuffer[]);
}

function end(entry: Lane): void {
  entry.ended = true;
  send({ type: "ended", lane: entry.lane, run: entry.run, outcome: JSON.parse(entry.lab.finish()) });
}

/** Advances every lane towards the target for at most `PATIENCE`. Returns whether all got there. */
function step(): boolean {
  const from = performance.now();
  for (;;) {
    const behind = [...lanes.values()].filter((entry) => !entry.ended && entry.lab.now < Math.min(target, entry.duration));
    if (behind.length === 0) return true;
    const now = Math.min(...behind.map((entry) => entry.lab.now));
    const to = Math.min(target, now + Math.max(0.0005, pace * 5));
    const started = performance.now();
    unsent = true;
    for (const entry of behind) {
      try {
        entry.lab.advance(Math.min(to, entry.duration));
      } catch (error) {
        if (isPanic(error)) throw error;
        entry.ended = true;
        send({ type: "stopped", lane: entry.lane, run: entry.run, message: line(error) });
      }
    }
    const took = Math.max(0.05, performance.now() - started);
    pace = Math.min(10, 0.7 * pace + 0.3 * ((to - now) / took));
    if (performance.now() - from > PATIENCE) return false;
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;
function wake(): void {
  timer ??= setTimeout(tick, 0);
}

function tick(): void {
  try {
    advance();
  } catch (error) {
    fail(error);
  }
}

function advance(): void {
  timer = undefined;
  const wall = performance.now();
  const running = [...lanes.values()].filter((entry) => !entry.ended);
  if (running.length === 0) return;
  const behindBefore = running.some((entry) => entry.lab.now < Math.min(target, entry.duration));
  // While the engine catches up, for example after a jump, the clock waits for it.
  if (playing && !behindBefore) target += ((wall - clock) / 1000) * speed;
  clock = wall;
  target = Math.min(target, Math.max(...running.map((entry) => entry.duration)));
  const reached = step();
  // A run that cannot keep up with its speed goes as fast as it can.
  if (playing && !reached && !behindBefore) target = Math.min(...running.map((entry) => entry.lab.now));
  if (unsent && drawn && performance.now() - lastFrame >= FRAME_MS) {
    sendFrames(!reached);
    for (const entry of running) if (!entry.ended && entry.lab.now >= entry.duration) end(entry);
  }
  const pending = running.some((entry) => !entry.ended && entry.lab.now < Math.min(target, entry.duration));
  // What the lanes have reached is sent even if nothing moves any more: the last frame of a run ends it.
  if (playing || pending || unsent) timer = setTimeout(tick, pending ? 0 : 4);
}

function apply(id: number, lane: number, changes: readonly Change[]): void {
  const entry = lanes.get(lane);
  if (!entry || entry.ended) throw new Error("the run has ended");
  // Only the engine knows the instant exactly at which a flow stops now.
  const present = `${Math.round(entry.lab.now * 1e9)}ns`;
  for (const change of changes) entry.lab.apply(JSON.stringify({ ...change, value: change.value ?? present }));
  const description = describe(entry.lab);
  entry.plan = description.plan;
  send({ type: "answer", id, value: null, description });
  sendFrames(false);
  // A run that had reached its end ends with the next frame.
  unsent = true;
  wake();
}

function exported(request: Extract<Request, { type: "export" }>): void {
  const lab = new engine.Lab(request.document, BigInt(request.seed), request.what === "pcap");
  try {
    lab.finish();
    const value = request.what === "pcap" ? lab.pcap() : request.what === "csv" ? lab.table_csv(request.table) : parquet(lab.table_columns(request.table));
    send({ type: "answer", id: request.id, value });
  } finally {
    lab.free();
  }
}

function answer(request: Request): void {
  switch (request.type) {
    case "open":
      return open(request);
    case "close":
      return close(request.lane);
    case "clock":
      if (request.playing && !playing) clock = performance.now();
      playing = request.playing;
      speed = request.speed;
      return wake();
    case "advance":
      target = request.to;
      return wake();
    case "apply":
      return apply(request.id, request.lane, request.changes);
    case "drawn":
      drawn = true;
      clearTimeout(timer);
      return tick();
    case "check":
      return send({ type: "answer", id: request.id, value: engine.normalise(request.document) });
    case "deliveries":
      return send({ type: "answer", id: request.id, value: Array.from(engine.deliveries(request.name, request.text)) });
    case "tc":
      return send({ type: "answer", id: request.id, value: engine.tc(request.queue, request.device) });
    case "export":
      return exported(request);
  }
}

self.onmessage = (event: MessageEvent<Request>): void => {
  const request = event.data;
  try {
    answer(request);
  } catch (error) {
    if (isPanic(error) || !("id" in request)) fail(error);
    else send({ type: "error", id: request.id, message: line(error) });
  }
};

function fail(error: unknown): void {
  clearTimeout(timer);
  lanes.clear();
  send({ type: "failed", message: line(error) });
}

async function start(): Promise<void> {
  try {
    await init({ module_or_path: engineModule() });
    send({
      type: "ready",
      algorithms: JSON.parse(engine.algorithms()),
      version: engine.engine_version(),
    });
  } catch (error) {
    fail(error);
  }
}

void start();
