import { Contents } from "../engine/contents";
import { flowsOf, linksOf, pictured, queueAt } from "../engine/plan";
import type { Description, LaneFrame, Layout, Outcome, Plan, PlanFlow, PlanLink } from "../engine/types";
import { History } from "../model/history";

/** A run as the page sees it: its plan, and everything that the engine has reported so far. */
export class Lane {
  readonly plan: Plan;
  readonly duration: number;
  readonly history: History;
  readonly links: PlanLink[];
  readonly flows: PlanFlow[];
  /** Index of the link that the picture shows. */
  readonly link: number;
  now: number;
  /** What the pictured queue holds. */
  contents = new Contents(new Uint32Array(), []);
  /** Events of the last frame; the picture takes them. */
  events: Float64Array = new Float64Array();
  outcome: Outcome | null = null;
  private readonly layout: Description["layout"];

  constructor(description: Description, history?: History) {
    this.plan = description.plan;
    this.duration = description.duration;
    this.layout = description.layout;
    this.now = description.now;
    this.history = history ?? new History(this.plan.sample_interval_ns / 1e9);
    this.links = linksOf(this.plan);
    this.flows = flowsOf(this.plan);
    this.link = pictured(this.plan);
  }

  get pictured(): PlanLink | undefined {
    return this.links[this.link];
  }

  /** The rate of the pictured link now, bit/s. */
  get rate(): number {
    const measured = this.history.last("rate", this.now);
    return Number.isFinite(measured) ? measured * 1e6 : (this.pictured?.rate_bps ?? 0);
  }

  /** The link of the uploads, if it can be the bottleneck of data. */
  get reverse(): PlanLink | undefined {
    const link = this.links.find(({ name }) => name === "reverse" || name === "ue_1_up");
    return this.flows.some((flow) => flow.traffic !== "ping" && flow.forward.includes(link?.name ?? "")) ? link : undefined;
  }

  /** The queue discipline that the picture shows, as it is now. */
  get queue(): ReturnType<typeof queueAt> {
    return queueAt(this.plan, this.pictured, this.now);
  }

  take(frame: LaneFrame): void {
    this.now = frame.now;
    this.contents = new Contents(frame.contents, frame.bands);
    this.events = frame.events;
    this.takeFlows(frame.rows.flows);
    this.takeLinks(frame.rows.links);
    this.takeProbes(frame.rows.probes);
  }

  private takeFlows(rows: Float64Array): void {
    const { columns, entities } = this.layout.flows;
    const indices = entities.map((name) => this.flows.findIndex((flow) => flow.name === name));
    const at = (name: string): number => columns.indexOf(name);
    const [throughput, cwnd, wait, srtt, retransmissions] = [at("throughput_mbps"), at("cwnd"), at("sojourn_ms"), at("srtt_ms"), at("retransmissions")];
    each(rows, columns.length, (row) => {
      const time = row[0] ?? 0;
      const index = indices[row[1] ?? 0] ?? 0;
      this.history.add(`throughput:${index}`, time, row[throughput] ?? NaN);
      this.history.add(`cwnd:${index}`, time, row[cwnd] ?? NaN);
      this.history.add(`wait:${index}`, time, row[wait] ?? NaN);
      this.history.add(`srtt:${index}`, time, row[srtt] ?? NaN);
      this.history.add(`retransmissions:${index}`, time, row[retransmissions] ?? NaN);
    });
  }

  private takeLinks(rows: Float64Array): void {
    const { columns, entities } = this.layout.links;
    const mine = Math.max(0, entities.indexOf(this.pictured?.name ?? ""));
    const wanted = { sojourn_ms: "queue", utilization: "utilization", drops: "drops", marks: "marks", rate_mbps: "rate", throughput_mbps: "carried" };
    const reverse = entities.indexOf(this.reverse?.name ?? "");
    each(rows, columns.length, (row) => {
      if (row[1] === reverse) this.history.add("reverse queue", row[0] ?? 0, row[columns.indexOf("sojourn_ms")] ?? NaN);
      if (row[1] !== mine) return;
      for (const [column, key] of Object.entries(wanted)) this.history.add(key, row[0] ?? 0, row[columns.indexOf(column)] ?? NaN);
    });
  }

  private takeProbes(rows: Float64Array): void {
    const { columns, entities }: Layout = this.layout.probes;
    const value = columns.indexOf("rtt_ms");
    each(rows, columns.length, (row) => {
      const name = entities[row[1] ?? 0] ?? "";
      this.history.add(`rtt:${name}`, row[0] ?? 0, row[value] ?? NaN);
    });
  }
}

function each(rows: Float64Array, width: number, visit: (row: Float64Array) => void): void {
  if (width === 0) return;
  for (let at = 0; at + width <= rows.length; at += width) visit(rows.subarray(at, at + width));
}
