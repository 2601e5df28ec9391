// What the copy menu offers: the same run for other tools.
import { stringify } from "smol-toml";
import type { Scenario } from "./document";

/** TOML has no null. A key that is null is a key that is absent. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null).map(([key, inner]) => [key, withoutNull(inner)]));
}

export function toml(document: Scenario): string {
  return stringify(withoutNull(document));
}

export function command(document: Scenario, seed: number): string {
  return `cat > lab.toml <<'END'\n${toml(document)}\nEND\nbloatlab simulate lab.toml --seed ${seed}\n`;
}

function literal(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value as object).map(([key, inner]) => `${JSON.stringify(key)}: ${literal(inner)}`).join(", ")}}`;
  return JSON.stringify(value);
}

export function python(document: Scenario, seed: number): string {
  const keys = Object.entries(document).map(([key, value]) => `    ${JSON.stringify(key)}: ${literal(value)},`);
  return `import bloatlab as bl\n\ndocument = {\n${keys.join("\n")}\n}\nresult = bl.run(document, seed=${seed})\nprint(result.flow_metrics)\n`;
}
