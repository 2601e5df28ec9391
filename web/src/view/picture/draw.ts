// Draws senders, queue, link and receivers on a canvas.
import type { Lane } from "../../state/lane";
import { Brush, isNarrow } from "./brush";
import { drawCaption } from "./caption";
import { shownFlows } from "./flows";
import { drawHosts } from "./hosts";
import { drawLink } from "./link";
import type { Particles } from "./particles";
import { drawDrops, drawQueue } from "./queue";
import type { Strips } from "./strips";

/** Height of a row of hosts. */
const ROW = 30;

export function pictureHeight(lane: Lane, strips: Strips, width: number): number {
  const needed = strips.height(lane, shownFlows(lane), ROW);
  return Math.round((isNarrow(width) ? 62 : 54) + Math.max(3 * ROW, needed));
}

export function draw(context: CanvasRenderingContext2D, width: number, height: number, lane: Lane, particles: Particles, seen: Strips): void {
  const brush = new Brush(context, width, height);
  const { narrow, side } = brush;
  const flows = shownFlows(lane);
  const area = { x: side + 26, y: 14, width: width - 2 * side - (narrow ? 74 : 150), height: height - 58 };
  const layout = seen.layout(lane, flows, area);
  drawHosts(brush, lane, flows, layout);
  // A picture that is very narrow, or that has left the page, has no place for packets.
  if (area.width <= 0) return;
  const slot = drawQueue(brush, lane, layout.strips, area.width);
  drawLink(brush, lane, particles, area.x + area.width + 8, width - side - 14, area.y + area.height / 2);
  drawDrops(brush, particles, layout.strips, slot);
  drawCaption(brush, lane, particles, area.x);
}
