import { clock, digest, expect, grade, inWorkers, open, pause, reach, test } from "./lab";

test("the first screen runs, and its delay climbs", async ({ page }) => {
  await open(page);
  await reach(page, 8);
  expect(["D", "F"]).toContain(await grade(page));
  await expect(page.locator(".sentence")).toContainText(/the call waited [0-9.]+ ms on average: an RTT of [0-9.]+ ms instead of 30 ms/);
});

test("fq_codel, used while the run goes on, brings the delay down and is a line of the timeline", async ({ page }) => {
  await open(page);
  await reach(page, 6);
  await page.getByRole("button", { name: "Use fq_codel" }).click();
  await expect(page.locator(".timeline li")).toContainText("queue = fq_codel");
  const changed = await clock(page);
  await reach(page, changed + 8);
  expect(["A+", "A"]).toContain(await grade(page));
  await expect(page.getByLabel("discipline")).toHaveValue("fq_codel");
});

test("undo runs again without the last change", async ({ page }) => {
  await open(page);
  await reach(page, 6);
  await page.getByRole("button", { name: "Use fq_codel" }).click();
  await expect(page.locator(".timeline li")).toHaveCount(1);
  await page.getByRole("button", { name: /^Undo/ }).click();
  await expect(page.locator(".timeline li")).toHaveCount(0);
  await expect(page.locator(".notice")).toContainText("Undone");
  await expect(page.getByLabel("discipline")).toHaveValue("fifo");
  await expect.poll(() => clock(page)).toBeGreaterThan(6);
});

test("flows are added and stopped while the run goes on", async ({ page }) => {
  await open(page);
  for (const name of ["+ Web pages", "+ Upload", "+ Game", "+ Ping", "+ Video call", "+ Download"]) await page.getByRole("button", { name }).click();
  await expect(page.locator(".flows li")).toHaveCount(9);
  await expect(page.locator(".timeline li")).toHaveCount(6);
  await page.getByRole("button", { name: "Stop upload" }).click();
  await expect(page.locator(".flows li")).toHaveCount(8);
  await expect(page.locator(".timeline li").last()).toContainText("stop upload");
  await expect(page.locator(".notice")).toHaveCount(0);
});

test("rate, RTT, buffer and loss change at once, one directly after the other", async ({ page }) => {
  await open(page);
  for (const [label, value] of [["rate, as text", "8Mbit/s"], ["RTT, as text", "50ms"], ["buffer, as text", "200p"], ["loss", "0.001"]] as const) {
    await page.getByLabel(label, { exact: true }).fill(value);
    await page.getByLabel(label, { exact: true }).press("Enter");
  }
  await expect(page.locator(".timeline li")).toHaveCount(4);
  await expect(page.locator(".notice")).toHaveCount(0);
  await expect(page.getByLabel("rate, as text")).toHaveValue("8Mbit/s");
});

test("another algorithm and ECN take effect at once, with a new connection, and are undone in one step", async ({ page }) => {
  await open(page);
  await reach(page, 2);
  await page.getByLabel("Congestion control of download").selectOption("bbr");
  await expect(page.locator(".notice")).toContainText("download: bbr: at once, with a new connection, download 2.");
  await expect(page.locator(".timeline li")).toHaveText([/\+ download 2/, /stop download/]);
  await expect(page.getByLabel("Congestion control of download 2")).toHaveValue("bbr");
  // The box follows the document, which changes when the engine has answered.
  await page.getByLabel("ECN for all TCP flows").click();
  await expect(page.locator(".timeline li")).toHaveCount(4);
  await expect(page.getByLabel("ECN for all TCP flows")).toBeChecked();
  await page.getByRole("button", { name: /^Undo/ }).click();
  await expect(page.locator(".timeline li")).toHaveCount(2);
  await page.getByRole("button", { name: /^Undo/ }).click();
  await expect(page.locator(".timeline li")).toHaveCount(0);
  await expect.poll(() => clock(page)).toBeGreaterThan(2);
});

test("what cannot change during a run starts it again and says so", async ({ page }) => {
  await open(page);
  await page.getByText("Impairments").click();
  await page.getByLabel("duplication").fill("0.01");
  await page.getByLabel("duplication").press("Enter");
  await expect(page.locator(".notice")).toContainText("started again at 0 s");
  await expect(page.locator(".timeline li")).toHaveCount(0);
});

test.describe(() => {
  test.use({ bypassCSP: true });
  for (const [what, error, message] of [
    ["panic", 'Error("the engine failed: panicked at x.rs")', "panicked at x.rs"],
    ["trap", 'WebAssembly.RuntimeError("unreachable")', "unreachable"],
  ] as const) {
    test(`a ${what} of the engine gives one line, and the link that repeats the run`, async ({ page }) => {
      // The engine has no known panic, so the module is made to fail after some calls.
      const trap = `const begin = WebAssembly.instantiateStreaming; WebAssembly.instantiateStreaming = async (...given) => {
        const made = await begin(...given); let calls = 0;
        const exports = { ...made.instance.exports };
        exports.lab_advance = (...values) => { calls += 1; if (calls > 40) throw new ${error}; return made.instance.exports.lab_advance(...values); };
        return { module: made.module, instance: { exports } };
      };`;
      await inWorkers(page, trap);
      await page.goto("./");
      await expect(page.getByRole("alert")).toContainText(`The engine stopped: ${message}. Load`);
      await expect(page.getByRole("link", { name: "This link repeats the run up to here." })).toHaveAttribute("href", /^#1\./);
    });
  }
});

test("a value that is not allowed gives one line, and nothing changes", async ({ page }) => {
  await open(page);
  await page.getByLabel("rate, as text").fill("fast");
  await page.getByLabel("rate, as text").press("Enter");
  await expect(page.locator(".notice.error")).toContainText("dumbbell.rate");
  await expect(page.locator(".timeline li")).toHaveCount(0);
});

test("every queue discipline and every congestion control can be used", async ({ page }) => {
  test.setTimeout(180_000);
  await open(page);
  const queues = await page.getByLabel("discipline").locator("option").allInnerTexts();
  expect(queues.length).toBeGreaterThan(20);
  for (const queue of queues) {
    await page.getByLabel("discipline").selectOption(queue);
    await expect(page.getByLabel("discipline")).toHaveValue(queue);
    await expect(page.locator(".notice.error")).toHaveCount(0);
  }
  const control = page.getByLabel(/^Congestion control of download/);
  const algorithms = await control.locator("option").allInnerTexts();
  expect(algorithms.length).toBeGreaterThan(20);
  for (const algorithm of algorithms) {
    // For a moment, the old connection and the new one are both there.
    await expect(control).toHaveCount(1);
    await control.selectOption(algorithm);
    await expect(control).toHaveValue(algorithm);
    await expect(page.locator(".notice.error")).toHaveCount(0);
  }
});

test("every link preset runs", async ({ page }) => {
  test.setTimeout(120_000);
  await open(page);
  const presets = await page.getByLabel("preset").locator("option").allInnerTexts();
  for (const preset of presets.slice(1)) {
    await page.getByLabel("preset").selectOption(preset);
    await expect(page.locator(".notice").first()).toContainText("started again at 0 s");
    await expect.poll(() => clock(page)).toBeGreaterThan(0.5);
    await expect(page.locator(".grade")).toBeVisible();
  }
});

test("changes that follow at once on one that starts the run again are all made", async ({ page }) => {
  await open(page);
  // All of them before the engine has answered the first.
  await page.evaluate(() => {
    const set = (label: string, value: string): void => {
      const select = document.querySelector<HTMLSelectElement>(`select[aria-label="${label}"]`);
      if (!select) throw new Error(label);
      select.value = value;
      select.dispatchEvent(new Event("change", { bubbles: true }));
    };
    const press = (text: string): void => [...document.querySelectorAll("button")].find((button) => button.textContent === text)?.click();
    const duplication = [...document.querySelectorAll("label")].find((label) => label.textContent?.startsWith("duplication"))?.querySelector("input");
    if (!duplication) throw new Error("duplication");
    duplication.value = "0.01";
    duplication.dispatchEvent(new Event("change", { bubbles: true }));
    set("Congestion control of download", "newreno");
    press("+ Web pages");
    press("+ Web pages");
  });
  await expect(page.locator(".flow-name")).toHaveText(["download", "call", "ping", "web", "web 2"]);
  await expect(page.getByLabel("Congestion control of download")).toHaveValue("newreno");
  await expect(page.getByLabel("duplication")).toHaveValue("0.01");
});

test("a rate trace of the user is opened, and a file that is no trace gives one line", async ({ page }) => {
  await open(page);
  const file = (name: string, text: string): object => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  const upload = page.getByLabel("rate trace");
  await upload.setInputFiles(file("photo.txt", "1\n2\n<b>\n") as never);
  await expect(page.locator(".notice.error")).toContainText("`photo.txt` line 3: must be a whole number of milliseconds");
  await upload.setInputFiles(file("train.up", Array.from({ length: 500 }, (_, index) => 2 * index).join("\n")) as never);
  await expect(page.locator(".notice")).toContainText("The rate follows train.up");
  await expect(page.getByLabel("rate, as text")).toBeDisabled();
  await expect.poll(() => clock(page)).toBeGreaterThan(2);
  await expect(page.locator(".picture canvas")).toHaveAttribute("aria-label", /The link sends [56][0-9.]* Mbit\/s/);
});

test("a parameter of a queue is changed and restored", async ({ page }) => {
  await open(page);
  await page.getByRole("button", { name: "Use fq_codel" }).click();
  await page.getByText("Parameters of fq_codel").click();
  await page.getByLabel("target", { exact: true }).fill("20ms");
  await page.getByLabel("target", { exact: true }).press("Enter");
  await expect(page.locator(".timeline li").last()).toContainText("queue target = 20ms");
  await page.getByRole("button", { name: "Restore the default of target" }).click();
  await expect(page.getByLabel("target", { exact: true })).toHaveValue("5ms");
});

test("time: pause, step, jump to the end, start again", async ({ page }) => {
  await open(page);
  await pause(page);
  const stopped = await clock(page);
  await page.getByRole("button", { name: "Advance 50 ms" }).click();
  await expect.poll(async () => Number(((await clock(page)) - stopped).toFixed(2))).toBeCloseTo(0.05, 1);
  await page.getByRole("button", { name: "Jump to the end" }).click();
  await expect(page.locator(".outcome")).toBeVisible();
  const first = await digest(page);
  await page.getByRole("button", { name: "Start again" }).click();
  await expect(page.locator(".outcome")).toHaveCount(0);
  await page.getByRole("button", { name: "Jump to the end" }).click();
  await expect(page.locator(".outcome")).toBeVisible();
  expect(await digest(page)).toBe(first);
});

test("two steps in quick succession both reach the page, however fast it draws", async ({ page }) => {
  // A page that draws at once answers a frame sooner than the next one may be sent.
  await page.addInitScript(() => {
    window.requestAnimationFrame = (callback) => window.setTimeout(() => callback(performance.now()), 0);
  });
  await open(page);
  await pause(page);
  // A frame may still be on its way when the pause is shown. After a step there is none.
  const paused = await clock(page);
  await page.getByRole("button", { name: "Advance 50 ms" }).click();
  await expect.poll(() => clock(page)).toBeGreaterThan(paused + 0.045);
  const stopped = await clock(page);
  await page.evaluate(async () => {
    const step = document.querySelector<HTMLButtonElement>('[aria-label="Advance 50 ms"]');
    const time = document.querySelector('[aria-label="Simulated time"]');
    if (!step || !time) throw new Error("no step or no time");
    const drawn = new Promise((resolve) => new MutationObserver(resolve).observe(time, { childList: true, characterData: true, subtree: true }));
    step.click();
    await drawn;
    step.click();
  });
  await expect.poll(async () => (await clock(page)) - stopped).toBeCloseTo(0.1, 2);
});

test("side by side: the same traffic through two and three queues, with the best values in bold", async ({ page }) => {
  await open(page);
  await reach(page, 5);
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page.locator(".verdict.table thead th")).toHaveText(["measure", "fifo", "fq_codel"]);
  await page.getByRole("button", { name: "+ a third lane" }).click();
  await expect(page.locator(".verdict.table thead th")).toHaveText(["measure", "fifo", "fq_codel", "cake"]);
  await reach(page, 15);
  const increase = await page.locator(".verdict.table tr", { hasText: "RTT increase" }).locator("td").allInnerTexts();
  expect(Number.parseFloat(increase[0] ?? "")).toBeGreaterThan(200);
  expect(Number.parseFloat(increase[1] ?? "")).toBeLessThan(20);
  expect(await page.locator(".best").count()).toBeGreaterThan(3);
  await page.getByRole("button", { name: "+ Web pages" }).click();
  await expect(page.locator(".timeline li")).toHaveCount(1);
  await page.getByRole("button", { name: "Remove lane 3" }).click();
  await page.getByRole("button", { name: "Remove lane 2" }).click();
  await expect(page.locator(".sentence")).toBeVisible();
});
