import { linksOf, pictured, queueAt } from "./plan";
import { DEQUEUE, DROP, ENQUEUE, type Plan } from "./types";

/** Disciplines that keep all packets in one queue, in the order of their arrival. */
const SINGLE_QUEUE = new Set(["fifo", "infinite", "head_drop", "codel", "cobalt", "pie", "red", "blue", "choke", "gsp", "sfb", "rlc_codel_2022"]);
const MOST_PACKETS = 4000;

/**
 * Order of the packets in the pictured queue, rebuilt from the engine's events. The engine reports only how many packets of each flow wait, so the
 * order is given up as soon as it disagrees with these counts.
 */
export class QueueOrder {
  private readonly link: number;
  private queue: number[] = [];
  private known = false;

  constructor(private readonly plan: Plan) {
    this.link = pictured(plan);
  }

  /** Takes in what happened since the last call. Returns the order, or null if it is not known. */
  update(events: Float64Array, leftOut: number, backlog: Float64Array, now: number): Uint16Array | null {
    if (!SINGLE_QUEUE.has(queueAt(this.plan, linksOf(this.plan)[this.link], now).kind)) {
      this.known = false;
      return null;
    }
    if (leftOut > 0) this.known = false;
    if (this.known) this.replay(events);
    const counts = backlogOf(backlog, this.link);
    if (!this.known || !this.agrees(counts.flows)) {
      this.known = counts.packets === 0;
      this.queue = [];
    }
    if (!this.known || this.queue.length > MOST_PACKETS) return null;
    return Uint16Array.from(this.queue);
  }

  private replay(events: Float64Array): void {
    for (let at = 0; at + 4 < events.length; at += 5) {
      if (events[at + 2] !== this.link) continue;
      const kind = events[at + 1];
      const flow = events[at + 3] ?? 0;
      if (kind === ENQUEUE) this.queue.push(flow);
      else if (kind === DEQUEUE) this.remove(flow);
      else if (kind === DROP) this.remove(flow);
    }
  }

  private remove(flow: number): void {
    const at = this.queue.indexOf(flow);
    if (at === 0) this.queue.shift();
    else if (at > 0) this.queue.splice(at, 1);
  }

  private agrees(flows: Map<number, number>): boolean {
    const mine = new Map<number, number>();
    for (const flow of this.queue) mine.set(flow, (mine.get(flow) ?? 0) + 1);
    for (const [flow, packets] of flows) if ((mine.get(flow) ?? 0) !== packets) return false;
    return this.queue.length === [...flows.values()].reduce((sum, packets) => sum + packets, 0);
  }
}

export interface Backlog {
  packets: number;
  bytes: number;
  flows: Map<number, number>;
}

/** Backlog of one link, from the numbers of all links. */
export function backlogOf(numbers: Float64Array, link: number): Backlog {
  let at = 0;
  for (let index = 0; at + 2 < numbers.length; index += 1) {
    const count = numbers[at + 2] ?? 0;
    if (index === link) {
      const flows = new Map<number, number>();
      for (let pair = 0; pair < count; pair += 1) flows.set(numbers[at + 3 + 2 * pair] ?? 0, numbers[at + 4 + 2 * pair] ?? 0);
      return { packets: numbers[at] ?? 0, bytes: numbers[at + 1] ?? 0, flows };
    }
    at += 3 + 2 * count;
  }
  return { packets: 0, bytes: 0, flows: new Map() };
}
