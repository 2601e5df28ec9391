// What each strip chart shows, for one run or for several that are compared.
import { laneColour, laneDash, flowColour, ink } from "../model/colours";
import type { History } from "../model/history";
import type { Lane } from "../state/lane";
import { laneName } from "./names";

export interface Line {
  key: string;
  label: string;
  colour: string;
  dash: number[];
  history: History;
  /** Key of the history. */
  track: string;
  /** Added to each value: the base RTT of a flow whose sojourn time is known. */
  plus: number;
  fill: boolean;
}
export interface ChartSpec {
  id: string;
  title: string;
  unit: string;
  stacked: boolean;
  lines: Line[];
}

/** More lines than this cannot be told apart. */
const MOST_LINES = 8;

const line = (lane: Lane, track: string, label: string, colour: string, more: Partial<Line> = {}): Line => ({
  key: `${label}/${track}`,
  label,
  colour,
  dash: [],
  history: lane.history,
  track,
  plus: 0,
  fill: false,
  ...more,
});

export function charts(lanes: readonly Lane[]): ChartSpec[] {
  const [only] = lanes;
  if (!only) return [];
  const specs = lanes.length === 1 ? ofOne(only) : ofSeveral(lanes);
  return specs.filter(({ lines }) => lines.length > 0);
}

function ofOne(lane: Lane): ChartSpec[] {
  const flows = lane.flows.map((flow, index) => ({ flow, index })).slice(0, MOST_LINES);
  const delays = flows.flatMap(({ flow, index }) => {
    if (flow.traffic === "ping") return [line(lane, `rtt:${flow.name}`, flow.name, flowColour(index))];
    if (flow.traffic === "cbr") return [line(lane, `wait:${index}`, flow.name, flowColour(index), { plus: flow.base_rtt_ns / 1e6 })];
    return [];
  });
  const data = flows.filter(({ flow }) => flow.traffic !== "ping");
  const pages = flows.filter(({ flow }) => flow.traffic === "fetch");
  const tcp = flows.filter(({ index }) => lane.history.has(`cwnd:${index}`));
  return [
    { id: "queue", title: "Queue delay", unit: "ms", stacked: false, lines: [line(lane, "queue", lane.reverse ? "download" : "sojourn time", ink("accent")), ...(lane.reverse ? [line(lane, "reverse queue", "upload", ink("event"), { dash: [6, 3] })] : [])] },
    { id: "rtt", title: "RTT of call and ping", unit: "ms", stacked: false, lines: delays },
    { id: "page", title: "Time to fetch a page", unit: "ms", stacked: false, lines: pages.map(({ flow, index }) => line(lane, `rtt:${flow.name}`, flow.name, flowColour(index))) },
    {
      id: "throughput",
      title: "Throughput",
      unit: "Mbit/s",
      stacked: true,
      lines: data.map(({ flow, index }) => line(lane, `throughput:${index}`, flow.name, flowColour(index), { fill: true })),
    },
    { id: "cwnd", title: "Congestion window", unit: "segments", stacked: false, lines: tcp.map(({ flow, index }) => line(lane, `cwnd:${index}`, flow.name, flowColour(index))) },
  ];
}

function ofSeveral(lanes: readonly Lane[]): ChartSpec[] {
  const each = (track: (lane: Lane) => { track: string; plus?: number } | null): Line[] =>
    lanes.flatMap((lane, index) => {
      const found = track(lane);
      return found ? [line(lane, found.track, laneName(index), laneColour(index), { dash: laneDash(index), plus: found.plus ?? 0, key: `${index}/${found.track}` })] : [];
    });
  const first = (lane: Lane, traffic: string): number => lane.flows.findIndex((flow) => flow.traffic === traffic);
  const ping = lanes[0]?.flows.find((flow) => flow.traffic === "ping");
  const page = lanes[0]?.flows.find((flow) => flow.traffic === "fetch");
  const bulk = lanes[0]?.flows.find((flow) => flow.traffic === "greedy");
  return [
    { id: "queue", title: "Queue delay", unit: "ms", stacked: false, lines: each(() => ({ track: "queue" })) },
    { id: "rtt", title: `RTT of ${ping?.name ?? "the call"}`, unit: "ms", stacked: false, lines: each((lane) => rttTrack(lane, ping?.name)) },
    { id: "page", title: "Time to fetch a page", unit: "ms", stacked: false, lines: page ? each(() => ({ track: `rtt:${page.name}` })) : [] },
    { id: "throughput", title: `Throughput of ${bulk?.name ?? "the flows"}`, unit: "Mbit/s", stacked: false, lines: bulk ? each((lane) => ({ track: `throughput:${first(lane, "greedy")}` })) : [] },
    { id: "cwnd", title: `Congestion window of ${bulk?.name ?? ""}`, unit: "segments", stacked: false, lines: bulk ? each((lane) => ({ track: `cwnd:${first(lane, "greedy")}` })) : [] },
  ];
}

function rttTrack(lane: Lane, ping: string | undefined): { track: string; plus?: number } | null {
  if (ping !== undefined) return { track: `rtt:${ping}` };
  const call = lane.flows.findIndex((flow) => flow.traffic === "cbr");
  return call < 0 ? null : { track: `wait:${call}`, plus: (lane.flows[call]?.base_rtt_ns ?? 0) / 1e6 };
}

/** Columns for uPlot: times, then a column per line. Stacked lines are sums from the last line up. */
export function columns(spec: ChartSpec, from: number, to: number): (number | null | undefined)[][] {
  const base = spec.lines.reduce<History | null>((longest, { history }) => (longest && longest.bins * longest.bin >= history.bins * history.bin ? longest : history), null);
  if (!base) return [[]];
  const times = base.times(from, to);
  if (!spec.stacked) return [times, ...spec.lines.map(({ history, track, plus }) => shifted(history.values(track, from, to, false), plus))];
  const sums = new Array<number>(times.length).fill(0);
  const stacks: number[][] = [];
  for (const { history, track } of [...spec.lines].reverse()) {
    history.means(track, from, to).forEach((value, index) => {
      sums[index] = (sums[index] ?? 0) + value;
    });
    stacks.unshift([...sums]);
  }
  return [times, ...stacks];
}

function shifted(values: (number | null | undefined)[], plus: number): (number | null | undefined)[] {
  return plus === 0 ? values : values.map((value) => (typeof value === "number" ? value + plus : value));
}
