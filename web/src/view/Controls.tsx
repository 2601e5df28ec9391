// Everything that a user can change. Changes act at once where the engine allows it.
import { useState } from "preact/hooks";
import { get, kind, parameters, type Scenario, copy, set } from "../model/document";
import { DURATIONS, LINKS } from "../model/presets";
import { rate, rateText, seconds, spaced, timeText } from "../model/units";
import { change, followTrace } from "../state/changes";
import { algorithms, current, document_, queue, queueKey, rerun, seed } from "../state/lab";
import { act } from "./act";
import { Flows } from "./Flows";
import { Parameters } from "./Parameters";
import { TextInput } from "./TextInput";
import { Timeline } from "./TimeControl";

export function Controls() {
  const dumbbell = current.value.dumbbell !== undefined;
  return (
    <div class="controls">
      <section>
        <h2>Link</h2>
        <Preset />
        <Trace />
        {dumbbell && <LinkFields />}
        {!dumbbell && <p class="quiet">The rate of a cell follows from its radio. Changes of a cell start the run again.</p>}
      </section>
      <QueueFields />
      <Flows />
      <Timeline />
      {dumbbell && <Impairments />}
      <Run />
    </div>
  );
}

function Preset() {
  const known = LINKS.find(({ label }) => label === document_.value.name || label.toLowerCase() === document_.value.name);
  const choose = (id: string): void => {
    const preset = LINKS.find((each) => each.id === id);
    if (!preset) return;
    const { dumbbell: _old, cell: _cell, ...rest } = copy(current.value);
    const document: Scenario = { ...rest, name: preset.label, ...copy(preset.network) };
    for (const flow of document.flows) {
      delete flow["ue"];
      delete flow["rtt"];
      if (document.cell) flow["ue"] = 1;
    }
    rerun(document, preset.label, `${preset.label}: ${preset.about}. The run started again at 0 s.`);
  };
  return (
    <label class="field">
      <span class="name">preset</span>
      <select value={known?.id ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        {!known && <option value="">own</option>}
        {LINKS.map(({ id, label }) => (
          <option key={id} value={id}>{label}</option>
        ))}
      </select>
    </label>
  );
}

/** A trace of the user for the rate of the link. */
function Trace() {
  return (
    <label class="field">
      <span class="name">rate trace</span>
      <input
        type="file"
        title="A trace in the format of mahimahi: each line is the millisecond at which a packet of 1500 bytes can leave."
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          event.currentTarget.value = "";
          if (file) act(async () => followTrace(file.name, await file.text()));
        }}
      />
    </label>
  );
}

interface SliderProps {
  label: string;
  value: number;
  low: number;
  high: number;
  text: (value: number) => string;
  parse: (text: string) => number;
  set: (text: string) => Promise<void>;
  disabled?: string | undefined;
}

/** A logarithmic slider, and a text field that takes any value. */
function Slider({ label, value, low, high, text, parse, set: apply, disabled }: SliderProps) {
  const [draft, setDraft] = useState<number | null>(null);
  const shown = draft ?? value;
  const position = (1000 * Math.log(Math.max(low, Math.min(high, shown)) / low)) / Math.log(high / low);
  const at = (steps: number): number => low * (high / low) ** (steps / 1000);
  const finish = (next: string): void => {
    setDraft(null);
    if (Number.isFinite(parse(next)) && Math.abs(parse(next) - value) < 1e-9 * value) return;
    act(() => apply(next));
  };
  return (
    <div class="slider">
      <span class="name">{label}</span>
      <input
        type="range"
        min={0}
        max={1000}
        value={position}
        disabled={disabled !== undefined}
        aria-label={label}
        aria-valuetext={spaced(text(shown))}
        onInput={(event) => setDraft(at(Number(event.currentTarget.value)))}
        onChange={(event) => finish(text(at(Number(event.currentTarget.value))))}
      />
      <TextInput class="amount" value={text(shown)} disabled={disabled !== undefined} aria-label={`${label}, as text`} commit={(next) => finish(next.replaceAll(" ", ""))} />
      {disabled && <span class="help">{disabled}</span>}
    </div>
  );
}

function LinkFields() {
  const link = current.value.dumbbell ?? {};
  const varies = (name: string): string | undefined => (get(link, `vary.${name}`) ? "varies" : undefined);
  const limit = /^([0-9.]+)p$/.exec(String(parameters(queue.value)["limit"] ?? ""));
  return (
    <>
      <Slider label="rate" value={rate(link["rate"])} low={1e5} high={1e10} text={(bits) => rateText(bits)} parse={rate} set={(text) => change("dumbbell.rate", text)} disabled={varies("rate")} />
      <Slider label="RTT" value={seconds(link["rtt"])} low={1e-3} high={1} text={(time) => timeText(Number(time.toPrecision(2)))} parse={seconds} set={(text) => change("dumbbell.rtt", text)} disabled={varies("rtt")} />
      {limit && (
        <Slider
          label="buffer"
          value={Number(limit[1])}
          low={2}
          high={10000}
          text={(packets) => `${Math.round(Number(packets.toPrecision(3)))}p`}
          parse={(text) => Number(/^([0-9.]+)p$/.exec(text)?.[1] ?? NaN)}
          set={(text) => change(`${queueKey.value}.limit`, text)}
        />
      )}
      <Text label="upload rate" value={String(link["reverse_rate"] ?? "")} placeholder="no limit" set={(text) => change("dumbbell.reverse_rate", text || undefined)} help="Rate of the reverse direction, such as 1Mbit/s." />
      <Text label="loss" value={String(link["loss"] ?? 0)} placeholder="0" set={(text) => change("dumbbell.loss", Number(text || "0"))} help="Probability that a packet is lost after the bottleneck, such as 0.001." />
    </>
  );
}

function Text({ label, value, placeholder, help, set: apply }: { label: string; value: string; placeholder: string; help: string; set: (text: string) => Promise<void> }) {
  return (
    <div class="field">
      <label>
        <span class="name">{label}</span>
        <TextInput value={value} placeholder={placeholder} title={help} commit={(text) => act(() => apply(text))} />
      </label>
    </div>
  );
}

function QueueFields() {
  const list = algorithms.value?.queues.filter((each) => each.kind !== "python") ?? [];
  const reverse = current.value.dumbbell?.["reverse_rate"] ? kind(current.value.dumbbell["reverse_queue"], "fifo") : null;
  const present = kind(queue.value, "fifo");
  const algorithm = list.find((each) => each.kind === present);
  return (
    <section>
      <h2>Queue</h2>
      <label class="field">
        <span class="name">discipline</span>
        <select value={present} onChange={(event) => act(() => change(queueKey.value, { kind: event.currentTarget.value }))}>
          {list.map(({ kind: name }) => (
            <option key={name} value={name}>{name}</option>
          ))}
        </select>
      </label>
      {algorithm && (
        <details>
          <summary>Parameters of {algorithm.kind}</summary>
          <Parameters
            algorithm={algorithm}
            values={parameters(queue.value)}
            set={(name, value) => {
              const next = { kind: present, ...parameters(queue.value) };
              set(next, name, value);
              return value === undefined ? change(queueKey.value, next) : change(`${queueKey.value}.${name}`, value);
            }}
          />
        </details>
      )}
      {reverse && (
        <label class="field">
          <span class="name">upload queue</span>
          <select value={reverse} onChange={(event) => act(() => change("dumbbell.reverse_queue", { kind: event.currentTarget.value }))}>
            {list.map(({ kind: name }) => (
              <option key={name} value={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
    </section>
  );
}

const IMPAIRMENTS: readonly { key: string; label: string; help: string; value: (text: string) => unknown; shown: (value: unknown) => string }[] = [
  { key: "corrupt", label: "corruption", help: "Probability that a packet is damaged, such as 0.0001.", value: Number, shown: String },
  { key: "duplicate", label: "duplication", help: "Probability that a packet arrives twice, such as 0.001.", value: Number, shown: String },
  { key: "jitter", label: "jitter", help: "Standard deviation of a normal jitter, such as 3ms.", value: (size) => ({ size, distribution: "normal" }), shown: (value) => String((value as { size?: string }).size ?? "") },
  { key: "gilbert_elliott", label: "loss in bursts", help: "Probability that a burst of losses begins, such as 0.001. A burst has four packets on average.", value: (p) => ({ p: Number(p), r: 0.25 }), shown: (value) => String((value as { p?: number }).p ?? "") },
];

function Impairments() {
  return (
    <section>
      <details>
        <summary>Impairments</summary>
        {IMPAIRMENTS.map(({ key, label, help, value, shown }) => {
          const present = get(current.value, `dumbbell.impair.${key}`);
          return (
            <div key={key}>
              <Text label={label} value={present === undefined ? "" : shown(present)} placeholder="none" help={help} set={(text) => change(`dumbbell.impair.${key}`, text === "" ? undefined : value(text), `${label} ${text || "none"}`)} />
              <p class="help">{help}</p>
            </div>
          );
        })}
      </details>
    </section>
  );
}

function Run() {
  const length = document_.value.duration;
  return (
    <section>
      <h2>Run</h2>
      <label class="field">
        <span class="name">length</span>
        <select value={length} onChange={(event) => rerun({ ...copy(document_.value), duration: event.currentTarget.value }, `length ${event.currentTarget.value}`)}>
          {!DURATIONS.includes(length) && <option value={length}>{length}</option>}
          {DURATIONS.map((value) => (
            <option key={value} value={value}>{timeText(seconds(value))}</option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="name">seed</span>
        <input
          type="number"
          min={0}
          value={seed.value}
          onChange={(event) => {
            seed.value = Math.max(0, Math.floor(Number(event.currentTarget.value) || 0));
            rerun(copy(document_.value), "another seed");
          }}
        />
      </label>
    </section>
  );
}
