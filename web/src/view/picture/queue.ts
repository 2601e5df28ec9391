// The queue: bars of packets in the flows' colours, and drops that fall out of them.
import { flowColour } from "../../model/colours";
import type { Lane } from "../../state/lane";
import type { Brush } from "./brush";
import { queued } from "./packets";
import { FALL, type Particles } from "./particles";
import { longest, placesOf, stripOf, type Strip } from "./strips";

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/** Disciplines that drop at their limit, so that the bar shows how full they are. Others drop long before it. */
const DROPS_AT_LIMIT = new Set(["fifo", "head_drop"]);

/** Pixels per packet. */
function slotOf(lane: Lane, strips: readonly Strip[], width: number): number {
  const { contents, queue } = lane;
  const [single] = contents.bands;
  if (contents.bands.length === 1 && single?.queues === 1) return width / capacity(DROPS_AT_LIMIT.has(queue.kind) ? queue.limitOf : null, contents.packets);
  return width / (20 * 2 ** Math.ceil(Math.log2(Math.max(1, longest(strips) / 20))));
}

/** Packets that the whole bar stands for: the limit, or what waits if there is no limit in packets or the limit is far away. */
function capacity(limit: Lane["queue"]["limitOf"], packets: number): number {
  const most = limit?.packets ?? (limit?.bytes ? limit.bytes / 1500 : (limit?.buffers ?? 0));
  if (most > 0 && most <= 2500) return most;
  return 50 * 2 ** Math.ceil(Math.log2(Math.max(1, packets / 45)));
}

export function drawQueue(brush: Brush, lane: Lane, strips: readonly Strip[], width: number): number {
  const slot = slotOf(lane, strips, width);
  for (const strip of strips) {
    brush.frame(strip.area);
    for (const { area, queues } of placesOf(strip)) {
      // The last row may hold several queues, one after the other.
      let right = area.x + area.width;
      for (const queue of queues) {
        queued(brush.context, lane.contents, queue, { ...area, width: Math.max(0, right - area.x) }, slot);
        right -= queue.packets * slot;
      }
    }
  }
  drawNames(brush, lane, strips);
  return slot;
}

/** The name of each band, at the end where packets arrive. */
function drawNames(brush: Brush, lane: Lane, strips: readonly Strip[]): void {
  const { context, inks } = brush;
  const { bands } = lane.contents;
  if (bands.length < 2) return;
  brush.font(12);
  context.textAlign = "left";
  bands.forEach(({ name }, band) => {
    const first = strips.find((strip) => strip.band === band);
    if (!first) return;
    const { x, y, width, height } = first.area;
    const packets = lane.contents.inBand(band);
    const text = brush.clipped(brush.narrow ? name : `${name}: ${packets}`, width - 12);
    const middle = Math.min(y + height / 2, y + 11);
    context.fillStyle = inks.well;
    context.globalAlpha = 0.85;
    context.fillRect(x + 2, middle - 8, context.measureText(text).width + 8, 16);
    context.globalAlpha = 1;
    context.fillStyle = inks.ink;
    context.fillText(text, x + 6, middle + 1);
  });
  brush.font(13);
}

/** Drops fall from where they waited: arrivals from the end of their queue, others from its head. */
export function drawDrops(brush: Brush, particles: Particles, strips: readonly Strip[], slot: number): void {
  if (still.matches) return;
  const { context } = brush;
  const wall = performance.now();
  for (const { flow, atTail, since, offset } of particles.falling) {
    const age = (wall - since) / FALL;
    const strip = stripOf(strips, flow);
    if (age > 1 || !strip) continue;
    context.globalAlpha = 1 - age;
    context.fillStyle = flowColour(flow);
    context.fillRect(leaves(strip, atTail, slot) + offset, strip.area.y + strip.area.height - 6 + age * 24, 7, 7);
    context.globalAlpha = 1;
  }
}

function leaves({ area, queues }: Strip, atTail: boolean, slot: number): number {
  const right = area.x + area.width;
  if (!atTail) return right - 36;
  const packets = queues.reduce((most, queue) => Math.max(most, queue.packets), 0);
  return Math.max(area.x, right - packets * slot - 10);
}
