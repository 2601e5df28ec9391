// Quantities with their units, as documents write them, and numbers for people: at most three digits, always with a unit.

const RATE: Record<string, number> = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const TIME: Record<string, number> = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

/** Bits per second of a rate such as `20Mbit/s`; NaN if it is none. */
export function rate(text: unknown): number {
  const match = /^\s*([0-9.]+)\s*([kKMGT]?)(bit\/s|bps|bit|Bps|B\/s)\s*$/.exec(String(text));
  if (!match) return NaN;
  return Number(match[1]) * (RATE[match[2] ?? ""] ?? NaN) * (match[3]?.startsWith("B") ? 8 : 1);
}

/** Seconds of a duration such as `30ms`; NaN if it is none. */
export function seconds(text: unknown): number {
  const match = /^\s*([0-9.]+)\s*(ns|us|µs|ms|s|min|h)\s*$/.exec(String(text));
  return match ? Number(match[1]) * (TIME[match[2] ?? ""] ?? NaN) : NaN;
}

function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, 2 - size)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** A number with at most three digits. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) < 0.01) return "0";
  if (Math.abs(value) < 1) return String(Number(value.toFixed(2)));
  return Math.abs(value) >= 1000 ? String(Math.round(value)) : digits(value);
}

export function ms(value: number): string {
  return value >= 10000 ? `${short(value / 1000)} s` : `${short(value)} ms`;
}

export function percent(value: number): string {
  return `${short(100 * value)} %`;
}

/** A rate as a document writes it, such as `20Mbit/s`. */
export function rateText(bits: number): string {
  for (const [prefix, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]] as const) {
    if (bits >= size) return `${Number((bits / size).toPrecision(3))}${prefix}bit/s`;
  }
  return `${Math.round(bits)}bit/s`;
}

/** A duration as a document writes it, such as `30ms`. */
export function timeText(value: number): string {
  if (value >= 1) return `${Number(value.toPrecision(6))}s`;
  if (value >= 1e-3) return `${Number((value * 1e3).toPrecision(6))}ms`;
  if (value >= 1e-6) return `${Number((value * 1e6).toPrecision(6))}us`;
  return `${Math.round(value * 1e9)}ns`;
}

/** `20Mbit/s` as a person reads it: `20 Mbit/s`. */
export function spaced(text: string): string {
  return text.replace(/^([0-9.]+)([a-zA-Zµ])/, "$1 $2").replace(/ p$/, " packets");
}
