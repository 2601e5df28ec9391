import type { Plan, PlanEffect, PlanFlow, PlanLink } from "./types";

export function linksOf(plan: Plan): PlanLink[] {
  return plan.boxes.filter((box): box is PlanLink => box.kind === "link");
}

/** Index, among the links of a plan, of the one that the picture shows. */
export function pictured(plan: Plan): number {
  return Math.max(0, linksOf(plan).findIndex(({ name }) => name === "bottleneck" || name === "ue_1"));
}

function effects(plan: Plan, until: number): PlanEffect[] {
  return plan.timeline.filter(({ at_ns }) => at_ns <= until * 1e9).flatMap((entry) => entry.effects);
}

/** All flows in the order of their indices: those of the document, then those that the timeline adds. */
export function flowsOf(plan: Plan): PlanFlow[] {
  return [...plan.flows, ...effects(plan, Infinity).flatMap((effect) => (effect.kind === "start" ? [effect.flow] : []))];
}

/** The queue discipline of a link at a time, after the changes of the timeline. */
export function queueAt(plan: Plan, link: PlanLink | undefined, time: number): PlanLink["queue"] & { limitOf?: PlanLink["limit"] } {
  let result = { ...(link?.queue ?? { kind: "fifo" }), limitOf: link?.limit ?? null };
  for (const effect of effects(plan, time)) {
    if (effect.kind === "queue" && effect.name === link?.name) result = { ...effect.queue, limitOf: effect.limit ?? null };
  }
  return result;
}
