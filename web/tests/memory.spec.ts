import { expect, test } from "./lab";
import { Hour } from "./hour";

const MEGABYTE = 1e6;

// The worker of this test is not a file of the lab (hour.ts).
test.use({ bypassCSP: true });

test("an hour takes less than 64 MB in the engine and 16 MB in the page, and a second hour no more", async ({ page }) => {
  test.setTimeout(120_000);
  const hour = await Hour.open(page);
  for (const run of ["first", "second"]) {
    await hour.toTheEnd(50_000);
    const memory = await hour.memory();
    expect(memory.engine, `engine, ${run} hour`).toBeLessThan(64 * MEGABYTE);
    expect(memory.page, `page, ${run} hour`).toBeLessThan(16 * MEGABYTE);
    await hour.startAgain();
  }
});
