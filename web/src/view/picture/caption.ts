// One line below the picture: backlog, sojourn time, drops, and marks with the look of a marked packet.
import { ms } from "../../model/units";
import type { Lane } from "../../state/lane";
import type { Brush } from "./brush";
import { block } from "./packets";
import type { Particles } from "./particles";

const SWATCH = 12;

const plural = (count: number, name: string): string => `${count} ${name}${count === 1 ? "" : "s"}`;

export function drawCaption(brush: Brush, lane: Lane, particles: Particles, left: number): void {
  const { context, inks, narrow, width } = brush;
  const y = brush.height - 16;
  const wait = lane.history.last("queue", lane.now);
  const parts = [`${plural(lane.contents.packets, "packet")}${narrow ? "" : " in the queue"}`];
  if (Number.isFinite(wait)) parts.push(ms(wait));
  const recent = narrow ? "/s" : " in the last second";
  if (particles.drops.length > 0) parts.push(`${plural(particles.drops.length, "drop")}${recent}`);
  const hasMarks = particles.marks.length > 0 || lane.contents.marked > 0;
  const marks = hasMarks ? `${plural(particles.marks.length, "mark")}${recent}` : "";
  const space = marks ? context.measureText(marks).width + SWATCH + 8 : 0;
  const text = brush.clipped(parts.join(", ") + (marks ? "," : ""), width - 20 - space);
  const length = context.measureText(text).width;
  const x = narrow ? Math.max(0, (width - length - space) / 2) : left;
  context.textAlign = "left";
  context.fillStyle = inks.ink;
  context.fillText(text, x, y);
  if (marks) {
    context.fillText(marks, x + length + SWATCH + 8, y);
    swatch(brush, lane, x + length + 6, y);
  }
  if (narrow) return;
  context.fillStyle = inks.quiet;
  context.fillText(`queue: ${lane.queue.kind}`, 0, y);
}

/** A marked packet, in the colour of a flow that has packets in the queue. */
function swatch({ context }: Brush, lane: Lane, x: number, y: number): void {
  const [flow] = lane.contents.flows.keys();
  block(context, flow ?? 0, true, { x, y: y - 7, width: SWATCH - 4, height: 14 });
}
