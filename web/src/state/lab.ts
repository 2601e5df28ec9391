// State of the page: the lanes and their documents, the clock, and what the user did. Views read the signals and call the functions.
import { batch, computed, signal } from "@preact/signals";
import { Engine } from "../engine/client";
import type { Algorithms, LaneFrame, Reply } from "../engine/types";
import { copy, folded, get, isTcp, set, type Scenario } from "../model/document";
import { FIRST } from "../model/presets";
import { encode, type Override, type Shared } from "../model/share";
import { seconds, spaced, timeText } from "../model/units";
import { Lane } from "./lane";

export const algorithms = signal<Algorithms | null>(null);
export const version = signal("");
export const lanes = signal<readonly (Lane | null)[]>([null]);
/** Document of the first lane, with its timeline. */
export const document_ = signal<Scenario>(copy(FIRST));
export const overrides = signal<readonly Override[]>([]);
export const seed = signal(1);
export const playing = signal(true);
export const speed = signal(1);
export const now = signal(0);
/** Counts frames: what reads it is drawn again with each. */
export const frame = signal(0);
export const ended = signal(false);
/** The engine cannot keep up with the speed that was asked for. */
export const slow = signal(false);
/** One line for the user, whether it is an error, and what the user may do about it. */
export interface Notice {
  text: string;
  error: boolean;
  offer?: { text: string; take: () => void };
}
export const notice = signal<Notice | null>(null);
/** Why the engine stopped for good, and a link that repeats the run up to there if there is one. */
export const fatal = signal<{ text: string; link: string } | null>(null);
/** The part of the run that the charts show; null follows the present. */
export const view = signal<{ from: number; to: number } | null>(null);

interface Past {
  document: Scenario;
  label: string;
}
const past = signal<readonly Past[]>([]);
export const undoLabel = computed(() => past.value.at(-1)?.label ?? "");

/** How many entries of the timeline have happened. */
export const applied = computed(() => {
  const time = now.value;
  return document_.value.timeline.filter(({ at }) => seconds(at) <= time + 1e-9).length;
});
/** The network as it is now: the document after the changes of its timeline so far. */
export const current = computed(() => folded({ ...document_.value, timeline: document_.value.timeline.slice(0, applied.value) }));
export const duration = computed(() => seconds(document_.value.duration));

export const engine = new Engine(receive);
let runs = 0;
/** Numbers of the runs of the lanes. Reports of a run that has been replaced are ignored. */
let laneRuns: number[] = [];
let onFirst: (() => Shared | null) | null = null;

/** `initial` gives what a link holds, once the engine is there. */
export function start(initial: () => Shared | null): void {
  onFirst = initial;
}

function receive(reply: Exclude<Reply, { type: "answer" | "error" }>): void {
  switch (reply.type) {
    case "ready":
      batch(() => {
        algorithms.value = reply.algorithms;
        version.value = reply.version;
      });
      return first();
    case "failed":
      fatal.value = { text: `The engine stopped: ${reply.message}. Load the page again.`, link: linkToHere() };
      return;
    case "opened":
      if (laneRuns[reply.lane] !== reply.run) return;
      return setLane(reply.lane, new Lane(reply.description));
    case "refused":
      if (laneRuns[reply.lane] !== reply.run) return;
      return refuse(reply.lane, reply.message);
    case "stopped":
      notice.value = { text: `The run stopped: ${reply.message}`, error: true };
      return;
    case "frame":
      return take(reply.frames, reply.slow);
    case "ended":
      return finish(reply.lane, reply.run, reply.outcome);
  }
}

function first(): void {
  const shared = onFirst?.() ?? null;
  if (shared) return load(shared);
  open(0);
  clock();
}

/** Returns the fragment of a link to the present run. Empty before the first run, and if the link would be too long. */
function linkToHere(): string {
  if (algorithms.value === null) return "";
  try {
    return `#${encode(shared())}`;
  } catch {
    return "";
  }
}

export function setLane(index: number, lane: Lane | null): void {
  const next = [...lanes.value];
  next[index] = lane;
  lanes.value = next;
}

function refuse(lane: number, message: string): void {
  notice.value = { text: `The engine refuses this scenario: ${message}`, error: true };
  if (lane > 0) return removeLane(lane);
  void offerShorter({ ...shared(), now: 0 }, notice.value);
  const before = past.value.at(-1);
  if (!before) {
    // A link or a lesson that cannot run: the first screen takes its place.
    if (document_.value.name === FIRST.name) return;
    document_.value = copy(FIRST);
    return open(0);
  }
  undo(false);
}

/** Adds to a refusal the offer of a shorter run, if the engine accepts one: half as long, or half of that, and so on. */
export async function offerShorter(refused: Shared, refusal: Notice): Promise<void> {
  for (let length = seconds(refused.document.duration) / 2; length >= 1; length /= 2) {
    const document = { ...refused.document, duration: timeText(length) };
    try {
      await engine.check(JSON.stringify(document));
    } catch {
      continue;
    }
    const take = (): void => {
      notice.value = null;
      load({ ...refused, document });
    };
    if (notice.value === refusal) notice.value = { ...refusal, offer: { text: `Run ${spaced(document.duration)} of it`, take } };
    return;
  }
}

function take(frames: LaneFrame[], isSlow: boolean): void {
  batch(() => {
    for (const report of frames) {
      const lane = lanes.value[report.lane];
      if (lane && laneRuns[report.lane] === report.run) lane.take(report);
    }
    now.value = Math.max(0, ...lanes.value.map((lane) => lane?.now ?? 0));
    slow.value = isSlow && playing.value;
    frame.value += 1;
  });
  requestAnimationFrame(() => engine.tell({ type: "drawn" }));
}

function finish(index: number, run: number, outcome: Lane["outcome"]): void {
  const lane = lanes.value[index];
  if (!lane || laneRuns[index] !== run) return;
  lane.outcome = outcome;
  if (lanes.value.every((each) => each?.outcome)) {
    batch(() => {
      ended.value = true;
      setPlaying(false);
    });
  }
  frame.value += 1;
}

/** Document of a lane: that of the first, with what the lane has instead. */
export function documentOf(index: number): Scenario {
  const document = copy(document_.value);
  const override = overrides.value[index - 1];
  if (!override) return document;
  const place = document.cell ? "cell.queue" : "dumbbell.queue";
  if (override.queue !== undefined) {
    set(document, place, override.queue);
    document.timeline = document.timeline.filter(({ key }) => !key.startsWith(place));
  }
  if (override.cca !== undefined) for (const flow of document.flows) if (isTcp(flow)) flow.cca = copy(override.cca as string);
  return document;
}

/** Number of the present run of a lane. */
export const runOf = (lane: number): number | undefined => laneRuns[lane];

/** Starts the runs of all lanes again and lets them catch up to a time. */
export function open(to: number): void {
  const count = 1 + overrides.value.length;
  for (let index = count; index < laneRuns.length; index += 1) engine.tell({ type: "close", lane: index });
  laneRuns = [];
  batch(() => {
    lanes.value = new Array<null>(count).fill(null);
    ended.value = false;
    now.value = to;
  });
  for (let index = 0; index < count; index += 1) openLane(index, to);
}

function openLane(index: number, to: number): void {
  laneRuns[index] = runs += 1;
  engine.tell({ type: "open", lane: index, run: runs, document: JSON.stringify(documentOf(index)), seed: seed.value, to });
}

export function clock(): void {
  engine.tell({ type: "clock", playing: playing.value, speed: speed.value });
}

export function setPlaying(value: boolean): void {
  if (value && ended.value) return restart();
  playing.value = value;
  clock();
}

export function setSpeed(value: number): void {
  speed.value = value;
  clock();
}

/** Advances a paused run. */
export function step(length: number): void {
  setPlaying(false);
  engine.tell({ type: "advance", to: Math.min(duration.value, now.value + length) });
}

export function jumpToEnd(): void {
  engine.tell({ type: "advance", to: duration.value });
}

/** Starts the same run again, with the changes of its timeline. */
export function restart(): void {
  batch(() => {
    view.value = null;
    open(0);
    playing.value = true;
  });
  clock();
}

/** Replaces the whole scenario. */
export function load(shared: Shared): void {
  batch(() => {
    document_.value = copy(shared.document);
    seed.value = shared.seed;
    overrides.value = copy(shared.lanes);
    past.value = [];
    view.value = null;
    open(shared.now);
    // A run that was shared at an instant stops there, so that the reader sees what the sender saw.
    playing.value = shared.now === 0;
  });
  clock();
}

export function shared(): Shared {
  return { document: document_.value, seed: seed.value, now: now.value, lanes: [...overrides.value] };
}

/** Keeps a document for undo. */
export function remember(label: string, document = document_.value): void {
  past.value = [...past.value.slice(-99), { document: copy(document), label }];
}

/** Takes back the last change by running again without it. */
export function undo(announce = true): void {
  const before = past.value.at(-1);
  if (!before) return;
  batch(() => {
    past.value = past.value.slice(0, -1);
    document_.value = before.document;
    if (announce) notice.value = { text: `Undone: ${before.label}. The run was repeated up to here without it.`, error: false };
    open(Math.min(now.value, seconds(before.document.duration)));
  });
  clock();
}

/** Runs a changed document from the start. */
export function rerun(document: Scenario, label: string, text = ""): void {
  remember(label);
  batch(() => {
    document_.value = document;
    if (text) notice.value = { text, error: false };
    view.value = null;
    open(0);
    playing.value = true;
  });
  clock();
}

/** Path of the queue that the picture shows. */
export const queueKey = computed(() => (document_.value.cell ? "cell.queue" : "dumbbell.queue"));
export const queue = computed(() => get(current.value, queueKey.value) ?? { kind: "fifo", limit: "1000p" });

export function addLane(override: Override): void {
  if (overrides.value.length >= 2) return;
  overrides.value = [...overrides.value, override];
  open(now.value);
  clock();
}

export function setLaneOverride(lane: number, override: Override): void {
  overrides.value = overrides.value.map((each, index) => (index === lane - 1 ? override : each));
  open(now.value);
  clock();
}

export function removeLane(lane: number): void {
  overrides.value = overrides.value.filter((_, index) => index !== lane - 1);
  open(now.value);
  clock();
}

export const ask = {
  tc: (value: unknown): Promise<string[]> => engine.tc(JSON.stringify(value), "eth0"),
  export: (what: "csv" | "parquet" | "pcap", table = ""): Promise<string | Uint8Array> => engine.export(JSON.stringify(document_.value), seed.value, what, table),
};

/** Canvases take their colours when they are drawn, so everything is drawn again when the page is printed or becomes dark. */
export function followColours(): void {
  for (const query of ["print", "(prefers-color-scheme: dark)"]) window.matchMedia(query).addEventListener("change", () => (frame.value += 1));
}

/** A hidden page does not run. */
export function followVisibility(): void {
  document.addEventListener("visibilitychange", () => {
    engine.tell({ type: "clock", playing: playing.value && !document.hidden, speed: speed.value });
  });
}
