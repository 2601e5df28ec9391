import { clock, expect, open, test } from "./lab";

test("the description of the picture names the bands of the queue, with their packets", async ({ page }) => {
  await open(page);
  const picture = page.locator(".picture canvas");
  const bands: [string, RegExp][] = [
    ["fifo", /packets wait.* \(\d+ of download/],
    ["fq_codel", /packets wait/],
    ["cake", /\(Bulk: no packets; Best Effort: .*; Voice: no packets\)/],
    ["dualpi2", /\(L: no packets; C: \d+ of download/],
    ["priority", /\(band 0: no packets; band 1: \d+ of download.*; band 2: no packets\)/],
    ["hhf", /\(other flows: .*; heavy hitters: /],
  ];
  for (const [queue, description] of bands) {
    await page.getByLabel("discipline").selectOption(queue);
    await expect(picture).toHaveAttribute("aria-label", description);
  }
});

test("the picture grows by a strip for each tin, and its pixels are drawn", async ({ page }) => {
  await open(page);
  const picture = page.locator(".picture canvas");
  const height = async (): Promise<number> => (await picture.boundingBox())?.height ?? 0;
  const before = await height();
  await page.getByLabel("discipline").selectOption("cake");
  await expect.poll(height).toBeGreaterThan(before);
  const colours = await picture.evaluate((canvas: HTMLCanvasElement) => {
    const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? new Uint8ClampedArray();
    return new Set(new Uint32Array(pixels.buffer)).size;
  });
  expect(colours).toBeGreaterThan(4);
});

test("a picture without a width for its queue does not stop the page", async ({ page }) => {
  await open(page);
  await page.setViewportSize({ width: 150, height: 600 });
  await page.setViewportSize({ width: 60, height: 600 });
  await page.setViewportSize({ width: 1280, height: 900 });
  const before = await clock(page);
  await expect.poll(() => clock(page)).toBeGreaterThan(before + 0.5);
});
