// What all tests share: a page that fails on any console error and on any request off its origin.
import { test as base, expect, type Page } from "@playwright/test";
import { HOST } from "./address";

export const test = base.extend<{ page: Page }>({
  page: async ({ page }, use) => {
    const problems = watch(page);
    await use(page);
    expect(problems).toEqual([]);
  },
});
export { expect };

export function watch(page: Page): string[] {
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const address = new URL(request.url());
    if (![HOST, ""].includes(address.host)) problems.push(`request: ${request.url()}`);
  });
  return problems;
}

/** Opens the lab and waits for the first verdict with a grade. */
export async function open(page: Page, fragment = ""): Promise<void> {
  await page.goto(`./${fragment}`);
  await expect(page.locator(".grade, .verdict.table")).toBeVisible();
}

export const clock = async (page: Page): Promise<number> => Number.parseFloat(await page.getByLabel("Simulated time").innerText());
export const grade = (page: Page): Promise<string> => page.locator(".grade").innerText();
export const digest = (page: Page): Promise<string> => page.locator(".outcome code").first().innerText();

export async function reach(page: Page, time: number, speed = "10"): Promise<void> {
  await page.getByRole("combobox", { name: "Speed", exact: true }).selectOption(speed);
  await expect.poll(() => clock(page), { intervals: [50] }).toBeGreaterThan(time);
  await page.getByRole("combobox", { name: "Speed", exact: true }).selectOption("1");
}

export const pause = async (page: Page): Promise<void> => page.getByRole("button", { name: "Pause", exact: true }).click();

/**
 * Runs code in each worker before the lab's own. The context needs `bypassCSP`, because such a worker is no file of the lab. Answering the request for
 * the file with other text would depend on when the browser lets a test see it.
 */
export async function inWorkers(page: Page, code: string): Promise<void> {
  await page.addInitScript((code) => {
    window.Worker = class extends window.Worker {
      constructor(address: string | URL) {
        const whole = `${code}; import(${JSON.stringify(new URL(address, location.href))});`;
        super(URL.createObjectURL(new Blob([whole], { type: "text/javascript" })), { type: "module" });
      }
    };
  }, code);
}
