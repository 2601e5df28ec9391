// The link: packets between transmitter and receiver, at the place that their age gives them.
import { rateText, spaced } from "../../model/units";
import type { Lane } from "../../state/lane";
import type { Brush } from "./brush";
import { block } from "./packets";
import type { Particles } from "./particles";

export function drawLink(brush: Brush, lane: Lane, particles: Particles, from: number, to: number, y: number): void {
  const { context, inks, narrow } = brush;
  const delay = (lane.pictured?.delay_ns ?? 0) / 1e9;
  context.strokeStyle = inks.ink;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.lineTo(to - 6, y - 5);
  context.moveTo(to, y);
  context.lineTo(to - 6, y + 5);
  context.stroke();
  const bits = lane.rate;
  context.fillStyle = inks.ink;
  context.textAlign = "center";
  context.fillText(narrow ? rateText(bits).replace("bit/s", "") : spaced(rateText(bits)), (from + to) / 2, y - 20);
  context.textAlign = "left";
  if (delay === 0) return;
  for (const { flow, left, marked } of particles.travelling) {
    const x = from + ((to - from - 8) * (lane.now - left)) / delay;
    if (marked) block(context, flow, true, { x: x - 1, y: y - 8, width: 5, height: 16 });
    else block(context, flow, false, { x, y: y - 5, width: 3, height: 10 });
  }
}
