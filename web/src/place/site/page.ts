// What the page needs to know about its place: here, files on a web server.

export function startWorker(): Worker {
  return new Worker(new URL("../../engine/worker.ts", import.meta.url), { type: "module" });
}

/** Lets the lab open without a network from now on. */
export function keepOffline(): void {
  if ("serviceWorker" in navigator && import.meta.env.PROD) void navigator.serviceWorker.register("./sw.js").catch(() => undefined);
}
