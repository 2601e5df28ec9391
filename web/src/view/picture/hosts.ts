// Senders at the left with their congestion window, receivers at the right with their throughput.
import { flowColour } from "../../model/colours";
import { ms, short } from "../../model/units";
import type { Lane } from "../../state/lane";
import type { Brush } from "./brush";
import type { ShownFlows } from "./flows";
import type { Layout } from "./strips";

export function drawHosts(brush: Brush, lane: Lane, flows: ShownFlows, { rows, others }: Layout): void {
  const { context, inks } = brush;
  const most = Math.max(10, ...flows.rows.map((index) => lane.history.last(`cwnd:${index}`, lane.now) || 0));
  for (const { flow, y } of rows) {
    sender(brush, lane, flow, y, most);
    receiver(brush, lane, flow, y);
  }
  if (flows.more === 0) return;
  context.fillStyle = inks.quiet;
  context.textAlign = "left";
  context.fillText(brush.clipped(`${flows.more} more flows`, brush.side - 12), 11, others);
}

function sender(brush: Brush, lane: Lane, index: number, y: number, most: number): void {
  const { context, inks, narrow, side } = brush;
  const cwnd = lane.history.last(`cwnd:${index}`, lane.now);
  context.fillStyle = flowColour(index);
  context.fillRect(0, y - 10, 5, 20);
  context.fillStyle = inks.ink;
  context.textAlign = "left";
  context.fillText(brush.clipped(lane.flows[index]?.name ?? "", side - 12), 11, Number.isFinite(cwnd) ? y - 6 : y);
  connector(brush, lane, index, side + 2, side + 22, y);
  if (!Number.isFinite(cwnd)) return;
  context.fillStyle = flowColour(index);
  context.fillRect(11, y + 5, Math.max(1, ((side - (narrow ? 24 : 84)) * cwnd) / most), 5);
  if (narrow) return;
  context.fillStyle = inks.quiet;
  brush.font(11);
  context.fillText(`cwnd ${short(cwnd)}`, side - 68, y + 7);
  brush.font(13);
}

function receiver(brush: Brush, lane: Lane, index: number, y: number): void {
  const { context, inks, narrow, side, width } = brush;
  const rate = lane.history.last(`throughput:${index}`, lane.now);
  connector(brush, lane, index, width - side - 10, width - side + 6, y);
  context.fillStyle = inks.ink;
  const name = lane.flows[index]?.name ?? "";
  const text = isUpload(lane, index) ? "ACKs only" : Number.isFinite(rate) ? `${short(rate)} ${narrow ? "M" : "Mbit/s"}` : rttText(lane, name, narrow);
  context.fillText(brush.clipped(text, side - 14), width - side + 12, y);
}

/** The line between a host and the bottleneck; dashed if only ACKs take it. */
function connector({ context }: Brush, lane: Lane, index: number, from: number, to: number, y: number): void {
  context.strokeStyle = flowColour(index);
  context.lineWidth = 1.5;
  context.setLineDash(isUpload(lane, index) ? [3, 3] : []);
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.stroke();
  context.setLineDash([]);
}

const isUpload = (lane: Lane, index: number): boolean => !(lane.flows[index]?.forward.includes(lane.pictured?.name ?? "") ?? false);

function rttText(lane: Lane, name: string, narrow: boolean): string {
  const rtt = lane.history.last(`rtt:${name}`, lane.now);
  return Number.isFinite(rtt) ? `${narrow ? "" : "RTT "}${ms(rtt)}` : "";
}
