// Series of a run in bounded memory: bins of equal length, which are merged in pairs when there are too many. A merged bin keeps its extremes.

const MOST_BINS = 8192;

interface Track {
  low: Float32Array;
  high: Float32Array;
  sum: Float64Array;
  count: Uint32Array;
}

export class History {
  private readonly tracks = new Map<string, Track>();
  private readonly first: number;
  /** Length of a bin, seconds. */
  bin: number;
  bins = 0;

  constructor(bin: number) {
    this.bin = bin;
    this.first = bin;
  }

  add(key: string, time: number, value: number): void {
    if (!Number.isFinite(value)) return;
    let index = this.index(time);
    while (index >= MOST_BINS) {
      this.merge();
      index = this.index(time);
    }
    const track = this.tracks.get(key) ?? this.create(key);
    const empty = track.count[index] === 0;
    track.low[index] = empty ? value : Math.min(track.low[index] ?? value, value);
    track.high[index] = empty ? value : Math.max(track.high[index] ?? value, value);
    track.sum[index] = (track.sum[index] ?? 0) + value;
    track.count[index] = (track.count[index] ?? 0) + 1;
    this.bins = Math.max(this.bins, index + 1);
  }

  has(key: string): boolean {
    return this.tracks.has(key);
  }

  /** Mean of the values from one time to another; NaN without values. */
  mean(key: string, from: number, to: number): number {
    let sum = 0;
    let count = 0;
    this.each(key, from, to, (track, index) => {
      sum += track.sum[index] ?? 0;
      count += track.count[index] ?? 0;
    });
    return sum / count;
  }

  /** Sum of the values of a counter from one time to another. */
  total(key: string, from: number, to: number): number {
    let sum = 0;
    this.each(key, from, to, (track, index) => {
      sum += track.sum[index] ?? 0;
    });
    return sum;
  }

  /** Mean of the last bin with a value up to a time; NaN if there is none. */
  last(key: string, before: number): number {
    const track = this.tracks.get(key);
    if (!track) return NaN;
    for (let index = Math.min(this.index(before), this.bins - 1); index >= 0; index -= 1) {
      const count = track.count[index] ?? 0;
      if (count > 0) return (track.sum[index] ?? 0) / count;
    }
    return NaN;
  }

  /** Percentiles of the bins' means. */
  percentiles(key: string, from: number, to: number, shares: readonly number[]): number[] {
    const values: number[] = [];
    this.each(key, from, to, (track, index) => {
      values.push((track.sum[index] ?? 0) / (track.count[index] ?? 1));
    });
    values.sort((a, b) => a - b);
    return shares.map((share) => values[Math.min(values.length - 1, Math.floor(share * values.length))] ?? NaN);
  }

  /** Times of the bins in a window. Merged bins have two times, for their lowest and their highest value. */
  times(from: number, to: number): number[] {
    const times: number[] = [];
    const [start, end] = this.range(from, to);
    for (let index = start; index < end; index += 1) {
      times.push(index * this.bin);
      if (this.merged) times.push((index + 0.5) * this.bin);
    }
    return times;
  }

  /** Values at `times`. A bin without a value is a gap; `undefined` lets the line continue across it. */
  values(key: string, from: number, to: number, gaps: boolean): (number | null | undefined)[] {
    const track = this.tracks.get(key);
    const [start, end] = this.range(from, to);
    const values: (number | null | undefined)[] = [];
    for (let index = start; index < end; index += 1) {
      const filled = track !== undefined && (track.count[index] ?? 0) > 0;
      const low = filled ? track.low[index] : gaps ? null : undefined;
      values.push(low);
      if (this.merged) values.push(filled ? track.high[index] : low);
    }
    return values;
  }

  /** Means at `times`, 0 where there is none: for areas that are stacked. */
  means(key: string, from: number, to: number): number[] {
    const track = this.tracks.get(key);
    const [start, end] = this.range(from, to);
    const values: number[] = [];
    for (let index = start; index < end; index += 1) {
      const count = track?.count[index] ?? 0;
      const mean = count > 0 ? (track?.sum[index] ?? 0) / count : 0;
      values.push(mean);
      if (this.merged) values.push(mean);
    }
    return values;
  }

  get merged(): boolean {
    return this.bin > this.first;
  }

  private index(time: number): number {
    return Math.max(0, Math.floor(time / this.bin + 1e-6));
  }

  /** One bin more on either side, so that lines reach the edges of the chart. */
  private range(from: number, to: number): [number, number] {
    return [Math.max(0, this.index(from) - 1), Math.min(this.bins, this.index(to) + 2)];
  }

  private each(key: string, from: number, to: number, visit: (track: Track, index: number) => void): void {
    const track = this.tracks.get(key);
    if (!track) return;
    const end = Math.min(this.bins, this.index(to) + 1);
    for (let index = this.index(from); index < end; index += 1) if ((track.count[index] ?? 0) > 0) visit(track, index);
  }

  private create(key: string): Track {
    const track = {
      low: new Float32Array(MOST_BINS),
      high: new Float32Array(MOST_BINS),
      sum: new Float64Array(MOST_BINS),
      count: new Uint32Array(MOST_BINS),
    };
    this.tracks.set(key, track);
    return track;
  }

  private merge(): void {
    this.bin *= 2;
    this.bins = Math.ceil(this.bins / 2);
    for (const track of this.tracks.values()) mergePairs(track);
  }
}

function mergePairs({ low, high, sum, count }: Track): void {
  for (let to = 0; to < MOST_BINS / 2; to += 1) {
    const [a, b] = [2 * to, 2 * to + 1];
    const [first, second] = [count[a] ?? 0, count[b] ?? 0];
    low[to] = first === 0 ? (low[b] ?? 0) : second === 0 ? (low[a] ?? 0) : Math.min(low[a] ?? 0, low[b] ?? 0);
    high[to] = first === 0 ? (high[b] ?? 0) : second === 0 ? (high[a] ?? 0) : Math.max(high[a] ?? 0, high[b] ?? 0);
    sum[to] = (sum[a] ?? 0) + (sum[b] ?? 0);
    count[to] = first + second;
  }
  for (const array of [low, high, sum, count]) array.fill(0, MOST_BINS / 2);
}
