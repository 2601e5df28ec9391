import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "@playwright/test";
import { packedSize } from "./packed";

test("the whole lab is below 1.5 MB when it is compressed, and names no address off its origin", () => {
  expect(packedSize()).toBeLessThan(1_500_000);
  expect(readFileSync("dist/index.html", "utf8")).not.toMatch(/https?:/);
});

test("the lab as one file is below 1.5 MB when it is compressed, and is marked as ours before its script", () => {
  expect(readdirSync("dist-single")).toEqual(["lab.html"]);
  const file = readFileSync("dist-single/lab.html");
  expect(gzipSync(file).length).toBeLessThan(1_500_000);
  expect(file.subarray(0, 1000).toString()).toContain('<meta name="generator" content="bloatlab lab" />');
});

test("the lock file holds no download addresses", () => {
  expect(readFileSync("package-lock.json", "utf8")).not.toContain('"resolved"');
});
