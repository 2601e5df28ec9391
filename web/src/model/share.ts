// A link with the whole scenario in its fragment: `#1.` and the deflated JSON in base64url. What comes out is only ever data: it is checked for its
// shape here, and the engine checks every value.
import { Inflate, deflateSync, strFromU8, strToU8 } from "fflate";
import type { Scenario } from "./document";

const VERSION = "1";
const MOST_CHARACTERS = 64_000;
const MOST_BYTES = 1_000_000;

export interface Shared {
  document: Scenario;
  seed: number;
  /** Time that the run had reached, seconds. */
  now: number;
  /** What the other lanes of a comparison have instead. */
  lanes: Override[];
}
export interface Override {
  queue?: unknown;
  cca?: unknown;
}

export function encode(shared: Shared): string {
  const packed = deflateSync(strToU8(JSON.stringify(shared)), { level: 9 });
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  const text = `${VERSION}.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  if (text.length > MOST_CHARACTERS) throw new Error("The scenario is too long for a link. Copy it as TOML instead.");
  return text;
}

/** Throws an Error with one line if the fragment is not a scenario. */
export function decode(fragment: string): Shared {
  if (fragment.length > MOST_CHARACTERS) throw new Error(`The link is longer than ${MOST_CHARACTERS} characters, so it is not opened.`);
  const [version, body = ""] = fragment.split(".", 2);
  if (version !== VERSION) throw new Error("The link is not one of this version of the lab, so it is not opened.");
  if (!/^[A-Za-z0-9_-]+$/.test(body)) throw new Error("The link is damaged, so it is not opened. Ask for it again.");
  let value: unknown;
  try {
    value = JSON.parse(inflated(Uint8Array.from(atob(body.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0))));
  } catch {
    throw new Error("The link is damaged, so it is not opened. Ask for it again.");
  }
  return checked(value);
}

/** Stops as soon as too much comes out, so that a small link cannot fill the memory. */
function inflated(packed: Uint8Array): string {
  const parts: Uint8Array[] = [];
  let size = 0;
  let complete = false;
  const inflate = new Inflate((part, last) => {
    size += part.length;
    if (size > MOST_BYTES) throw new Error("too long");
    parts.push(part);
    complete = last;
  });
  for (let at = 0; at < packed.length; at += 1024) inflate.push(packed.subarray(at, at + 1024), at + 1024 >= packed.length);
  if (!complete) throw new Error("truncated");
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return strFromU8(whole);
}

const isTable = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function checked(value: unknown): Shared {
  const refuse = (what: string): never => {
    throw new Error(`The link holds no scenario that the lab can open: ${what}.`);
  };
  if (!isTable(value) || !isTable(value["document"])) return refuse("it has no document");
  const document = value["document"];
  if (typeof document["duration"] !== "string") refuse("its duration is not a text");
  if (!Array.isArray(document["flows"]) || !document["flows"].every(isTable)) refuse("its flows are not a list of tables");
  document["timeline"] ??= [];
  if (!Array.isArray(document["timeline"]) || !document["timeline"].every((entry) => isTable(entry) && typeof entry["at"] === "string" && typeof entry["key"] === "string")) {
    refuse("its timeline is not a list of changes");
  }
  const seed = value["seed"] ?? 1;
  if (typeof seed !== "number" || !Number.isSafeInteger(seed) || seed < 0) refuse("its seed is not a whole number");
  const now = value["now"] ?? 0;
  if (typeof now !== "number" || !(now >= 0 && now <= 86400)) refuse("its time is not a number of seconds");
  const lanes = value["lanes"] ?? [];
  if (!Array.isArray(lanes) || lanes.length > 2 || !lanes.every(isTable)) refuse("it has more than three lanes");
  return { document: document as Scenario, seed: seed as number, now: now as number, lanes: lanes as Override[] };
}
