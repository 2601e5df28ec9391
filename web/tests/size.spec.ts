import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { packedSize } from "./packed";

test("the whole lab is below 1.5 MB when it is compressed, and names no address off its origin", () => {
  expect(packedSize()).toBeLessThan(1_500_000);
  expect(readFileSync("dist/index.html", "utf8")).not.toMatch(/https?:/);
});

test("the lock file holds no download addresses", () => {
  expect(readFileSync("package-lock.json", "utf8")).not.toContain('"resolved"');
});
