// Scenario documents as the lab uses them: only the keys that it reads have types.
import type { Change } from "../engine/types";

export type Table = { [key: string]: unknown };
export interface FlowTable extends Table {
  name?: string;
  cca?: string | Table;
  traffic?: string | Table;
  direction?: string;
  stop?: string;
  tcp?: Table;
}
export interface TimelineEntry extends Change {
  at: string;
}
export interface Scenario extends Table {
  name?: string;
  duration: string;
  dumbbell?: Table;
  cell?: Table;
  flows: FlowTable[];
  timeline: TimelineEntry[];
}

/** `flows[1].stop` as its steps. */
function steps(key: string): (string | number)[] {
  if (key.includes("__proto__")) return [];
  return key.split(/[.[\]]+/).filter((part) => part !== "").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Value of a key such as `dumbbell.queue.limit`; undefined if the document does not have it. */
export function get(document: Table, key: string): unknown {
  let value: unknown = document;
  for (const step of steps(key)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Sets a key in place. Undefined removes it. A queue or an algorithm that is only a name becomes a table if a parameter of it is set. */
export function set(document: Table, key: string, value: unknown): void {
  const path = steps(key);
  const last = path.pop();
  if (last === undefined) return;
  let place = document as Record<string | number, unknown>;
  for (const step of path) {
    const inner = Object.hasOwn(place, step) ? place[step] : undefined;
    if (typeof inner === "string") place[step] = { kind: inner };
    else if (typeof inner !== "object" || inner === null) place[step] = {};
    place = place[step] as Record<string | number, unknown>;
  }
  if (value === undefined) delete place[last];
  else place[last] = value;
}

export function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The document without a timeline that describes the network as it is after its changes. Flows that have stopped are left out. */
export function folded(document: Scenario): Scenario {
  const result = copy(document);
  result.timeline = [];
  const stopped = new Set<number>();
  for (const { key, value } of document.timeline) {
    const stop = /^flows\[(\d+)\]\.stop$/.exec(key);
    if (stop) stopped.add(Number(stop[1]));
    else set(result, key, copy(value));
  }
  result.flows = result.flows.filter((_, index) => !stopped.has(index));
  return result;
}

/** Kind of a queue, an algorithm or a traffic: it is a name, or a table with its `kind`. */
export function kind(value: unknown, otherwise: string): string {
  if (typeof value === "string") return value.trim().split(/\s/)[0] ?? otherwise;
  if (typeof value === "object" && value !== null) return String((value as Table)["kind"] ?? otherwise);
  return otherwise;
}

export function parameters(value: unknown): Table {
  return typeof value === "object" && value !== null ? (value as Table) : {};
}

/** Whether a flow is a TCP connection that an algorithm controls. */
export function isTcp(flow: FlowTable): boolean {
  const traffic = kind(flow.traffic, "greedy");
  if (traffic === "ping") return false;
  return !["cbr", "poisson", "on_off"].includes(traffic) || parameters(flow.traffic)["transport"] === "tcp";
}
