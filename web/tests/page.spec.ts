import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { clock, expect, open, reach, test } from "./lab";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Violations that axe finds. It is evaluated by the browser's tools, so the content security policy of the page stays as it is. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const tool = (globalThis as unknown as { axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe;
    return (await tool.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ").slice(0, 300)}`);
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds no violation, ${colorScheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await open(page);
    await reach(page, 3);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Use fq_codel" }).click();
    await page.getByText("Parameters of fq_codel").click();
    await page.getByText("Impairments").click();
    await page.getByText("Share", { exact: true }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByText("Share", { exact: true }).click();
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByText("Lessons", { exact: true }).click();
    await expect(page.locator(".verdict.table")).toBeVisible();
    expect(await violations(page)).toEqual([]);
  });
}

const LESSONS = 8;

test("a lesson from start to end by keyboard alone", async ({ page }) => {
  await open(page);
  const press = async (label: RegExp): Promise<void> => {
    for (let count = 0; count < 80; count += 1) {
      const text = await page.evaluate(() => document.activeElement?.textContent ?? "");
      const tag = await page.evaluate(() => document.activeElement?.tagName ?? "");
      if (["BUTTON", "SUMMARY"].includes(tag) && label.test(text)) return page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
    }
    throw new Error(`the keyboard does not reach ${String(label)}`);
  };
  await press(/^Lessons$/);
  await press(/^What is bufferbloat\?$/);
  await expect(page.locator(".lesson")).toBeFocused();
  // A change before the first instant belongs to the start, and is not on the time line.
  await expect.poll(() => clock(page)).toBeGreaterThan(0);
  await press(/^Queue of 20 buffers$/);
  await expect(page.locator(".lesson")).toContainText("Look.");
  await press(/^Why\?$/);
  await expect(page.locator(".lesson")).toContainText("Published.");
  await press(/^Leave the lesson$/);
  await expect(page.locator(".lesson")).toHaveCount(0);
  await expect(page.locator(".timeline li")).toHaveCount(1);
});

for (let index = 0; index < LESSONS; index += 1) {
  test(`lesson ${index + 1} runs from the question to the reason`, async ({ page }) => {
    await open(page);
    await page.getByText("Lessons", { exact: true }).click();
    const entries = page.locator("ol.sheet button");
    await expect(entries).toHaveCount(LESSONS);
    await entries.nth(index).click();
    await expect(page.locator(".lesson h2")).toBeVisible();
    await expect.poll(() => clock(page)).toBeLessThan(3);
    await reach(page, 4, "3");
    const actions = page.locator(".lesson button.suggestion");
    await actions.click();
    await expect(page.locator(".lesson")).toContainText("Look.");
    await reach(page, 6, "3");
    await actions.click();
    await expect(page.locator(".lesson")).toContainText("Why.");
    await expect(page.locator(".notice.error")).toHaveCount(0);
    await expect(page.locator(".timeline li, .compare .lane")).toHaveCount(1);
  });
}

test("on a phone: picture, verdict and suggestion first, then charts, controls in a drawer", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page);
  const top = async (selector: string): Promise<number> => (await page.locator(selector).first().boundingBox())?.y ?? -1;
  expect(await top(".picture")).toBeLessThan(await top(".verdict"));
  expect(await top(".verdict")).toBeLessThan(await top(".charts"));
  expect((await page.locator(".suggestion").boundingBox())?.y ?? 9999).toBeLessThan(844);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await expect(page.getByLabel("discipline")).not.toBeVisible();
  await page.getByText("Controls", { exact: true }).click();
  await expect(page.getByLabel("discipline")).toBeVisible();
  await page.getByLabel("discipline").selectOption("fq_codel");
  await expect(page.locator(".timeline li")).toHaveCount(1);
});

test("works offline after the first load", async ({ page, context }) => {
  await open(page);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
  await context.setOffline(true);
  await page.reload();
  await expect(page.locator(".grade")).toBeVisible();
  await context.setOffline(false);
});

test("the charts zoom, pan, read values under the pointer and return to the present", async ({ page }) => {
  await open(page);
  await reach(page, 6);
  const plot = page.locator(".plot .u-over").first();
  await plot.hover({ position: { x: 60, y: 30 } });
  await expect(page.locator(".readings thead th").first()).toContainText("at ");
  await page.mouse.wheel(0, -300);
  const live = page.getByRole("button", { name: "Live" });
  await expect(live).toBeEnabled();
  await page.mouse.down();
  await page.mouse.move(400, 420, { steps: 4 });
  await page.mouse.up();
  await plot.dblclick();
  await expect(live).toBeDisabled();
  await page.getByRole("button", { name: "Whole run" }).click();
  await expect(live).toBeEnabled();
});

test("with reduced motion the lab still shows every number", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open(page);
  await expect(page.locator(".picture canvas")).toHaveAttribute("aria-label", /packets wait/);
});
