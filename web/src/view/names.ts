import { kind } from "../model/document";
import { documentOf, overrides } from "../state/lab";

/** Name of a lane: its queue and, if lanes differ in it, its congestion control. */
export function laneName(index: number): string {
  const document = documentOf(index);
  const place = (document.cell ?? document.dumbbell) as { queue?: unknown } | undefined;
  let queue: unknown = place?.queue ?? "fifo";
  for (const entry of document.timeline) if (entry.key === "dumbbell.queue") queue = entry.value;
  const parts = [kind(queue, "fifo")];
  if (overrides.value.some(({ cca }) => cca !== undefined)) {
    const flow = document.flows.find((each) => each.cca !== undefined);
    parts.push(kind(flow?.cca, "cubic"));
  }
  return parts.join(", ");
}
