// One sentence about the last seconds, with the numbers that it rests on, and one suggestion.
import type { PlanFlow, PlanLink } from "../engine/types";
import type { History } from "./history";
import { ms, percent, short } from "./units";

/** Seconds that the verdict covers. */
export const WINDOW = 5;

export type Grade = "A+" | "A" | "B" | "C" | "D" | "F";

/** Grade of the mean increase of the RTT, in ms (edges of DSLReports). */
export function grade(increase: number): Grade {
  if (increase < 5) return "A+";
  if (increase < 30) return "A";
  if (increase < 60) return "B";
  if (increase < 200) return "C";
  if (increase < 400) return "D";
  return "F";
}

export interface Verdict {
  grade: Grade | null;
  /** Mean increase of the RTT, ms. */
  increase: number;
  sentence: string;
  utilization: number;
}

interface Watched {
  name: string;
  increase: number;
  base: number;
}

/** The flow whose delay a person would notice: a call, unless a ping, which also waits in the reverse direction, waits much longer. */
function watched(flows: readonly PlanFlow[], history: History, from: number, to: number): Watched | null {
  const candidates = flows.map((flow, index) => {
    const base = flow.base_rtt_ns / 1e6;
    const rtt = history.mean(`rtt:${flow.name}`, from, to);
    const wait = history.mean(`wait:${index}`, from, to);
    const increase = flow.traffic === "ping" ? rtt - base : wait;
    return { flow, base, increase, rank: flow.traffic === "ping" ? 1 : flow.traffic === "cbr" ? 0 : 2 };
  });
  const usable = candidates.filter(({ rank, increase }) => rank < 2 && Number.isFinite(increase));
  const best = usable.sort((a, b) => (Math.abs(a.increase - b.increase) > 5 ? b.increase - a.increase : a.rank - b.rank))[0];
  return best ? { name: best.flow.name, increase: Math.max(0, best.increase), base: best.base } : null;
}

export function verdict(flows: readonly PlanFlow[], link: PlanLink | undefined, history: History, now: number): Verdict {
  const from = Math.max(0, now - WINDOW);
  const length = Math.min(WINDOW, now);
  const utilization = history.mean("utilization", from, now);
  const seen = watched(flows, history, from, now);
  if (length < 0.2 || (!seen && !Number.isFinite(history.mean("queue", from, now)))) {
    return { grade: null, increase: NaN, utilization, sentence: "The run has just started. Nothing has been measured yet." };
  }
  const increase = seen ? seen.increase : Math.max(0, history.mean("queue", from, now));
  const drops = history.total("drops", from, now);
  const marks = history.total("marks", from, now);
  const signals = [drops > 0 ? `${drops} ${drops === 1 ? "drop" : "drops"}` : "", marks > 0 ? `${marks} ${marks === 1 ? "mark" : "marks"}` : ""].filter(Boolean);
  const what = seen ? `the ${seen.name} waited ${ms(increase)} on average` : `packets waited ${ms(increase)} in the queue on average`;
  const rtt = seen ? `: an RTT of ${ms(seen.base + increase)} instead of ${ms(seen.base)}` : "";
  const busy = Number.isFinite(utilization) ? ` ${link?.name === "bottleneck" ? "The link" : "The link " + (link?.name ?? "")} was ${percent(Math.min(1, utilization))} busy` : "";
  const upload = history.mean("reverse queue", from, now);
  const up = upload > 5 ? ` Packets waited ${ms(upload)} in the queue of the upload.` : "";
  const sentence = `In the last ${short(length)} s ${what}${rtt}.${busy}${busy && signals.length ? `, with ${signals.join(" and ")}` : ""}${busy ? "." : ""}${up}`;
  return { grade: grade(increase), increase, utilization, sentence };
}
