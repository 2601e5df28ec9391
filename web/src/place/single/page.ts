// What the page needs to know about its place: here, one file that holds everything.
import EngineWorker from "../../engine/worker.ts?worker&inline";

export function startWorker(): Worker {
  return new EngineWorker();
}

/** The file needs no network, and a service worker would need a second file. */
export function keepOffline(): void {}
