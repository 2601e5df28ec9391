// Which flows the picture shows.
import type { Lane } from "../../state/lane";

const MOST_ROWS = 8;

export interface ShownFlows {
  /** Indices of flows that have a row. */
  rows: number[];
  /** Number of flows for which there is no space. */
  more: number;
}

/** The first eight of the flows that have started and not stopped. A choice by what they send would change from frame to frame. */
export function shownFlows(lane: Lane): ShownFlows {
  const alive = lane.flows.map((_, index) => index).filter((index) => {
    const flow = lane.flows[index];
    return flow && flow.start_ns <= lane.now * 1e9 && !hasStopped(lane, index);
  });
  return { rows: alive.slice(0, MOST_ROWS), more: Math.max(0, alive.length - MOST_ROWS) };
}

function hasStopped(lane: Lane, index: number): boolean {
  const name = lane.flows[index]?.name;
  const stop = lane.plan.timeline.flatMap(({ effects }) => effects).find((effect) => effect.kind === "stop" && effect.name === name);
  return stop?.kind === "stop" && stop.stop_ns <= lane.now * 1e9 && !lane.contents.flows.has(index);
}
