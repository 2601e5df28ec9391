// The bottleneck as it is. What moves is what the engine holds.
import { useEffect, useRef } from "preact/hooks";
import { frame, lanes } from "../state/lab";
import type { Lane } from "../state/lane";
import { laneName } from "./names";
import { draw, Particles, pictureHeight } from "./draw";
import { ms, rateText, short, spaced } from "../model/units";

export function Picture({ index }: { index: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const particles = useRef(new Particles());
  const lane = lanes.value[index];
  const tick = frame.value;
  useEffect(() => {
    const element = canvas.current;
    if (!element || !lane) return;
    particles.current.take(lane);
    paint(element, lane, particles.current);
    // Drops go on falling when the run stops.
    const later = setInterval(() => {
      if (particles.current.settle()) clearInterval(later);
      paint(element, lane, particles.current);
    }, 50);
    return () => clearInterval(later);
  }, [lane, tick]);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const repaint = new ResizeObserver(() => {
      const present = lanes.peek()[index];
      if (present) paint(element, present, particles.current);
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

function paint(element: HTMLCanvasElement, lane: Lane, particles: Particles): void {
  const width = element.parentElement?.clientWidth ?? 600;
  const height = pictureHeight(lane, width);
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
  draw(context, width, height, lane, particles);
}

/** What the picture says, for those who cannot see it. */
function description(lane: Lane): string {
  const rate = lane.history.last("rate", lane.now);
  const bits = Number.isFinite(rate) ? rate * 1e6 : (lane.pictured?.rate_bps ?? 0);
  const held = [...lane.backlog.flows].map(([flow, packets]) => `${packets} of ${lane.flows[flow]?.name ?? "another flow"}`).join(", ");
  return `Queue ${lane.queue.kind}: ${lane.backlog.packets} packets wait${held ? ` (${held})` : ""}, ${ms(lane.history.last("queue", lane.now))}. The link sends ${spaced(rateText(bits))}. ${short(lane.flows.length)} flows.`;
}
