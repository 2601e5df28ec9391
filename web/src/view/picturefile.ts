// The charts as a file: SVG drawn from the data, PNG from the canvases of the page.
import { ink } from "../model/colours";
import { seconds, short } from "../model/units";
import { labelOf } from "../state/changes";
import { document_, lanes, now } from "../state/lab";
import type { Lane } from "../state/lane";
import { charts, columns, type ChartSpec } from "./chartdata";
import { window_ } from "./Charts";

const WIDTH = 900;
const HEIGHT = 150;
const LEFT = 60;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[character] ?? "");

export function chartsAsSvg(): Promise<string> {
  const open = lanes.value.filter((lane): lane is Lane => lane !== null);
  const specs = charts(open);
  const { from, to } = window_();
  const parts = specs.map((spec, index) => strip(spec, from, Math.min(to, Math.max(now.value, from + 0.001)), 24 + index * (HEIGHT + 34)));
  const total = 24 + specs.length * (HEIGHT + 34) + 10;
  return Promise.resolve(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${total}" viewBox="0 0 ${WIDTH} ${total}" font-family="system-ui, sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>${parts.join("")}</svg>`,
  );
}

function strip(spec: ChartSpec, from: number, to: number, top: number): string {
  const [times = [], ...series] = columns(spec, from, to);
  const most = Math.max(1e-9, ...series.flat().filter((value): value is number => typeof value === "number")) * 1.05;
  const inner = WIDTH - LEFT - 10;
  const x = (time: number): number => LEFT + (inner * (time - from)) / (to - from);
  const y = (value: number): number => top + HEIGHT - (HEIGHT * value) / most;
  const inside = (index: number): boolean => (times[index] ?? -1) >= from && (times[index] ?? -1) <= to;
  const drawn = spec.lines.map((line, index) => {
    const points = (series[index] ?? []).flatMap((value, at) => (typeof value === "number" && inside(at) ? [`${x(times[at] ?? 0).toFixed(1)},${y(value).toFixed(1)}`] : []));
    const area = spec.stacked && points.length > 0 ? `<polygon fill="${line.colour}" fill-opacity="0.6" points="${LEFT},${y(0)} ${points.join(" ")} ${x(to).toFixed(1)},${y(0)}"/>` : "";
    const legend = `<text x="${LEFT + 240 + index * 90}" y="${top - 6}" fill="${line.colour}">${escaped(line.label)}</text>`;
    return `${area}<polyline fill="none" stroke="${line.colour}" stroke-width="1.5" stroke-dasharray="${line.dash.join(" ")}" points="${points.join(" ")}"/>${legend}`;
  });
  const changes = document_.value.timeline.map((entry) => {
    const at = x(seconds(entry.at));
    return at < LEFT || at > WIDTH ? "" : `<line x1="${at}" x2="${at}" y1="${top}" y2="${top + HEIGHT}" stroke="#555" stroke-dasharray="4 3"/><text x="${at + 3}" y="${top + 12}" fill="#555">${escaped(labelOf(entry))}</text>`;
  });
  const ticks = [0, 0.5, 1].map((share) => `<text x="${LEFT - 6}" y="${y(most * share) + 4}" text-anchor="end" fill="#555">${short(most * share)}</text>`);
  const ends = `<text x="${LEFT}" y="${top + HEIGHT + 14}" fill="#555">${short(from)} s</text><text x="${WIDTH - 10}" y="${top + HEIGHT + 14}" text-anchor="end" fill="#555">${short(to)} s</text>`;
  return `<text x="${LEFT}" y="${top - 6}" font-weight="600">${escaped(spec.title)}, ${spec.unit}</text><rect x="${LEFT}" y="${top}" width="${inner}" height="${HEIGHT}" fill="none" stroke="#bbb"/>${drawn.join("")}${changes.join("")}${ticks.join("")}${ends}`;
}

export async function chartsAsPng(): Promise<Blob> {
  const panels = [...document.querySelectorAll<HTMLElement>("figure.chart")];
  const canvases = panels.map((panel) => ({ canvas: panel.querySelector("canvas"), title: panel.querySelector("figcaption")?.textContent ?? "" }));
  const scale = window.devicePixelRatio || 1;
  const page = document.createElement("canvas");
  page.width = Math.max(...canvases.map(({ canvas }) => canvas?.width ?? 0));
  page.height = canvases.reduce((sum, { canvas }) => sum + (canvas?.height ?? 0) + 24 * scale, 0);
  const context = page.getContext("2d");
  if (!context) throw new Error("The browser cannot draw a picture.");
  context.fillStyle = ink("ground");
  context.fillRect(0, 0, page.width, page.height);
  context.font = `${13 * scale}px system-ui, sans-serif`;
  let y = 0;
  for (const { canvas, title } of canvases) {
    context.fillStyle = ink("ink");
    context.fillText(title, 8, y + 16 * scale);
    if (canvas) context.drawImage(canvas, 0, y + 24 * scale);
    y += (canvas?.height ?? 0) + 24 * scale;
  }
  return new Promise((resolve, reject) => page.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser cannot write a PNG.")))));
}
