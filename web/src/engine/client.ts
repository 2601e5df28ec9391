// The page's side of the worker.
import { startWorker } from "#place/page";
import type { Change, Description, Reply, Request } from "./types";

type Listener = (reply: Exclude<Reply, { type: "answer" | "error" }>) => void;
interface Waiting {
  resolve: (answer: { value: unknown; description?: Description }) => void;
  reject: (error: Error) => void;
}
type Question<T> = T extends { id: number } ? Omit<T, "id"> : never;

export class Engine {
  private readonly worker = startWorker();
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;

  constructor(listener: Listener) {
    this.worker.onmessage = (event: MessageEvent<Reply>) => {
      const reply = event.data;
      if (reply.type !== "answer" && reply.type !== "error") return listener(reply);
      const waiting = this.waiting.get(reply.id);
      this.waiting.delete(reply.id);
      if (reply.type === "answer") waiting?.resolve(reply);
      else waiting?.reject(new Error(reply.message));
    };
    this.worker.onerror = (event) => listener({ type: "failed", message: event.message || "the engine could not be loaded" });
  }

  tell(request: Exclude<Request, { id: number }>): void {
    this.worker.postMessage(request);
  }

  private ask(question: Question<Request>): Promise<{ value: unknown; description?: Description }> {
    const id = (this.lastId += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ ...question, id });
    });
  }

  /** Applies changes at one instant, now. The promise fails with the engine's line at the first that is not possible; those before it stay. */
  async apply(lane: number, changes: readonly Change[]): Promise<Description> {
    const answer = await this.ask({ type: "apply", lane, changes });
    if (!answer.description) throw new Error("the engine did not describe the changed run");
    return answer.description;
  }

  /** Canonical form of a document. The promise fails with the engine's line if the document is not valid. */
  async check(document: string): Promise<string> {
    return String((await this.ask({ type: "check", document })).value);
  }

  /** Milliseconds of a rate trace in the format of mahimahi. The promise fails with the line that is wrong. */
  async deliveries(name: string, text: string): Promise<number[]> {
    return (await this.ask({ type: "deliveries", name, text })).value as number[];
  }

  async tc(queue: string, device: string): Promise<string[]> {
    return (await this.ask({ type: "tc", queue, device })).value as string[];
  }

  /** Runs a document to its end in addition to the lanes, and returns a table or the packets as a file. */
  async export(document: string, seed: number, what: "csv" | "parquet" | "pcap", table: string): Promise<string | Uint8Array> {
    return (await this.ask({ type: "export", document, seed, what, table })).value as string | Uint8Array;
  }
}
