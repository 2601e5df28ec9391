// State of the page: the lanes and their documents, the clock, and what the user did. Views read the signals and call the functions.
import { batch, computed, signal } from "@preact/signals";
import { Engine } from "../engine/client";
import type { Algorithms, Change, LaneFrame, Reply } from "../engine/types";
import { copy, folded, get, isTcp, kind, set, type FlowTable, type Scenario } from "../model/document";
import { FIRST } from "../model/presets";
import type { Override, Shared } from "../model/share";
import { seconds, timeText } from "../model/units";
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
/** One line for the user, and whether it is an error. */
export const notice = signal<{ text: string; error: boolean } | null>(null);
export const fatal = signal("");
/** The part of the run that the charts show; null follows the present. */
export const view = signal<{ from: number; to: number } | null>(null);

interface Past {
  document: Scenario;
  label: string;
}
const past = signal<readonly Past[]>([]);
export const undoLabel = computed(() => past.value.at(-1)?.label ?? "");

/** How many entries of the timeline have happened. */
const applied = computed(() => {
  const time = now.value;
  return document_.value.timeline.filter(({ at }) => seconds(at) <= time + 1e-9).length;
});
/** The network as it is now: the document after the changes of its timeline so far. */
export const current = computed(() => folded({ ...document_.value, timeline: document_.value.timeline.slice(0, applied.value) }));
export const duration = computed(() => seconds(document_.value.duration));

const engine = new Engine(receive);
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
      fatal.value = `The engine stopped: ${reply.message}. Load the page again.`;
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

function setLane(index: number, lane: Lane | null): void {
  const next = [...lanes.value];
  next[index] = lane;
  lanes.value = next;
}

function refuse(lane: number, message: string): void {
  notice.value = { text: `The engine refuses this scenario: ${message}`, error: true };
  if (lane > 0) return removeLane(lane);
  const before = past.value.at(-1);
  if (!before) {
    // A link or a lesson that cannot run: the first screen takes its place.
    if (document_.value.name === FIRST.name) return;
    document_.value = copy(FIRST);
    return open(0);
  }
  undo(false);
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

/** Starts the runs of all lanes and lets them catch up to a time. */
function open(to: number): void {
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

function clock(): void {
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

function remember(label: string): void {
  past.value = [...past.value.slice(-99), { document: copy(document_.value), label }];
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

/** Removes one entry of the timeline and runs again up to now. */
export function removeChange(index: number): void {
  const document = copy(document_.value);
  const [entry] = document.timeline.splice(index, 1);
  if (!entry) return;
  remember(`remove ${labelOf(entry)}`);
  document_.value = document;
  open(now.value);
  clock();
}

export function labelOf({ key, value }: Change): string {
  const flow = /^flows\[(\d+)\](\.stop)?$/.exec(key);
  if (flow?.[2]) return `stop ${document_.value.flows[Number(flow[1])]?.name ?? addedName(Number(flow[1]))}`;
  if (flow) return `+ ${String((value as FlowTable)?.name ?? "flow")}`;
  const name = key.split(".").slice(1).join(" ") || key;
  return `${name} = ${typeof value === "object" ? kind(value, "…") : String(value)}`;
}

function addedName(index: number): string {
  const entry = document_.value.timeline.find(({ key }) => key === `flows[${index}]`);
  return String((entry?.value as FlowTable | undefined)?.name ?? `flow ${index + 1}`);
}

/**
 * Changes a key: at once if the engine can, as a line of the timeline; otherwise the run starts again with it. Throws an Error with the engine's line
 * if the value is not valid.
 */
export async function change(key: string, given: unknown, label = labelOf({ key, value: given })): Promise<void> {
  // A name becomes a table, because the engine cannot set a parameter of a queue that is only a name.
  const value = typeof given === "string" && key.endsWith("queue") && !/\s/.test(given) ? { kind: given } : given;
  const document = copy(current.value);
  const added = /^flows\[(\d+)\]$/.exec(key);
  if (added) document.flows.push(value as FlowTable);
  else if (!key.endsWith(".stop")) set(document, key, value);
  if (value !== undefined && !ended.value && now.value > 0 && (await appliedNow({ key, value }, label))) return;
  if (key.endsWith(".stop")) {
    // The run has ended or cannot be changed: the flow is left out of the next one.
    document.flows = folded({ ...document_.value, timeline: [...document_.value.timeline, { at: timeText(now.value), key, value }] }).flows;
  }
  await engine.check(JSON.stringify(document));
  const why = ended.value ? "The run had ended, so it" : "This cannot change during a run, so it";
  rerun(document, label, `${why} started again at 0 s: ${label}.`);
}

async function appliedNow(entry: Change, label: string): Promise<boolean> {
  const before = copy(document_.value);
  try {
    const description = await engine.apply(0, entry);
    const { timeline } = JSON.parse(description.document) as Scenario;
    batch(() => {
      past.value = [...past.value.slice(-99), { document: before, label }];
      // The engine knows the instant of the change exactly.
      document_.value = { ...before, timeline };
      setLane(0, new Lane(description, lanes.value[0]?.history));
    });
  } catch {
    return false;
  }
  await Promise.all(overrides.value.map((override, index) => follow(index + 1, override, entry)));
  return true;
}

/** Other lanes take the same change, unless it concerns what they have instead. */
async function follow(lane: number, override: Override, entry: Change): Promise<void> {
  if (/^(dumbbell|cell)\.queue/.test(entry.key) && override.queue !== undefined) return;
  const value = override.cca !== undefined && /^flows\[\d+\]$/.test(entry.key) && isTcp(entry.value as FlowTable) ? { ...(entry.value as FlowTable), cca: override.cca } : entry.value;
  const description = await engine.apply(lane, { key: entry.key, value });
  setLane(lane, new Lane(description, lanes.value[lane]?.history));
}

/** Adds a flow under a name that no flow has yet. */
export async function addFlow(base: string, flow: FlowTable): Promise<void> {
  const all = allFlows();
  const taken = new Set(all.map(({ name }) => name));
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base} ${number}`;
  const cell = document_.value.cell !== undefined;
  const value: FlowTable = { name, ...copy(flow), ...(cell ? { ue: 1 } : {}) };
  await change(`flows[${all.length}]`, value, `+ ${name}`);
}

/** All flows that the document has had so far, in the numbering of documents. */
export function allFlows(): { name: string; flow: FlowTable; stopped: boolean }[] {
  const document = document_.value;
  const flows = document.flows.map((flow, index) => ({ name: flow.name ?? `flow_${index + 1}`, flow, stopped: false }));
  for (const { key, value } of document.timeline.slice(0, applied.value)) {
    const match = /^flows\[(\d+)\](\.stop)?$/.exec(key);
    const index = Number(match?.[1] ?? -1);
    if (!match) continue;
    const known = flows[index];
    if (match[2] && known) known.stopped = true;
    else if (!match[2]) flows[index] = { name: (value as FlowTable).name ?? `flow_${index + 1}`, flow: value as FlowTable, stopped: false };
  }
  return flows;
}

export async function removeFlow(index: number): Promise<void> {
  await change(`flows[${index}].stop`, null, `stop ${allFlows()[index]?.name ?? ""}`);
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
  canonical: (value: Scenario): Promise<string> => engine.check(JSON.stringify(value)),
  export: (what: "csv" | "pcap", table: string): Promise<string | Uint8Array> => engine.export(JSON.stringify(document_.value), seed.value, what, table),
};

/** A hidden page does not run. */
export function followVisibility(): void {
  document.addEventListener("visibilitychange", () => {
    engine.tell({ type: "clock", playing: playing.value && !document.hidden, speed: speed.value });
  });
}
