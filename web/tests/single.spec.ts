// The lab as one file, opened without a server: what report pages link to.
import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import init, { run } from "../src/engine/pkg/bloatlab_web.js";
import { encode } from "../src/model/share";
import { clock, digest, expect, test } from "./lab";

const document = { name: "shared", duration: "20s", dumbbell: { rate: "10Mbit/s", rtt: "20ms", queue: "codel" }, flows: [{ name: "download", cca: "cubic" }], timeline: [] };
const fragment = `#${encode({ document, seed: 3, now: 0, lanes: [] })}`;

test("one file opens from a disk, runs a shared scenario and gives the digest of the engine, without any request", async ({ page }) => {
  // In a folder with nothing else, and with a name that an address must escape.
  const file = join(mkdtempSync(join(tmpdir(), "a lab #")), "lab.html");
  copyFileSync("dist-single/lab.html", file);
  const address = pathToFileURL(file).href;
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(`${address}${fragment}`);
  await expect(page.locator(".scenario")).toHaveText("shared");
  await expect.poll(() => clock(page)).toBeGreaterThan(1);
  await page.getByRole("button", { name: "Jump to the end" }).click();
  await expect(page.locator(".outcome")).toBeVisible();
  const here = await digest(page);
  expect(here).toMatch(/^[0-9a-f]{16}$/);
  expect(requests.filter((url) => !url.startsWith("blob:") && !url.startsWith("data:"))).toEqual([address]);
  expect(await page.evaluate(() => navigator.serviceWorker?.controller ?? null)).toBeNull();

  await init({ module_or_path: readFileSync("src/engine/pkg/bloatlab_web_bg.wasm") });
  expect(JSON.parse(run(JSON.stringify(document), 3n)).digest.slice(0, 16)).toBe(here);
});
