// Divides the picture of the queue into strips: one per queue, or one per flow where each flow has its own queue. Strips of a band are together.
// Each host is beside the strip in which its packets wait.
import type { HeldQueue } from "../../engine/contents";
import type { Lane } from "../../state/lane";
import type { Area } from "./brush";
import type { ShownFlows } from "./flows";

/** Pixels between two bands. */
const GAP = 6;
/** Most queues of one flow that are drawn apart. */
const MOST_QUEUES = 6;
/** Height of a strip without a host, in rows of hosts. */
const EMPTY = 0.7;

export interface Strip {
  band: number;
  /** The flows whose hosts are beside it. */
  flows: number[];
  /** Whether the flows that have no row wait here, too. */
  takesOthers: boolean;
  area: Area;
  queues: HeldQueue[];
}

export interface Layout {
  strips: Strip[];
  /** Where the hosts of each flow are, from top to bottom. */
  rows: { flow: number; y: number }[];
  /** Where the number of the other flows is. */
  others: number;
}

/** Remembers in which band each flow has been, because a flow is often not in the queue. */
export class Strips {
  private bands = "";
  private run: unknown = null;
  private readonly seen = new Map<number, number>();

  take(lane: Lane): void {
    const { contents } = lane;
    const bands = JSON.stringify(contents.bands);
    if (this.run !== lane.history || this.bands !== bands) {
      this.seen.clear();
      [this.run, this.bands] = [lane.history, bands];
    }
    for (const queue of contents.queues) {
      for (let run = queue.from; run < queue.to; run += 1) this.seen.set(contents.flow(run), queue.band);
    }
  }

  /** The strips without their places, and the flows of which no packet has been seen in any band. */
  private divided(lane: Lane, { rows, more }: ShownFlows): { strips: Strip[]; unseen: number[] } {
    const { bands } = lane.contents;
    const isSingle = bands.length === 1;
    const strip = (band: number, flows: number[], takesOthers = false): Strip => ({ band, flows, takesOthers, queues: [], area: { x: 0, y: 0, width: 0, height: 0 } });
    const strips = bands.flatMap(({ queues }, band) => {
      const mine = rows.filter((flow) => isSingle || this.seen.get(flow) === band);
      if (queues === 1 || mine.length === 0) return [strip(band, mine, isSingle && more > 0)];
      const each = mine.map((flow) => strip(band, [flow]));
      return isSingle && more > 0 ? [...each, strip(band, [], true)] : each;
    });
    return { strips, unseen: isSingle ? [] : rows.filter((flow) => !this.seen.has(flow)) };
  }

  /** The height that strips and hosts need if a row of hosts has this height. */
  height(lane: Lane, flows: ShownFlows, row: number): number {
    return row * this.rows(lane, flows) + gaps(lane);
  }

  private rows(lane: Lane, flows: ShownFlows): number {
    const { strips, unseen } = this.divided(lane, flows);
    const beside = strips.reduce((sum, strip) => sum + weight(strip), 0);
    return beside + unseen.length + (flows.more > 0 && !strips.some(({ takesOthers }) => takesOthers) ? 1 : 0);
  }

  /** The strips and hosts with their places, and the packets in each strip. */
  layout(lane: Lane, flows: ShownFlows, area: Area): Layout {
    const { queues } = lane.contents;
    const { strips, unseen } = this.divided(lane, flows);
    const unit = (area.height - gaps(lane)) / Math.max(1, this.rows(lane, flows));
    const layout: Layout = { strips, rows: [], others: area.y + area.height - unit / 2 };
    let y = area.y;
    const host = (flow: number, height: number): void => {
      layout.rows.push({ flow, y: y + height / 2 });
      y += height;
    };
    strips.forEach((strip, position) => {
      if (position > 0 && strips[position - 1]?.band !== strip.band) y += GAP;
      const margin = strips.length > 1 ? 1 : 0;
      const height = unit * weight(strip);
      strip.area = { x: area.x, y: y + margin, width: area.width, height: Math.max(4, height - 2 * margin) };
      const bottom = y + height;
      for (const flow of strip.flows) host(flow, unit);
      y = bottom;
    });
    for (const flow of unseen) host(flow, unit);
    for (const queue of queues) {
      const band = strips.filter((strip) => strip.band === queue.band);
      (band.find((strip) => strip.flows.includes(queue.flow)) ?? band.at(-1))?.queues.push(queue);
    }
    return layout;
  }
}

/** Pixels that separate the bands. */
const gaps = (lane: Lane): number => GAP * Math.max(0, lane.contents.bands.length - 1);

function weight({ flows, takesOthers }: Strip): number {
  return Math.max(EMPTY, flows.length + (takesOthers ? 1 : 0));
}

/** The strip in which a flow waits. */
export function stripOf(strips: readonly Strip[], flow: number): Strip | undefined {
  return strips.find(({ flows }) => flows.includes(flow)) ?? strips.at(-1);
}

/** The places of the queues of a strip: one below the other. The last has all that are left. */
export function placesOf(strip: Strip): { area: Area; queues: HeldQueue[] }[] {
  const count = Math.min(MOST_QUEUES, strip.queues.length);
  const inner = { ...strip.area, y: strip.area.y + 2, height: strip.area.height - 4 };
  return Array.from({ length: count }, (_, position) => ({
    area: { ...inner, y: inner.y + (position * inner.height) / count, height: Math.max(2, inner.height / count - (count > 1 ? 1 : 0)) },
    queues: position === count - 1 ? strip.queues.slice(position) : strip.queues.slice(position, position + 1),
  }));
}

/** Packets in the longest row of queues. */
export function longest(strips: readonly Strip[]): number {
  const rows = strips.flatMap((strip) => placesOf(strip).map(({ queues }) => queues.reduce((sum, { packets }) => sum + packets, 0)));
  return Math.max(0, ...rows);
}
