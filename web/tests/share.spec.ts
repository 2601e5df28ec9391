import { deflateSync, strToU8 } from "fflate";
import { parquetReadObjects } from "hyparquet";
import { clock, digest, expect, open, pause, reach, test, watch } from "./lab";

test("a link opened in a fresh profile gives the same numbers", async ({ page, browser }) => {
  await open(page);
  await reach(page, 5);
  await page.getByRole("button", { name: "Use fq_codel" }).click();
  await page.getByRole("button", { name: "+ Web pages" }).click();
  await expect(page.locator(".timeline li")).toHaveCount(2);
  await reach(page, 9);
  await page.getByRole("button", { name: "Stop web" }).click();
  await expect(page.locator(".timeline li")).toHaveCount(3);
  await pause(page);
  await page.getByText("Share", { exact: true }).click();
  await page.getByRole("button", { name: "Copy a link to this run" }).click();
  const box = page.getByLabel("What was copied");
  await expect(box).toHaveValue(/#1\./);
  const link = await box.inputValue();
  const [time, sentence] = [await clock(page), await page.locator(".sentence").innerText()];
  await page.getByText("Share", { exact: true }).click();
  await page.getByRole("button", { name: "Jump to the end" }).click();
  await expect(page.locator(".outcome")).toBeVisible();
  const here = await digest(page);

  const context = await browser.newContext();
  const other = await context.newPage();
  const problems = watch(other);
  await other.goto(link);
  await expect(other.getByRole("button", { name: "Run", exact: true })).toBeVisible();
  await expect(other.locator(".timeline li")).toHaveCount(3);
  await expect.poll(() => clock(other)).toBeCloseTo(time, 1);
  await expect(other.locator(".sentence")).toHaveText(sentence);
  await other.getByRole("button", { name: "Jump to the end" }).click();
  await expect(other.locator(".outcome")).toBeVisible();
  expect(await digest(other)).toBe(here);
  expect(problems).toEqual([]);
  await context.close();
});

test("TOML, command, Python and tc are copied, and tables, pcap and pictures are downloaded", async ({ page }) => {
  await open(page);
  await page.getByLabel("length").selectOption("30s");
  await expect.poll(() => clock(page)).toBeGreaterThan(1);
  await page.getByRole("button", { name: "Use fq_codel" }).click();
  await expect(page.locator(".timeline li")).toHaveCount(1);
  await page.getByText("Share", { exact: true }).click();
  const box = page.getByLabel("What was copied");
  for (const [name, text] of [["TOML", "[[timeline]]"], ["Command", "bloatlab simulate lab.toml --seed 1"], ["Python", "bl.run(document, seed=1)"], ["tc", "tc qdisc replace dev eth0"]] as const) {
    await page.getByRole("button", { name, exact: true }).click();
    await expect(box).toHaveValue(new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
  }
  const downloaded = async (name: string): Promise<Buffer> => {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name, exact: true }).click();
    const parts: Buffer[] = [];
    for await (const part of await (await download).createReadStream()) parts.push(part as Buffer);
    return Buffer.concat(parts);
  };
  for (const name of ["pcap", "Charts, SVG", "Charts, PNG"]) expect((await downloaded(name)).length).toBeGreaterThan(500);
  for (const name of ["Flows", "Links", "Probes"]) {
    const [header = "", ...lines] = (await downloaded(`${name}, CSV`)).toString().trimEnd().split("\n");
    const file = await downloaded(`${name}, Parquet`);
    const rows = await parquetReadObjects({ file: file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer });
    expect(rows.map((row) => Object.values(row).map((value) => (value === null ? "" : String(value))).join(",")).slice(0, 50)).toEqual(lines.slice(0, 50));
    expect([Object.keys(rows[0] ?? {}).join(","), rows.length]).toEqual([header, lines.length]);
  }
});

const packed = (value: unknown): string => `#1.${Buffer.from(deflateSync(strToU8(typeof value === "string" ? value : JSON.stringify(value)))).toString("base64url")}`;
const scenario = (more: object): object => ({ document: { name: "x", duration: "20s", dumbbell: { rate: "10Mbit/s", rtt: "20ms" }, flows: [{ name: "download" }], timeline: [], ...more }, seed: 1, now: 0, lanes: [] });

const HOSTILE: [string, string][] = [
  ["truncated", packed(scenario({})).slice(0, -20)],
  ["no base64", "#1.<img src=x onerror=alert(1)>"],
  ["another version", "#9.AAAA"],
  ["too long", `#1.${"A".repeat(70_000)}`],
  ["a bomb", packed(" ".repeat(50_000_000))],
  ["no JSON", packed("alert(1)")],
  ["no document", packed({ seed: 1 })],
  ["flows that are no list", packed(scenario({ flows: "x" }))],
  ["a prototype", packed('{"document":{"duration":"5s","__proto__":{"polluted":1},"flows":[{"__proto__":{"polluted":1}}],"timeline":[{"at":"1s","key":"__proto__.polluted","value":1}]}}')],
  ["a file", packed(scenario({ dumbbell: { rate: "10Mbit/s", rtt: "20ms", vary: { rate: { kind: "file", file: "/etc/passwd" } } } }))],
  ["a program", packed(scenario({ flows: [{ traffic: { kind: "command", client: ["sh"], server: ["sh"] } }] }))],
  ["a plugin", packed(scenario({ flows: [{ cca: "os:system" }] }))],
  ["too dear", packed(scenario({ duration: "24h", sample_interval: "1ms", dumbbell: { rate: "10Tbit/s", rtt: "20ms" } }))],
  ["an unknown key", packed(scenario({ "<b>": 1 }))],
];

for (const [name, fragment] of HOSTILE) {
  test(`a damaged or hostile link gives one line: ${name}`, async ({ page }) => {
    page.on("dialog", () => expect(false).toBe(true));
    await page.goto(`./${fragment}`);
    await expect(page.locator(".notice.error")).toBeVisible();
    await expect(page.locator(".notice.error")).toHaveCount(1);
    await expect(page.locator(".grade")).toBeVisible();
    expect(await page.evaluate(() => ("polluted" in {}))).toBe(false);
  });
}

test("a run that is too dear says so and offers a shorter one", async ({ page }) => {
  await page.goto(`./${packed(scenario({ duration: "24h", sample_interval: "1ms" }))}`);
  await expect(page.locator(".notice.error")).toContainText("are allowed");
  await page.getByRole("button", { name: /^Run [0-9.]+ s of it$/ }).click();
  await expect(page.locator(".notice")).toHaveCount(0);
  await expect(page.locator(".scenario")).toHaveText("x");
  await expect.poll(() => clock(page)).toBeGreaterThan(0.5);
});

test("names in a link are shown as text", async ({ page }) => {
  await page.goto(`./${packed(scenario({ name: "<img src=x onerror=alert(1)>", flows: [{ name: "<script>alert(1)</script>" }, { name: "ping", traffic: "ping" }] }))}`);
  await expect(page.locator(".scenario")).toHaveText("<img src=x onerror=alert(1)>");
  await expect(page.locator(".flow-name").first()).toHaveText("<script>alert(1)</script>");
  expect(await page.locator("img").count()).toBe(0);
});
