// The engine in a worker of Chromium, without the lab.
import { readFileSync } from "node:fs";
import type { Page, Worker } from "@playwright/test";
import type * as Engine from "../src/engine/pkg/bloatlab_web";
import { HOST } from "./address";
import { root } from "./python";

declare global {
  /** In the worker: the engine. */
  var engine: typeof Engine;
}

const ADDRESS = `http://${HOST}/engine/`;
const PAGE = "<!doctype html><title>engine</title>";
const WORKER = `
  import init, * as engine from "./bloatlab_web.js";
  await init();
  self.engine = engine;
  postMessage("ready");
`;
const TYPES: Record<string, string> = { js: "text/javascript", wasm: "application/wasm" };

/** Opens a page without content, and starts a worker in which functions can call the engine. */
export async function startEngine(page: Page): Promise<Worker> {
  await page.route(`${ADDRESS}*`, (route) => {
    const name = route.request().url().slice(ADDRESS.length);
    if (name === "") return route.fulfill({ contentType: "text/html", body: PAGE });
    if (name === "worker.js") return route.fulfill({ contentType: "text/javascript", body: WORKER });
    const contentType = TYPES[name.split(".").at(-1) ?? ""] ?? "text/plain";
    return route.fulfill({ contentType, body: readFileSync(`${root}/web/src/engine/pkg/${name}`) });
  });
  await page.goto(ADDRESS);
  const started = page.waitForEvent("worker");
  await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker("worker.js", { type: "module" });
        worker.onmessage = resolve;
        worker.onerror = (event) => reject(new Error(event.message));
      }),
  );
  return started;
}
