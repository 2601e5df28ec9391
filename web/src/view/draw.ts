// Draws senders, queue, link and receivers on a canvas.
import { DELIVERED, DEQUEUE, DROP, MARK } from "../engine/types";
import { flowColour, ink } from "../model/colours";
import { ms, rateText, short, spaced } from "../model/units";
import type { Lane } from "../state/lane";

/** Disciplines that keep a queue per flow. */
const FLOW_QUEUES = new Set(["fq_codel", "fq", "cake", "drr", "sfq", "fq_pie", "hhf"]);
const MOST_ROWS = 8;
/** Wall-clock ms that a drop takes to fall out of the picture. */
const FALL = 700;
const MOST_FALLING = 60;
const MOST_ON_LINK = 400;

interface Falling {
  flow: number;
  since: number;
  offset: number;
}
interface Travelling {
  flow: number;
  left: number;
  marked: boolean;
}

/** What has just happened: drops that fall, and packets that are on the link. */
export class Particles {
  falling: Falling[] = [];
  travelling: Travelling[] = [];
  /** Simulated times of marks and drops in the last second, with their flow. */
  marks: { time: number; flow: number }[] = [];
  drops: { time: number; flow: number }[] = [];
  private run: unknown = null;

  /** Forgets the drops that have fallen. Returns whether none is left. */
  settle(): boolean {
    const wall = performance.now();
    this.falling = this.falling.filter(({ since }) => wall - since < FALL);
    return this.falling.length === 0;
  }

  take(lane: Lane): void {
    if (this.run !== lane.history) {
      this.run = lane.history;
      this.falling = [];
      this.travelling = [];
      this.marks = [];
      this.drops = [];
    }
    const { events } = lane;
    lane.events = new Float64Array();
    const wall = performance.now();
    for (let at = 0; at + 4 < events.length; at += 5) {
      if (events[at + 2] !== lane.link && events[at + 1] !== DELIVERED) continue;
      const [time, kind, flow] = [events[at] ?? 0, events[at + 1], events[at + 3] ?? 0];
      if (kind === DROP) {
        this.drops.push({ time, flow });
        this.falling.push({ flow, since: wall, offset: (this.drops.length * 37) % 60 });
      } else if (kind === MARK) {
        this.marks.push({ time, flow });
      } else if (kind === DEQUEUE) {
        const marked = this.marks.at(-1)?.flow === flow && time - (this.marks.at(-1)?.time ?? -1) < 1e-6;
        this.travelling.push({ flow, left: time, marked });
      }
    }
    const delay = (lane.pictured?.delay_ns ?? 0) / 1e9;
    this.travelling = this.travelling.filter(({ left }) => lane.now - left < delay).slice(-MOST_ON_LINK);
    this.falling = this.falling.slice(-MOST_FALLING);
    this.settle();
    this.marks = this.marks.filter(({ time }) => lane.now - time < 1).slice(-2000);
    this.drops = this.drops.filter(({ time }) => lane.now - time < 1).slice(-2000);
  }
}

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/** Flows that the picture shows: those that have not stopped, at most eight, the busiest first if there are more. */
function shown(lane: Lane): number[] {
  const alive = lane.flows.map((_, index) => index).filter((index) => {
    const flow = lane.flows[index];
    return flow && flow.start_ns <= lane.now * 1e9 && !stopped(lane, index);
  });
  if (alive.length <= MOST_ROWS) return alive;
  const busy = new Map(alive.map((index) => [index, lane.backlog.flows.get(index) ?? 0]));
  return alive.sort((a, b) => (busy.get(b) ?? 0) - (busy.get(a) ?? 0)).slice(0, MOST_ROWS).sort((a, b) => a - b);
}

function stopped(lane: Lane, index: number): boolean {
  const name = lane.flows[index]?.name;
  const stop = lane.plan.timeline.flatMap(({ effects }) => effects).find((effect) => effect.kind === "stop" && effect.name === name);
  return stop?.kind === "stop" && stop.stop_ns <= lane.now * 1e9 && (lane.backlog.flows.get(index) ?? 0) === 0;
}

export function pictureHeight(lane: Lane, width: number): number {
  const rows = Math.max(3, shown(lane).length);
  return (width < 520 ? 62 : 54) + rows * 30;
}

export function draw(context: CanvasRenderingContext2D, width: number, height: number, lane: Lane, particles: Particles): void {
  const flows = shown(lane);
  const narrow = width < 520;
  const side = narrow ? 84 : 150;
  const queue = { x: side + 26, y: 14, width: width - 2 * side - (narrow ? 74 : 150), height: height - 58 };
  const link = { x: queue.x + queue.width + 8, y: queue.y + queue.height / 2, end: width - side - 14 };
  context.font = "13px system-ui, sans-serif";
  context.textBaseline = "middle";
  hosts(context, lane, flows, side, width, height, narrow);
  if (FLOW_QUEUES.has(lane.queue.kind)) flowQueues(context, lane, flows, queue);
  else if (lane.queue.kind === "dualpi2") flowQueues(context, lane, flows, queue);
  else singleQueue(context, lane, queue);
  onLink(context, lane, particles, link, narrow);
  drops(context, particles, queue);
  caption(context, lane, particles, queue, width, height, narrow);
}

function rowOf(position: number, count: number, height: number): number {
  return 14 + ((height - 58) * (position + 0.5)) / Math.max(1, count);
}

function hosts(context: CanvasRenderingContext2D, lane: Lane, flows: number[], side: number, width: number, height: number, narrow: boolean): void {
  const most = Math.max(10, ...flows.map((index) => lane.history.last(`cwnd:${index}`, lane.now) || 0));
  flows.forEach((index, position) => {
    const flow = lane.flows[index];
    if (!flow) return;
    const y = rowOf(position, flows.length, height);
    const up = !flow.forward.includes(lane.pictured?.name ?? "");
    const cwnd = lane.history.last(`cwnd:${index}`, lane.now);
    const rate = lane.history.last(`throughput:${index}`, lane.now);
    context.fillStyle = flowColour(index);
    context.fillRect(0, y - 10, 5, 20);
    context.fillStyle = ink("ink");
    context.textAlign = "left";
    context.fillText(clipped(context, flow.name, side - 12), 11, Number.isFinite(cwnd) ? y - 6 : y);
    if (Number.isFinite(cwnd)) {
      context.fillStyle = flowColour(index);
      context.fillRect(11, y + 5, Math.max(1, ((side - (narrow ? 24 : 84)) * cwnd) / most), 5);
      context.fillStyle = ink("quiet");
      context.font = "11px system-ui, sans-serif";
      if (!narrow) context.fillText(`cwnd ${short(cwnd)}`, side - 68, y + 7);
      context.font = "13px system-ui, sans-serif";
    }
    context.strokeStyle = flowColour(index);
    context.lineWidth = 1.5;
    context.setLineDash(up ? [3, 3] : []);
    context.beginPath();
    context.moveTo(side + 2, y);
    context.lineTo(side + 22, y);
    context.moveTo(width - side - 10, y);
    context.lineTo(width - side + 6, y);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = ink("ink");
    const text = up ? "ACKs only" : Number.isFinite(rate) ? `${short(rate)} ${narrow ? "M" : "Mbit/s"}` : rttText(lane, flow.name, narrow);
    context.fillText(clipped(context, text, side - 14), width - side + 12, y);
  });
}

function rttText(lane: Lane, name: string, narrow: boolean): string {
  const rtt = lane.history.last(`rtt:${name}`, lane.now);
  return Number.isFinite(rtt) ? `${narrow ? "" : "RTT "}${ms(rtt)}` : "";
}

function clipped(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

function frame(context: CanvasRenderingContext2D, { x, y, width, height }: Area): void {
  context.fillStyle = ink("well");
  context.fillRect(x, y, width, height);
  context.strokeStyle = ink("line");
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
}

/** Packets that the whole bar stands for: the limit, or what waits if there is no limit in packets or the limit is far away. */
function capacity(lane: Lane): number {
  const limit = lane.queue.limitOf;
  const packets = limit?.packets ?? (limit?.bytes ? limit.bytes / 1500 : (limit?.buffers ?? 0));
  if (packets > 0 && packets <= 2500) return packets;
  return 50 * 2 ** Math.ceil(Math.log2(Math.max(1, lane.backlog.packets / 45)));
}

function singleQueue(context: CanvasRenderingContext2D, lane: Lane, area: Area): void {
  frame(context, area);
  const total = capacity(lane);
  const slot = area.width / total;
  const right = area.x + area.width;
  if (lane.order) {
    inOrder(context, lane.order, area, slot);
    return;
  }
  // The order is not known: the flows' shares from the bottom up, over the length of the whole queue.
  const length = Math.min(area.width, lane.backlog.packets * slot);
  let y = area.y + area.height;
  for (const [flow, packets] of [...lane.backlog.flows].sort((a, b) => a[0] - b[0])) {
    const height = (area.height * packets) / Math.max(1, lane.backlog.packets);
    y -= height;
    context.fillStyle = flowColour(flow);
    context.fillRect(right - length, y, length, height);
  }
}

function inOrder(context: CanvasRenderingContext2D, order: Uint16Array, area: Area, slot: number): void {
  const right = area.x + area.width;
  const gap = slot > 4 ? 1 : 0;
  if (slot >= 1) {
    order.forEach((flow, index) => {
      context.fillStyle = flowColour(flow);
      context.fillRect(right - (index + 1) * slot, area.y + 2, Math.max(1, slot - gap), area.height - 4);
    });
    return;
  }
  // Less than a pixel per packet: each column shows the shares of its packets.
  const perColumn = Math.ceil(1 / slot);
  for (let column = 0; column * perColumn < order.length; column += 1) {
    const packets = order.subarray(column * perColumn, (column + 1) * perColumn);
    const counts = new Map<number, number>();
    for (const flow of packets) counts.set(flow, (counts.get(flow) ?? 0) + 1);
    let y = area.y + area.height - 2;
    for (const [flow, count] of [...counts].sort((a, b) => a[0] - b[0])) {
      const height = ((area.height - 4) * count) / packets.length;
      y -= height;
      context.fillStyle = flowColour(flow);
      context.fillRect(right - (column + 1) * perColumn * slot, y, perColumn * slot + 0.5, height);
    }
  }
}

function flowQueues(context: CanvasRenderingContext2D, lane: Lane, flows: number[], area: Area): void {
  const row = area.height / Math.max(1, flows.length);
  const most = Math.max(20, ...[...lane.backlog.flows.values()]);
  const total = 20 * 2 ** Math.ceil(Math.log2(most / 20));
  const slot = area.width / total;
  flows.forEach((flow, position) => {
    const place = { x: area.x, y: area.y + position * row + 2, width: area.width, height: Math.max(4, row - 4) };
    frame(context, place);
    const packets = lane.backlog.flows.get(flow) ?? 0;
    context.fillStyle = flowColour(flow);
    const right = area.x + area.width;
    if (slot < 3) context.fillRect(right - packets * slot, place.y + 2, packets * slot, place.height - 4);
    else for (let index = 0; index < packets; index += 1) context.fillRect(right - (index + 1) * slot, place.y + 2, slot - 1, place.height - 4);
  });
}

/** Packets between transmitter and receiver, at the place that their age gives them. */
function onLink(context: CanvasRenderingContext2D, lane: Lane, particles: Particles, link: { x: number; y: number; end: number }, narrow: boolean): void {
  const delay = (lane.pictured?.delay_ns ?? 0) / 1e9;
  context.strokeStyle = ink("ink");
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(link.x, link.y);
  context.lineTo(link.end, link.y);
  context.lineTo(link.end - 6, link.y - 5);
  context.moveTo(link.end, link.y);
  context.lineTo(link.end - 6, link.y + 5);
  context.stroke();
  const rate = lane.history.last("rate", lane.now);
  const bits = Number.isFinite(rate) ? rate * 1e6 : (lane.pictured?.rate_bps ?? 0);
  context.fillStyle = ink("ink");
  context.textAlign = "center";
  context.fillText(narrow ? rateText(bits).replace("bit/s", "") : spaced(rateText(bits)), (link.x + link.end) / 2, link.y - 20);
  context.textAlign = "left";
  if (delay === 0) return;
  for (const packet of particles.travelling) {
    const x = link.x + ((link.end - link.x - 6) * (lane.now - packet.left)) / delay;
    context.fillStyle = flowColour(packet.flow);
    context.fillRect(x, link.y - 5, 3, 10);
    if (!packet.marked) continue;
    context.fillStyle = ink("ink");
    context.fillRect(x, link.y - 8, 3, 3);
  }
}

function drops(context: CanvasRenderingContext2D, particles: Particles, area: Area): void {
  if (still.matches) return;
  const wall = performance.now();
  for (const { flow, since, offset } of particles.falling) {
    const age = (wall - since) / FALL;
    if (age > 1) continue;
    context.globalAlpha = 1 - age;
    context.fillStyle = flowColour(flow);
    context.fillRect(area.x + offset, area.y + area.height + age * 18, 7, 7);
    context.globalAlpha = 1;
  }
}

function caption(context: CanvasRenderingContext2D, lane: Lane, particles: Particles, area: Area, width: number, height: number, narrow: boolean): void {
  const { packets } = lane.backlog;
  const wait = lane.history.last("queue", lane.now);
  const parts = [`${packets} ${packets === 1 ? "packet" : "packets"} in the queue`];
  if (Number.isFinite(wait)) parts.push(ms(wait));
  if (particles.drops.length > 0) parts.push(`${particles.drops.length} ${particles.drops.length === 1 ? "drop" : "drops"} in the last second`);
  if (particles.marks.length > 0) parts.push(`${particles.marks.length} marks in the last second`);
  context.fillStyle = ink("ink");
  context.textAlign = narrow ? "center" : "left";
  context.fillText(clipped(context, parts.join(", "), width - 20), narrow ? width / 2 : area.x, height - 16);
  context.fillStyle = ink("quiet");
  context.textAlign = "left";
  if (!narrow) context.fillText(`queue: ${lane.queue.kind}`, 0, height - 16);
}
