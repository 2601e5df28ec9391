import { kind } from "../model/document";
import { addLane, algorithms, overrides, queue, removeLane, setLaneOverride } from "../state/lab";
import { laneColour } from "../model/colours";

/** Settings of the second and third lane. */
export function Compare() {
  if (overrides.value.length === 0) return null;
  const queues = algorithms.value?.queues.filter((each) => each.kind !== "python") ?? [];
  const ccas = algorithms.value?.congestion_controls ?? [];
  return (
    <section class="compare" aria-label="Side by side">
      {overrides.value.map((override, index) => (
        <div class="lane" key={index}>
          <span class="dot" style={{ background: laneColour(index + 1) }} aria-hidden="true" />
          <span>Lane {index + 2}</span>
          <label>
            queue{" "}
            <select value={override.queue === undefined ? "" : kind(override.queue, "fifo")} onChange={(event) => set(index + 1, "queue", event.currentTarget.value)}>
              <option value="">same</option>
              {queues.map(({ kind: name }) => (
                <option key={name} value={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            congestion control{" "}
            <select value={override.cca === undefined ? "" : kind(override.cca, "cubic")} onChange={(event) => set(index + 1, "cca", event.currentTarget.value)}>
              <option value="">same</option>
              {ccas.map(({ kind: name }) => (
                <option key={name} value={name}>{name}</option>
              ))}
            </select>
          </label>
          <button type="button" class="small" onClick={() => removeLane(index + 1)} aria-label={`Remove lane ${index + 2}`}>×</button>
        </div>
      ))}
      {overrides.value.length < 2 && (
        <button type="button" onClick={() => addLane({ queue: { kind: "cake" } })}>+ a third lane</button>
      )}
    </section>
  );
}

function set(lane: number, key: "queue" | "cca", value: string): void {
  const { [key]: _old, ...rest } = overrides.value[lane - 1] ?? {};
  setLaneOverride(lane, value === "" ? rest : { ...rest, [key]: { kind: value } });
}

/** The second lane that teaches most beside the first. */
export function startComparing(): void {
  addLane({ queue: { kind: kind(queue.value, "fifo") === "fq_codel" ? "fifo" : "fq_codel" } });
}
