// The bottleneck as it is. What moves is what the engine holds.
import { useEffect, useRef } from "preact/hooks";
import { frame, lanes } from "../state/lab";
import type { Lane } from "../state/lane";
import { ms, rateText, short, spaced } from "../model/units";
import { laneName } from "./names";
import { draw, pictureHeight } from "./picture/draw";
import { Particles } from "./picture/particles";
import { Strips } from "./picture/strips";

/** What a picture remembers from frame to frame. */
interface Memory {
  particles: Particles;
  strips: Strips;
}

export function Picture({ index }: { index: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const memory = useRef<Memory>({ particles: new Particles(), strips: new Strips() });
  const lane = lanes.value[index];
  const tick = frame.value;
  useEffect(() => {
    const element = canvas.current;
    if (!element || !lane) return;
    memory.current.particles.take(lane);
    memory.current.strips.take(lane);
    paint(element, lane, memory.current);
    // Drops go on falling when the run stops.
    const later = setInterval(() => {
      if (memory.current.particles.settle()) clearInterval(later);
      paint(element, lane, memory.current);
    }, 50);
    return () => clearInterval(later);
  }, [lane, tick]);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const repaint = new ResizeObserver(() => {
      const present = lanes.peek()[index];
      if (present) paint(element, present, memory.current);
    });
    repaint.observe(element);
    return () => repaint.disconnect();
  }, [index]);
  return (
    <figure class="picture">
      {lanes.value.length > 1 && <figcaption>{laneName(index)}</figcaption>}
      <canvas ref={canvas} role="img" aria-label={lane ? description(lane) : "The bottleneck"} />
    </figure>
  );
}

function paint(element: HTMLCanvasElement, lane: Lane, { particles, strips }: Memory): void {
  const width = element.parentElement?.clientWidth ?? 600;
  const height = pictureHeight(lane, strips, width);
  const scale = Math.min(2, window.devicePixelRatio || 1);
  if (element.width !== Math.round(width * scale) || element.height !== Math.round(height * scale)) {
    element.width = Math.round(width * scale);
    element.height = Math.round(height * scale);
    element.style.height = `${height}px`;
  }
  const context = element.getContext("2d");
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  draw(context, width, height, lane, particles, strips);
}

/** What the picture says, for those who cannot see it. */
function description(lane: Lane): string {
  const { contents } = lane;
  const held = contents.bands.length > 1 ? contents.bands.map((_, band) => bandText(lane, band)) : flowTexts(lane, 0);
  const marked = contents.marked > 0 ? `, ${contents.marked} of them marked` : "";
  const details = held.length > 0 ? ` (${held.join("; ")})` : "";
  return `Queue ${lane.queue.kind}: ${contents.packets} packets wait${marked}${details}, ${ms(lane.history.last("queue", lane.now))}. The link sends ${spaced(rateText(lane.rate))}. ${short(lane.flows.length)} flows.`;
}

/** A tin, class or queue that has a name. */
function bandText(lane: Lane, band: number): string {
  const flows = flowTexts(lane, band);
  const name = lane.contents.bands[band]?.name ?? "";
  return `${name}: ${flows.length > 0 ? flows.join(", ") : "no packets"}`;
}

function flowTexts(lane: Lane, band: number): string[] {
  const { contents } = lane;
  const packets = new Map<number, number>();
  for (const queue of contents.queues) {
    if (queue.band !== band) continue;
    for (let run = queue.from; run < queue.to; run += 1) packets.set(contents.flow(run), (packets.get(contents.flow(run)) ?? 0) + contents.count(run));
  }
  return [...packets].map(([flow, count]) => `${count} of ${lane.flows[flow]?.name ?? "another flow"}`);
}
