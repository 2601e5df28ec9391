// An hour in the lab, and the memory that it takes.
import type { CDPSession, Page, Worker } from "@playwright/test";
import { FIRST } from "../src/model/presets";
import { encode } from "../src/model/share";
import { clock, expect, inWorkers, open } from "./lab";

declare global {
  /** In the worker of an `Hour`: the memory of the engine. */
  var memory: WebAssembly.Memory;
}

const KEEP_MEMORY = `
  const instantiate = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (...given) => {
    const result = await instantiate(...given);
    self.memory = result.instance.exports.memory;
    return result;
  };
`;

export interface Memory {
  /** Memory of the engine, bytes. */
  engine: number;
  /** Heap of the page after a garbage collection with its typed arrays, bytes. */
  page: number;
}

export class Hour {
  private constructor(
    private readonly page: Page,
    private readonly worker: Worker,
    private readonly session: CDPSession,
  ) {}

  /** Opens the first screen with a run of an hour. */
  static async open(page: Page): Promise<Hour> {
    await inWorkers(page, KEEP_MEMORY);
    const worker = page.waitForEvent("worker");
    await open(page, `#${encode({ document: { ...FIRST, duration: "3600s" }, seed: 1, now: 0, lanes: [] })}`);
    return new Hour(page, await worker, await page.context().newCDPSession(page));
  }

  async toTheEnd(timeout: number): Promise<void> {
    await this.page.getByRole("button", { name: "Jump to the end" }).click();
    await expect(this.page.locator(".outcome")).toBeVisible({ timeout });
    expect(await clock(this.page)).toBe(3600);
  }

  async startAgain(): Promise<void> {
    await this.page.getByRole("button", { name: "Start again" }).click();
    await expect(this.page.locator(".outcome")).toHaveCount(0);
  }

  async memory(): Promise<Memory> {
    await this.session.send("HeapProfiler.collectGarbage");
    const heap = await this.session.send("Runtime.getHeapUsage");
    return {
      engine: await this.worker.evaluate(() => memory.buffer.byteLength),
      page: heap.usedSize + heap.backingStorageSize,
    };
  }
}
