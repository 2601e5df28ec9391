// Packets as rectangles. Marked packets are lighter, with a dark edge.
import type { Contents, HeldQueue } from "../../engine/contents";
import { flowColour, markedColour } from "../../model/colours";
import type { Area } from "./brush";

/** The same in light and dark mode, because it must stand out from a light colour. */
const EDGE = "#10151a";
/** Wide enough for a gap between packets, in pixels. */
const GAP_FROM = 4;

/** One packet, or several that look the same. */
export function block(context: CanvasRenderingContext2D, flow: number, marked: boolean, { x, y, width, height }: Area): void {
  if (!marked) {
    context.fillStyle = flowColour(flow);
    context.fillRect(x, y, width, height);
    return;
  }
  const side = width > 3 ? 1 : 0;
  const edge = height > 6 ? 2 : 1;
  context.fillStyle = EDGE;
  context.fillRect(x, y, width, height);
  context.fillStyle = markedColour(flow);
  context.fillRect(x + side, y + edge, width - 2 * side, height - 2 * edge);
}

/** The packets of a queue, from the right end of the area to the left, each `slot` pixels wide. */
export function queued(context: CanvasRenderingContext2D, contents: Contents, queue: HeldQueue, area: Area, slot: number): void {
  if (!contents.inOrder) {
    const length = Math.min(area.width, queue.packets * slot);
    const shares = new Shares();
    for (let run = queue.from; run < queue.to; run += 1) shares.add(contents.flow(run), contents.isMarked(run), contents.count(run));
    shares.draw(context, { ...area, x: area.x + area.width - length, width: length });
  } else if (slot >= 1) {
    inOrder(context, contents, queue, area, slot);
  } else {
    inColumns(context, contents, queue, area, slot);
  }
}

function inOrder(context: CanvasRenderingContext2D, contents: Contents, queue: HeldQueue, area: Area, slot: number): void {
  const place = { ...area };
  const gap = slot > GAP_FROM ? 1 : 0;
  const end = area.x + area.width;
  let packets = 0;
  for (let run = queue.from; run < queue.to && packets * slot < area.width; run += 1) {
    const [flow, marked] = [contents.flow(run), contents.isMarked(run)];
    // Without gaps, equal packets are one rectangle.
    const each = gap > 0 ? 1 : contents.count(run);
    for (let left = contents.count(run); left > 0; left -= each) {
      // Edges are at whole pixels; otherwise the ground would show between neighbours.
      const right = Math.round(end - packets * slot);
      packets += each;
      place.x = Math.max(area.x, Math.round(end - packets * slot));
      place.width = right - place.x - gap;
      if (place.width > 0) block(context, flow, marked, place);
    }
  }
}

/** Less than a pixel per packet: each column of a pixel shows the shares of its packets. */
function inColumns(context: CanvasRenderingContext2D, contents: Contents, queue: HeldQueue, area: Area, slot: number): void {
  const shares = new Shares();
  let [column, packets] = [0, 0];
  const flush = (): void => {
    column += 1;
    if (column <= area.width) shares.draw(context, { ...area, x: area.x + area.width - column, width: 1 });
    shares.clear();
  };
  for (let run = queue.from; run < queue.to; run += 1) {
    for (let left = contents.count(run); left > 0; ) {
      const taken = Math.min(left, Math.floor((column + 1) / slot) - packets);
      shares.add(contents.flow(run), contents.isMarked(run), taken);
      left -= taken;
      packets += taken;
      if (packets === Math.floor((column + 1) / slot)) flush();
    }
  }
  if (shares.packets > 0) flush();
}

/** Numbers of packets by flow and mark. */
class Shares {
  packets = 0;
  /** By flow: two times its index, plus one for marked packets. */
  private readonly counts = new Map<number, number>();

  add(flow: number, marked: boolean, packets: number): void {
    const key = 2 * flow + (marked ? 1 : 0);
    this.counts.set(key, (this.counts.get(key) ?? 0) + packets);
    this.packets += packets;
  }

  clear(): void {
    this.counts.clear();
    this.packets = 0;
  }

  /** Fills the area in proportion, from the bottom up in the order of the flows. */
  draw(context: CanvasRenderingContext2D, area: Area): void {
    let y = area.y + area.height;
    for (const [key, packets] of [...this.counts].sort((a, b) => a[0] - b[0])) {
      const height = (area.height * packets) / this.packets;
      y -= height;
      block(context, key >> 1, key % 2 === 1, { ...area, y, height });
    }
  }
}
