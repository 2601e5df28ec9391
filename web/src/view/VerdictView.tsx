import { verdict, WINDOW, type Verdict } from "../model/verdict";
import { kind } from "../model/document";
import { change } from "../state/changes";
import { current, frame, lanes, queue, queueKey } from "../state/lab";
import type { Lane } from "../state/lane";
import { laneName } from "./names";
import { ms, percent, short } from "../model/units";
import { act } from "./act";

export const verdictOf = (lane: Lane): Verdict => verdict(lane.flows, lane.pictured, lane.history, lane.now);

interface Suggestion {
  text: string;
  key: string;
  value: unknown;
}

/** The change that would teach the most now. */
function suggestion(lane: Lane, seen: Verdict): Suggestion | null {
  const mean = (track: string): number => lane.history.mean(track, Math.max(0, lane.now - WINDOW), lane.now) || 0;
  const upload = kind(current.value.dumbbell?.["reverse_queue"], "fifo");
  if (lane.reverse && current.value.dumbbell && mean("reverse queue") > Math.max(5, mean("queue")) && upload !== "fq_codel") {
    return { text: "Use fq_codel for the upload", key: "dumbbell.reverse_queue", value: { kind: "fq_codel" } };
  }
  const key = queueKey.value;
  const present = kind(queue.value, "fifo");
  if (present !== "fq_codel" && (seen.grade === null || seen.increase >= 5 || present === "fifo")) return { text: "Use fq_codel", key, value: { kind: "fq_codel" } };
  if (present === "fq_codel") return { text: "Back to a FIFO of 1000 packets", key, value: { kind: "fifo", limit: "1000p" } };
  return null;
}

export function VerdictView() {
  frame.value;
  const open = lanes.value.filter((lane): lane is Lane => lane !== null);
  const [lane] = open;
  if (!lane) return null;
  if (lanes.value.length > 1) return <VerdictTable lanes={open} />;
  const seen = verdictOf(lane);
  const advice = suggestion(lane, seen);
  return (
    <section class="verdict" aria-label="Verdict">
      {seen.grade && (
        <span class={`grade grade-${seen.grade[0]}`} aria-label={`Grade ${seen.grade}`} title={`Grade of the mean increase of the RTT: ${ms(seen.increase)}. Below 5 ms A+, 30 A, 60 B, 200 C, 400 D, else F.`}>
          {seen.grade}
        </span>
      )}
      <p class="sentence">{seen.sentence}</p>
      {advice && (
        <button type="button" class="suggestion" onClick={() => act(() => change(advice.key, advice.value))}>
          {advice.text}
        </button>
      )}
    </section>
  );
}

interface Row {
  name: string;
  unit: string;
  values: number[];
  best: "low" | "high";
}

function rows(open: Lane[]): Row[] {
  const mean = (lane: Lane, key: string): number => lane.history.mean(key, Math.max(0, lane.now - 30), lane.now);
  const bulk = (lane: Lane): number[] => lane.flows.map((flow, index) => (flow.traffic === "greedy" ? mean(lane, `throughput:${index}`) : NaN)).filter(Number.isFinite);
  const page = open[0]?.flows.find((flow) => flow.traffic === "fetch");
  const ping = open[0]?.flows.find((flow) => flow.traffic === "ping");
  const list: Row[] = [
    { name: "RTT increase", unit: "ms", values: open.map((lane) => verdictOf(lane).increase), best: "low" },
    { name: "queue delay", unit: "ms", values: open.map((lane) => mean(lane, "queue")), best: "low" },
    { name: "downloads together", unit: "Mbit/s", values: open.map((lane) => bulk(lane).reduce((a, b) => a + b, 0)), best: "high" },
    { name: "link busy", unit: "%", values: open.map((lane) => 100 * Math.min(1, mean(lane, "utilization"))), best: "high" },
    { name: "drops", unit: "", values: open.map((lane) => lane.history.total("drops", Math.max(0, lane.now - 30), lane.now)), best: "low" },
  ];
  if (ping) list.splice(1, 0, { name: `P95 RTT of ${ping.name}`, unit: "ms", values: open.map((lane) => lane.history.percentiles(`rtt:${ping.name}`, Math.max(0, lane.now - 30), lane.now, [0.95])[0] ?? NaN), best: "low" });
  if (page) list.splice(1, 0, { name: "page", unit: "ms", values: open.map((lane) => mean(lane, `rtt:${page.name}`)), best: "low" });
  return list;
}

function VerdictTable({ lanes: open }: { lanes: Lane[] }) {
  return (
    <section class="verdict table" aria-label="Verdict">
      <table>
        <caption>The last 30 s (RTT increase: the last 5 s). The best value of each row is bold.</caption>
        <thead>
          <tr>
            <th scope="col">measure</th>
            {open.map((_, index) => (
              <th scope="col" key={index} class="number">{laneName(index)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">grade</th>
            {open.map((lane, index) => (
              <td key={index} class="number">{verdictOf(lane).grade ?? "–"}</td>
            ))}
          </tr>
          {rows(open).map((row) => {
            const finite = row.values.filter(Number.isFinite);
            const best = row.best === "low" ? Math.min(...finite) : Math.max(...finite);
            return (
              <tr key={row.name}>
                <th scope="row">{row.name}</th>
                {row.values.map((value, index) => (
                  <td key={index} class={short(value) === short(best) ? "number best" : "number"}>
                    {row.unit === "%" ? percent(value / 100) : `${short(value)} ${Number.isFinite(value) ? row.unit : ""}`}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
