import { expect, test } from "@playwright/test";
import { folded, get, set, type Scenario } from "../src/model/document";
import { History } from "../src/model/history";
import { decode, encode } from "../src/model/share";
import { rate, rateText, seconds, short, timeText } from "../src/model/units";
import { grade } from "../src/model/verdict";

test("grades follow the increase of the RTT, and no grade improves when the delay grows", () => {
  expect([0, 4.9, 5, 29, 30, 59, 60, 199, 200, 399, 400, 5000].map(grade)).toEqual(["A+", "A+", "A", "A", "B", "B", "C", "C", "D", "D", "F", "F"]);
});

test("a history stays bounded over an hour and keeps extremes and means", () => {
  const history = new History(0.05);
  for (let sample = 0; sample < 72_000; sample += 1) history.add("queue", sample * 0.05, sample === 40_001 ? 999 : 1);
  expect(history.bins).toBeLessThanOrEqual(8192);
  expect(history.mean("queue", 0, 1000)).toBeCloseTo(1, 9);
  expect(Math.max(...history.values("queue", 0, 3600, true).filter((value): value is number => typeof value === "number"))).toBe(999);
  expect(history.times(0, 3600).length).toBe(history.values("queue", 0, 3600, true).length);
});

test("quantities survive reading and writing", () => {
  for (const text of ["20Mbit/s", "1Gbit/s", "250kbit/s", "1.5Mbit/s"]) expect(rateText(rate(text))).toBe(text);
  for (const text of ["30ms", "1.5s", "250us"]) expect(timeText(seconds(text))).toBe(text);
  expect(rate("1MB/s")).toBe(8e6);
  expect(Number.isNaN(rate("fast"))).toBe(true);
  expect([0, 0.004, 0.22, 9.996, 100, 247.4, 1234].map(short)).toEqual(["0", "0", "0.22", "10", "100", "247", "1234"]);
});

const DOCUMENT: Scenario = {
  duration: "10s",
  dumbbell: { rate: "1Mbit/s", queue: "fifo" },
  flows: [{ name: "a" }],
  timeline: [
    { at: "1s", key: "flows[1]", value: { name: "b" } },
    { at: "2s", key: "dumbbell.queue.limit", value: "5p" },
    { at: "3s", key: "flows[0].stop", value: "3s" },
  ],
};

test("a document is folded to what holds after its changes", () => {
  const result = folded(DOCUMENT);
  expect(result.flows).toEqual([{ name: "b" }]);
  expect(get(result, "dumbbell.queue")).toEqual({ kind: "fifo", limit: "5p" });
  expect(DOCUMENT.flows).toEqual([{ name: "a" }]);
});

test("keys of a link do not reach prototypes", () => {
  set({}, "__proto__.polluted", 1);
  set({}, "constructor.prototype.polluted", 1);
  expect("polluted" in {}).toBe(false);
});

test("a shared run is read as it was written", () => {
  const shared = { document: DOCUMENT, seed: 7, now: 1.25, lanes: [{ queue: { kind: "cake" } }] };
  expect(decode(encode(shared))).toEqual(shared);
});
