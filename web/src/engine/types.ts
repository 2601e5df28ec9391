// What the worker and the page tell each other. Numbers travel as typed arrays that are transferred, never as JSON.

export type SeriesName = "flows" | "links" | "probes";
export const SERIES: readonly SeriesName[] = ["flows", "links", "probes"];

export interface Layout {
  columns: string[];
  entities: string[];
}

export interface PlanLink {
  name: string;
  kind: "link";
  queue: { kind: string; [parameter: string]: unknown };
  limit?: { packets?: number; bytes?: number; buffers?: number } | null;
  rate_bps: number;
  rate_varies: boolean;
  delay_ns: number;
}
export interface PlanFlow {
  name: string;
  start_ns: number;
  stop_ns: number;
  base_rtt_ns: number;
  forward: string[];
  reverse: string[];
  traffic: string;
  cca: { kind: string; [parameter: string]: unknown };
}
export type PlanEffect =
  | { kind: "queue"; name: string; queue: PlanLink["queue"]; limit?: PlanLink["limit"] }
  | { kind: "start"; flow: PlanFlow }
  | { kind: "rate"; name: string; rate_bps: number }
  | { kind: "stop"; name: string; stop_ns: number };
export interface Plan {
  timeline: { at_ns: number; effects: PlanEffect[] }[];
  duration_ns: number;
  sample_interval_ns: number;
  boxes: (PlanLink | { name: string; kind: string; delay_ns?: number })[];
  flows: PlanFlow[];
}

/** Description of a run: sent when it opens and after each change. */
export interface Description {
  document: string;
  plan: Plan;
  duration: number;
  now: number;
  layout: Record<SeriesName, Layout>;
}

export interface Parameter {
  name: string;
  type: string;
  unit: string | null;
  default: unknown;
  range: string | null;
  description: string;
}
export interface Algorithm {
  kind: string;
  aliases: string[];
  summary: string;
  details: string;
  source: string;
  parameters: Parameter[];
}
export interface Algorithms {
  queues: Algorithm[];
  congestion_controls: Algorithm[];
}

export interface Change {
  key: string;
  /** Null stands for the present instant, as the end of a flow. */
  value: unknown;
}

/** Packets of one class inside a queue discipline, such as a tin of CAKE. */
export interface Band {
  /** Empty if the discipline has one band only. */
  name: string;
  /** Number of queues in the band: more than one if each flow has its own. */
  queues: number;
}

export interface LaneFrame {
  lane: number;
  /** Number of the run that this frame belongs to; frames of a run that has been replaced are ignored. */
  run: number;
  now: number;
  rows: Record<SeriesName, Float64Array>;
  /** What the pictured queue holds, as `Contents` reads it. */
  contents: Uint32Array;
  bands: Band[];
  /** Six numbers each: time, kind, link index, flow index, bytes, 1 if the packet carries CE. */
  events: Float64Array;
}

export interface Outcome {
  digest: string;
  metrics: Record<string, unknown>;
}

export type Request =
  | { type: "open"; lane: number; run: number; document: string; seed: number; to: number }
  | { type: "close"; lane: number }
  | { type: "clock"; playing: boolean; speed: number }
  | { type: "advance"; to: number }
  | { type: "apply"; id: number; lane: number; changes: readonly Change[] }
  | { type: "drawn" }
  | { type: "check"; id: number; document: string }
  | { type: "deliveries"; id: number; name: string; text: string }
  | { type: "tc"; id: number; queue: string; device: string }
  | { type: "export"; id: number; document: string; seed: number; what: "csv" | "parquet" | "pcap"; table: string };

export type Reply =
  | { type: "ready"; algorithms: Algorithms; version: string }
  | { type: "failed"; message: string }
  | { type: "opened"; lane: number; run: number; description: Description }
  | { type: "refused"; lane: number; run: number; message: string }
  | { type: "frame"; frames: LaneFrame[]; slow: boolean }
  | { type: "ended"; lane: number; run: number; outcome: Outcome }
  | { type: "stopped"; lane: number; run: number; message: string }
  | { type: "answer"; id: number; value: unknown; description?: Description }
  | { type: "error"; id: number; message: string };

export const ENQUEUE = 0;
export const DEQUEUE = 1;
export const DROP = 2;
export const MARK = 3;
export const DELIVERED = 4;
