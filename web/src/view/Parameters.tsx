// Parameters of a queue or a congestion control, made from the engine's own list.
import type { Algorithm, Parameter } from "../engine/types";
import type { Table } from "../model/document";
import { act } from "./act";
import { TextInput } from "./TextInput";

interface Props {
  algorithm: Algorithm;
  values: Table;
  /** Sets a parameter; undefined restores the default. */
  set: (name: string, value: unknown) => Promise<void>;
}

const SIMPLE = new Set(["boolean", "string", "number", "integer", "duration", "rate", "limit", "bytes"]);

export function Parameters({ algorithm, values, set }: Props) {
  const simple = algorithm.parameters.filter(({ type }) => SIMPLE.has(type));
  return (
    <div class="parameters">
      <p class="about">{algorithm.summary}</p>
      {simple.length === 0 && <p class="quiet">It has no parameters.</p>}
      {simple.map((parameter) => (
        <Field key={`${algorithm.kind}.${parameter.name}`} parameter={parameter} value={values[parameter.name]} set={(value) => set(parameter.name, value)} />
      ))}
      <p class="quiet">Source: {algorithm.source}</p>
    </div>
  );
}

function Field({ parameter, value, set }: { parameter: Parameter; value: unknown; set: (value: unknown) => Promise<void> }) {
  const present = value ?? parameter.default;
  const changed = value !== undefined && value !== null && String(value) !== String(parameter.default);
  const help = `${parameter.description}${parameter.range ? ` Range: ${parameter.range}.` : ""} Default: ${parameter.default === null ? "derived or off" : String(parameter.default)}.`;
  return (
    <div class={changed ? "field changed" : "field"}>
      <label>
        <span class="name">
          {parameter.name}
          {parameter.unit && <span class="unit"> {parameter.unit}</span>}
        </span>
        <Input parameter={parameter} value={present} set={(next) => act(() => set(next))} />
      </label>
      {changed && (
        <button type="button" class="small" onClick={() => act(() => set(undefined))} aria-label={`Restore the default of ${parameter.name}`} title="Restore the default">↺</button>
      )}
      <p class="help">{help}</p>
    </div>
  );
}

function Input({ parameter, value, set }: { parameter: Parameter; value: unknown; set: (value: unknown) => void }) {
  if (parameter.type === "boolean") return <input type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />;
  if (parameter.type === "string" && parameter.range) {
    const options = parameter.range.split(", ");
    return (
      <select value={String(value ?? "")} onChange={(event) => set(event.currentTarget.value || undefined)}>
        {parameter.default === null && <option value="">default</option>}
        {options.map((option) => (
          <option key={option} value={option}>{option}</option>
        ))}
      </select>
    );
  }
  const numeric = parameter.type === "number" || parameter.type === "integer";
  return (
    <TextInput
      inputMode={numeric ? "decimal" : "text"}
      value={value === null || value === undefined ? "" : String(value)}
      placeholder={parameter.default === null ? "default" : String(parameter.default)}
      commit={(text) => set(text === "" ? undefined : numeric && Number.isFinite(Number(text)) ? Number(text) : text)}
    />
  );
}
