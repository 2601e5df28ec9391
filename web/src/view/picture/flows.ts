// Which flows the picture shows.
import type { Lane } from "../../state/lane";

const MOST_ROWS = 8;

export interface ShownFlows {
  /** Indices of flows that have a row. */
  rows: number[];
  /** Number of flows for which there is no space. */
  more: number;
}

/** Flows that have started and not stopped: at most eight, those with most packets in the queue if there are more. */
export function shownFlows(lane: Lane): ShownFlows {
  const alive = lane.flows.map((_, index) => index).filter((index) => {
    const flow = lane.flows[index];
    return flow && flow.start_ns <= lane.now * 1e9 && !hasStopped(lane, index);
  });
  if (alive.length <= MOST_ROWS) return { rows: alive, more: 0 };
  const held = (index: number): number => lane.contents.flows.get(index) ?? 0;
  const rows = alive.sort((a, b) => held(b) - held(a)).slice(0, MOST_ROWS).sort((a, b) => a - b);
  return { rows, more: alive.length - MOST_ROWS };
}

function hasStopped(lane: Lane, index: number): boolean {
  const name = lane.flows[index]?.name;
  const stop = lane.plan.timeline.flatMap(({ effects }) => effects).find((effect) => effect.kind === "stop" && effect.name === name);
  return stop?.kind === "stop" && stop.stop_ns <= lane.now * 1e9 && !lane.contents.flows.has(index);
}
