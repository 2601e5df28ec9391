// Strip charts with one time axis and one crosshair.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { ink } from "../model/colours";
import { seconds, short } from "../model/units";
import { labelOf } from "../state/changes";
import { document_, duration, frame, lanes, now, view } from "../state/lab";
import type { Lane } from "../state/lane";
import { charts, columns, type ChartSpec, type Line } from "./chartdata";

/** Seconds that the charts show while they follow the present. */
const LIVE = 30;
/** Simulated time under the crosshair; null if the pointer is elsewhere. */
export const crosshair = signal<number | null>(null);

export function window_(): { from: number; to: number } {
  if (view.value) return view.value;
  const to = Math.max(LIVE, now.value);
  return { from: to - LIVE, to };
}

export function Charts() {
  const open = lanes.value.filter((lane): lane is Lane => lane !== null);
  frame.value;
  // The set of lines changes rarely, the data with every frame.
  const specs = charts(open);
  return (
    <section class="charts" aria-label="Charts">
      <div class="chart-tools">
        <span class="hint">Scroll to zoom, drag to pan, double click for live.</span>
        <button type="button" onClick={() => zoom(0.5)} aria-label="Zoom in">+</button>
        <button type="button" onClick={() => zoom(2)} aria-label="Zoom out">−</button>
        <button type="button" onClick={() => (view.value = { from: 0, to: Math.max(1, now.value) })}>Whole run</button>
        <button type="button" onClick={() => (view.value = null)} disabled={view.value === null}>Live</button>
      </div>
      {specs.map((spec, index) => (
        <Chart key={spec.id} spec={spec} last={index === specs.length - 1} />
      ))}
    </section>
  );
}

function zoom(factor: number, at?: number): void {
  const { from, to } = window_();
  const centre = at ?? (view.value ? (from + to) / 2 : to);
  const length = Math.min(duration.value, Math.max(0.05, (to - from) * factor));
  const start = Math.max(0, centre - ((centre - from) / (to - from)) * length);
  view.value = { from: start, to: start + length };
}

function pan(by: number): void {
  const { from, to } = window_();
  const start = Math.max(0, Math.min(Math.max(0, duration.value - (to - from)), from + by));
  view.value = { from: start, to: start + (to - from) };
}

function Chart({ spec, last }: { spec: ChartSpec; last: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = spec.lines.map(({ key, colour }) => key + colour).join("|") + String(last) + spec.stacked;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const created = create(element, spec, last);
    plot.current = created;
    const resize = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: height(last) }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      created.destroy();
      plot.current = null;
    };
  }, [shape]);
  const { from, to } = window_();
  useEffect(() => {
    const present = plot.current;
    if (!present) return;
    present.batch(() => {
      present.setData(columns(spec, from, to) as uPlot.AlignedData, false);
      present.setScale("x", { min: from, max: to });
    });
  });
  return (
    <figure class="chart">
      <figcaption>
        {spec.title}, <span class="unit">{spec.unit}</span>
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
      <Readings spec={spec} from={from} to={Math.min(to, now.value)} />
    </figure>
  );
}

function Readings({ spec, from, to }: { spec: ChartSpec; from: number; to: number }) {
  const at = crosshair.value;
  // Percentiles need a sort, so they are computed at most twice a second.
  const slot = Math.floor(performance.now() / 500);
  const rows = useMemo(() => spec.lines.map((line) => ({ line, shares: line.history.percentiles(line.track, from, to, [0.5, 0.95, 0.99]) })), [slot, view.value, spec.lines.length]);
  return (
    <table class="readings">
      <thead>
        <tr>
          <th scope="col">{at === null ? "now" : `at ${short(at)} s`}</th>
          <th scope="col" class="number">value</th>
          <th scope="col" class="number">P50</th>
          <th scope="col" class="number">P95</th>
          <th scope="col" class="number">P99</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ line, shares }) => (
          <tr key={line.key}>
            <th scope="row">
              <Swatch line={line} />
              {line.label}
            </th>
            <td class="number">{short(line.history.last(line.track, at ?? now.value) + line.plus)}</td>
            {shares.map((share, index) => (
              <td key={index} class="number">{short(share + line.plus)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Swatch({ line }: { line: Line }) {
  return (
    <svg class="swatch" width="18" height="10" aria-hidden="true">
      <line x1="0" y1="5" x2="18" y2="5" stroke={line.colour} stroke-width={line.fill ? 9 : 3} stroke-dasharray={line.dash.join(" ")} />
    </svg>
  );
}

const height = (last: boolean): number => (last ? 132 : 112);

function create(element: HTMLDivElement, spec: ChartSpec, last: boolean): uPlot {
  const quiet = (): string => ink("quiet");
  const grid = { stroke: (): string => ink("grid"), width: 1 };
  const created = new uPlot(
    {
      width: Math.max(100, element.clientWidth),
      height: height(last),
      padding: [6, 18, last ? 0 : 4, 0],
      legend: { show: false },
      scales: { x: { time: false, auto: false }, y: { range: (_plot, _low, high) => [0, Math.max(spec.unit === "ms" ? 5 : 1, (high ?? 0) * 1.08)] } },
      axes: [
        { show: true, stroke: quiet, grid, ticks: grid, size: last ? 26 : 4, values: (_plot, marks) => (last ? marks.map((mark) => `${Number(mark.toFixed(3))} s`) : marks.map(() => "")) },
        { stroke: quiet, grid, ticks: grid, size: 46, space: 24, values: (_plot, marks) => marks.map((mark) => short(mark)) },
      ],
      cursor: { sync: { key: "lab", scales: ["x", null] }, drag: { x: false, y: false }, y: false, points: { size: 6 } },
      series: [
        {},
        ...spec.lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: line.colour,
          width: spec.stacked ? 1 : 1.6,
          dash: line.dash,
          ...(line.fill ? { fill: `${line.colour}99` } : {}),
          points: { show: spec.id === "page", size: 6, fill: line.colour },
          spanGaps: true,
        })),
      ],
      ...(spec.stacked && spec.lines.length > 1
        ? { bands: spec.lines.slice(1).map((_, index) => ({ series: [index + 1, index + 2] as [number, number] })) }
        : {}),
      hooks: {
        draw: [(plot) => marks(plot, spec)],
        setCursor: [(plot) => (crosshair.value = (plot.cursor.left ?? -1) < 0 ? null : plot.posToVal(plot.cursor.left ?? 0, "x"))],
      },
    },
    [[]],
    element,
  );
  listen(created);
  return created;
}

/** Changes of the timeline as lines through all charts, and the rate of the link in the chart of the throughput. */
function marks(plot: uPlot, spec: ChartSpec): void {
  const { ctx } = plot;
  const { left, top, width, height: inner } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, inner);
  ctx.clip();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  document_.peek().timeline.forEach((entry, index) => {
    const x = plot.valToPos(seconds(entry.at), "x", true);
    if (x < left - 300 || x > left + width) return;
    ctx.strokeStyle = ink("event");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + inner);
    ctx.stroke();
    ctx.setLineDash([]);
    if (spec.id !== "queue") return;
    ctx.fillStyle = ink("event");
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    ctx.fillText(labelOf(entry), x + 4, top + 2 + (index % 4) * 13 * devicePixelRatio);
  });
  ctx.restore();
}

function listen(plot: uPlot): void {
  const { over } = plot;
  over.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return pan((event.deltaX / over.clientWidth) * (window_().to - window_().from));
      zoom(event.deltaY > 0 ? 1.25 : 0.8, plot.posToVal(event.offsetX, "x"));
    },
    { passive: false },
  );
  let from: number | null = null;
  over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = event.clientX;
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    if (from === null || Math.abs(event.clientX - from) < 2) return;
    pan(((from - event.clientX) / over.clientWidth) * (window_().to - window_().from));
    from = event.clientX;
  });
  over.addEventListener("pointerup", () => (from = null));
  over.addEventListener("dblclick", () => (view.value = null));
}
