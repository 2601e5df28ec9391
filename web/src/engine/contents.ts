// What a queue holds: runs of packets that have the band, the queue, the flow and the mark in common.
import type { Band } from "./types";

/** Numbers of a run: band, queue, flow index, 1 if the packets carry CE, and how many they are. */
const RUN = 5;

/** The runs of one queue. */
export interface HeldQueue {
  band: number;
  /** Its runs, in order if that is known: `from` is the index of the first, `to` that after the last. */
  from: number;
  to: number;
  packets: number;
  /** The flow of lowest index that has packets in it. */
  flow: number;
}

export class Contents {
  readonly queues: HeldQueue[] = [];
  /** Packets of each flow. */
  readonly flows = new Map<number, number>();
  packets = 0;
  marked = 0;

  /** `numbers` as the engine gives them: 1 if the order is known, then the runs, sorted by band and queue. */
  constructor(
    private readonly numbers: Uint32Array,
    readonly bands: readonly Band[],
  ) {
    let number = -1;
    for (let run = 0; run < (numbers.length - 1) / RUN; run += 1) {
      const [band, flow, packets] = [this.band(run), this.flow(run), this.count(run)];
      let last = this.queues.at(-1);
      if (!last || last.band !== band || number !== this.queue(run)) {
        last = { band, from: run, to: run, packets: 0, flow };
        number = this.queue(run);
        this.queues.push(last);
      }
      last.to = run + 1;
      last.packets += packets;
      last.flow = Math.min(last.flow, flow);
      this.flows.set(flow, (this.flows.get(flow) ?? 0) + packets);
      this.packets += packets;
      if (this.isMarked(run)) this.marked += packets;
    }
  }

  get inOrder(): boolean {
    return this.numbers[0] === 1;
  }

  flow(run: number): number {
    return this.at(run, 2);
  }

  isMarked(run: number): boolean {
    return this.at(run, 3) === 1;
  }

  count(run: number): number {
    return this.at(run, 4);
  }

  /** Packets in a band. */
  inBand(band: number): number {
    return this.queues.reduce((sum, queue) => sum + (queue.band === band ? queue.packets : 0), 0);
  }

  private band(run: number): number {
    return this.at(run, 0);
  }

  private queue(run: number): number {
    return this.at(run, 1);
  }

  private at(run: number, place: number): number {
    return this.numbers[1 + run * RUN + place] ?? 0;
  }
}
