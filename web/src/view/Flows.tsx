import { isTcp, kind, parameters, set, type FlowTable } from "../model/document";
import { flowColour } from "../model/colours";
import { FLOW_KINDS } from "../model/presets";
import { addFlow, allFlows, reconnect, removeFlow } from "../state/changes";
import { algorithms, document_, lanes } from "../state/lab";
import { act } from "./act";
import { Parameters } from "./Parameters";

export function Flows() {
  document_.value;
  const flows = allFlows();
  return (
    <section>
      <h2>Flows</h2>
      <ul class="flows">
        {flows.map(({ name, flow, stopped }) => !stopped && <FlowItem key={name} name={name} flow={flow} alone={flows.filter((each) => !each.stopped).length === 1} />)}
      </ul>
      <div class="add" role="group" aria-label="Add a flow">
        {FLOW_KINDS.map(({ id, label, flow }) => (
          <button type="button" key={id} onClick={() => act(() => addFlow(id, flow))}>+ {label}</button>
        ))}
      </div>
      <Ecn />
    </section>
  );
}

function FlowItem({ name, flow, alone }: { name: string; flow: FlowTable; alone: boolean }) {
  const tcp = isTcp(flow);
  const cca = kind(flow.cca, "cubic");
  const list = algorithms.value?.congestion_controls ?? [];
  const algorithm = list.find((each) => each.kind === cca);
  return (
    <li>
      <span class="dot" style={{ background: flowColour(planned(name)) }} aria-hidden="true" />
      <span class="flow-name">{name}</span>
      {tcp ? (
        <select aria-label={`Congestion control of ${name}`} value={cca} onChange={(event) => act(() => reconnect(new Map([[name, { cca: { kind: event.currentTarget.value } }]]), `${name}: ${event.currentTarget.value}`))}>
          {list.map(({ kind: each }) => (
            <option key={each} value={each}>{each}</option>
          ))}
        </select>
      ) : (
        <span class="quiet">{about(flow.traffic)}</span>
      )}
      <button type="button" class="small" onClick={() => act(() => removeFlow(name))} disabled={alone} aria-label={`Stop ${name}`} title="Stop this flow">×</button>
      {tcp && algorithm && algorithm.parameters.length > 0 && (
        <details>
          <summary>Parameters of {cca}</summary>
          <Parameters
            algorithm={algorithm}
            values={parameters(flow.cca)}
            set={(parameter, value) => {
              const next = { kind: cca, ...parameters(flow.cca) };
              set(next, parameter, value);
              return reconnect(new Map([[name, { cca: next }]]), `${name}: ${parameter} = ${value === undefined ? "default" : String(value)}`);
            }}
          />
        </details>
      )}
    </li>
  );
}

/** Index of a flow of the document among the flows of the run. Of several equal flows, that of the first. */
function planned(name: string): number {
  return Math.max(0, lanes.value[0]?.flows.findIndex((flow) => flow.name === name || flow.name === `${name}_1`) ?? 0);
}

function about(traffic: unknown): string {
  const values = parameters(traffic);
  return String(values["rate"] ?? (values["interval"] ? `every ${String(values["interval"])}` : kind(traffic, "")));
}

/** ECN of all TCP flows together. */
function Ecn() {
  const tcp = allFlows().filter(({ flow, stopped }) => !stopped && isTcp(flow));
  const on = tcp.length > 0 && tcp.every(({ flow }) => flow.tcp?.["ecn"] !== undefined && flow.tcp["ecn"] !== false);
  const toggle = (ecn: boolean): void => {
    const settings = new Map(tcp.map(({ name, flow }) => [name, { tcp: { ...flow.tcp, ecn } }]));
    act(() => reconnect(settings, ecn ? "ECN on" : "ECN off"));
  };
  return (
    <label class="check">
      <input type="checkbox" checked={on} disabled={tcp.length === 0} onChange={(event) => toggle(event.currentTarget.checked)} /> ECN for all TCP flows
    </label>
  );
}
