// Changes of the network while it runs. Each is an entry of the timeline at its instant.
import { batch } from "@preact/signals";
import type { Change } from "../engine/types";
import { copy, folded, isTcp, kind, set, type FlowTable, type Scenario } from "../model/document";
import { TRACED } from "../model/presets";
import type { Override } from "../model/share";
import { timeText } from "../model/units";
import { applied, clock, current, document_, ended, engine, lanes, notice, now, offerShorter, open, overrides, remember, rerun, runOf, setLane, shared } from "./lab";
import { Lane } from "./lane";

const FLOW = /^flows\[(\d+)\](\.stop)?$/;

/** A flow of the document, in the numbering of documents. */
interface KnownFlow {
  name: string;
  flow: FlowTable;
  stopped: boolean;
}

/** All flows that the document has had so far. */
export function allFlows(): KnownFlow[] {
  const document = document_.value;
  const flows = document.flows.map((flow, index) => ({ name: flow.name ?? `flow_${index + 1}`, flow, stopped: false }));
  for (const { key, value } of document.timeline.slice(0, applied.value)) {
    const match = FLOW.exec(key);
    const index = Number(match?.[1] ?? -1);
    if (!match) continue;
    const known = flows[index];
    if (match[2] && known) known.stopped = true;
    else if (!match[2]) flows[index] = { name: (value as FlowTable).name ?? `flow_${index + 1}`, flow: value as FlowTable, stopped: false };
  }
  return flows;
}

export function labelOf({ key, value }: Change): string {
  const flow = FLOW.exec(key);
  if (flow?.[2]) return `stop ${nameOf(Number(flow[1]))}`;
  if (flow) return `+ ${String((value as FlowTable)?.name ?? "flow")}`;
  const name = key.split(".").slice(1).join(" ") || key;
  return `${name} = ${typeof value === "object" ? kind(value, "…") : String(value)}`;
}

function nameOf(index: number): string {
  const added = document_.value.timeline.find(({ key }) => key === `flows[${index}]`)?.value as FlowTable | undefined;
  return String(document_.value.flows[index]?.name ?? added?.name ?? `flow ${index + 1}`);
}

let last: Promise<void> = Promise.resolve();

/** Does a change when those before it are done, because each rests on the document that they leave. */
function inTurn(work: () => Promise<void>): Promise<void> {
  const result = last.then(work);
  last = result.catch(() => undefined);
  return result;
}

/**
 * Changes a key: at once if the engine can, as a line of the timeline; otherwise the run starts again with it. Throws an Error with the engine's line
 * if the value is not valid.
 */
export function change(key: string, value: unknown, label?: string): Promise<void> {
  return inTurn(() => changeKey(key, value, label));
}

async function changeKey(key: string, given: unknown, label = labelOf({ key, value: given })): Promise<void> {
  // A name becomes a table, because the engine cannot set a parameter of a queue that is only a name.
  const value = typeof given === "string" && key.endsWith("queue") && !/\s/.test(given) ? { kind: given } : given;
  const document = copy(current.value);
  const added = /^flows\[(\d+)\]$/.exec(key);
  if (added) document.flows.push(value as FlowTable);
  else if (!key.endsWith(".stop")) set(document, key, value);
  if (value !== undefined && (await applyNow([{ key, value }], label))) return;
  if (key.endsWith(".stop")) {
    // The run has ended or cannot be changed: the flow is left out of the next one.
    document.flows = folded({ ...document_.value, timeline: [...document_.value.timeline, { at: timeText(now.value), key, value }] }).flows;
  }
  await startAgain(document, label);
}

async function startAgain(document: Scenario, label: string): Promise<void> {
  const why = ended.value ? "The run had ended, so it" : "This cannot change during a run, so it";
  await replace(document, label, `${why} started again at 0 s: ${label}.`);
}

/** The rate of the link follows a trace in the format of mahimahi, which becomes part of the document. Throws an Error with the line that is wrong. */
export function followTrace(name: string, text: string): Promise<void> {
  return inTurn(async () => {
    const rate = { kind: "mahimahi", deliveries: await engine.deliveries(name, text) };
    const { cell: _cell, ...rest } = copy(current.value);
    const document: Scenario = { dumbbell: copy(TRACED), ...rest, name };
    set(document, "dumbbell.vary.rate", rate);
    for (const flow of document.flows) delete flow["ue"];
    await replace(document, `trace ${name}`, `The rate follows ${name}. The run started again at 0 s.`);
  });
}

/** Runs another document from the start and says so. If the engine refuses it, the present run goes on. */
async function replace(document: Scenario, label: string, text: string): Promise<void> {
  try {
    await engine.check(JSON.stringify(document));
  } catch (error) {
    const refusal = { text: error instanceof Error ? error.message : String(error), error: true };
    notice.value = refusal;
    return offerShorter({ ...shared(), document, now: 0 }, refusal);
  }
  rerun(document, label, text);
}

/** Makes changes at the present instant, which are undone together. Returns whether the engine accepted them. */
async function applyNow(entries: readonly Change[], label: string): Promise<boolean> {
  if (ended.value || now.value === 0) return false;
  const before = copy(document_.value);
  const run = runOf(0);
  try {
    const description = await engine.apply(0, entries);
    // An undo, or another scenario, has come in between.
    if (runOf(0) !== run) return true;
    const { timeline } = JSON.parse(description.document) as Scenario;
    batch(() => {
      remember(label, before);
      // The engine knows the instant of the change exactly.
      document_.value = { ...before, timeline };
      setLane(0, new Lane(description, lanes.value[0]?.history));
    });
  } catch {
    // A later one was refused: the run is repeated up to here without the first.
    if (entries.length > 1) open(now.value);
    return false;
  }
  await Promise.all(overrides.value.map((override, index) => follow(index + 1, override, entries)));
  return true;
}

/** Other lanes take the same changes, except those that concern what they have instead. */
async function follow(lane: number, override: Override, entries: readonly Change[]): Promise<void> {
  const mine = entries.flatMap((entry) => {
    if (/^(dumbbell|cell)\.queue/.test(entry.key) && override.queue !== undefined) return [];
    const flow = entry.value as FlowTable;
    if (override.cca === undefined || !/^flows\[\d+\]$/.test(entry.key) || !isTcp(flow)) return [entry];
    return [{ key: entry.key, value: { ...flow, cca: override.cca } }];
  });
  if (mine.length === 0) return;
  const description = await engine.apply(lane, mine);
  setLane(lane, new Lane(description, lanes.value[lane]?.history));
}

/** A name that no flow has had yet: the given one, or with the next number behind it. */
function freeName(wanted: string, taken: Set<string>): string {
  const base = wanted.replace(/ \d+$/, "");
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base} ${number}`;
  taken.add(name);
  return name;
}

export function addFlow(base: string, flow: FlowTable): Promise<void> {
  return inTurn(() => {
    const all = allFlows();
    const name = freeName(base, new Set(all.map((each) => each.name)));
    const cell = document_.value.cell !== undefined;
    const value: FlowTable = { name, ...copy(flow), ...(cell ? { ue: 1 } : {}) };
    return changeKey(`flows[${all.length}]`, value, `+ ${name}`);
  });
}

/** By the name of a flow, that of the connection that took its place. */
const successors = new Map<string, string>();

/** Index in `allFlows` of a flow, or of the connection that took its place. Names, unlike indices, stay when the run starts again. */
function indexOf(name: string): number {
  const index = allFlows().findIndex((each) => each.name === name && !each.stopped);
  const successor = successors.get(name);
  if (index >= 0) return index;
  if (successor === undefined) throw new Error(`The flow ${name} has already stopped.`);
  return indexOf(successor);
}

export function removeFlow(name: string): Promise<void> {
  return inTurn(async () => changeKey(`flows[${indexOf(name)}].stop`, null, `stop ${name}`));
}

/**
 * Gives flows other settings, by their names. A connection chooses its algorithm and ECN when it opens, so each flow stops and a new connection takes
 * its place. Throws an Error with the engine's line if a setting is not valid.
 */
export function reconnect(settings: ReadonlyMap<string, Partial<FlowTable>>, label: string): Promise<void> {
  return inTurn(() => renew(settings, label));
}

async function renew(settings: ReadonlyMap<string, Partial<FlowTable>>, label: string): Promise<void> {
  const all = allFlows();
  const taken = new Set(all.map(({ name }) => name));
  const renewed = [...settings].map(([name, setting]) => {
    const index = indexOf(name);
    const { start: _start, stop: _stop, ...flow } = copy(all[index]?.flow ?? {});
    return { index, flow: { ...flow, ...setting } as FlowTable, name: freeName(all[index]?.name ?? "flow", taken) };
  });
  const entries = renewed.flatMap(({ index, flow, name }, place) => [
    { key: `flows[${all.length + place}]`, value: { ...flow, name } },
    { key: `flows[${index}].stop`, value: null },
  ]);
  if (await applyNow(entries, label)) {
    for (const { index, name } of renewed) {
      successors.delete(name);
      successors.set(all[index]?.name ?? "", name);
    }
    const names = renewed.map(({ name }) => name).join(", ");
    notice.value = { text: `${label}: at once, with ${renewed.length === 1 ? "a new connection" : "new connections"}, ${names}.`, error: false };
    return;
  }
  const document = copy(current.value);
  const alive = all.flatMap(({ stopped }, index) => (stopped ? [] : [index]));
  for (const { index, flow } of renewed) document.flows[alive.indexOf(index)] = flow;
  await startAgain(document, label);
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
