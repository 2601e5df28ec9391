// What has just happened at the pictured link: drops that fall, and packets that are on the link.
import { DEQUEUE, DROP, ENQUEUE, MARK } from "../../engine/types";
import type { Lane } from "../../state/lane";

/** Wall-clock ms that a drop takes to fall out of the picture. */
export const FALL = 700;
const MOST_FALLING = 60;
const MOST_ON_LINK = 400;
/** Numbers of an event. */
const EVENT = 6;

export interface Falling {
  flow: number;
  /** Whether it was dropped when it arrived; otherwise it was the first of its queue. */
  atTail: boolean;
  /** Wall-clock time. */
  since: number;
  /** Pixels that keep drops of the same instant apart. */
  offset: number;
}
export interface Travelling {
  flow: number;
  left: number;
  marked: boolean;
}

export class Particles {
  falling: Falling[] = [];
  travelling: Travelling[] = [];
  /** Simulated times of the marks and drops in the last second. */
  marks: number[] = [];
  drops: number[] = [];
  private run: unknown = null;
  /** The packet that arrived last, until something else happens. */
  private arrived = { flow: -1, time: -1 };

  /** Forgets the drops that have fallen. Returns whether none is left. */
  settle(): boolean {
    const wall = performance.now();
    this.falling = this.falling.filter(({ since }) => wall - since < FALL);
    return this.falling.length === 0;
  }

  take(lane: Lane): void {
    if (this.run !== lane.history) {
      this.run = lane.history;
      this.falling = [];
      this.travelling = [];
      this.marks = [];
      this.drops = [];
    }
    const { events } = lane;
    lane.events = new Float64Array();
    for (let at = 0; at + EVENT <= events.length; at += EVENT) {
      if (events[at + 2] === lane.link) this.note(events[at] ?? 0, events[at + 1] ?? 0, events[at + 3] ?? 0, events[at + 5] === 1);
    }
    const delay = (lane.pictured?.delay_ns ?? 0) / 1e9;
    this.travelling = this.travelling.filter(({ left }) => lane.now - left < delay).slice(-MOST_ON_LINK);
    this.falling = this.falling.slice(-MOST_FALLING);
    this.settle();
    this.marks = this.marks.filter((time) => lane.now - time < 1).slice(-2000);
    this.drops = this.drops.filter((time) => lane.now - time < 1).slice(-2000);
  }

  private note(time: number, kind: number, flow: number, marked: boolean): void {
    if (kind === ENQUEUE) {
      this.arrived = { flow, time };
      return;
    }
    if (kind === DROP) {
      const atTail = this.arrived.flow === flow && this.arrived.time === time;
      this.drops.push(time);
      this.falling.push({ flow, atTail, since: performance.now(), offset: (this.drops.length * 9) % 36 });
    } else if (kind === MARK) {
      this.marks.push(time);
    } else if (kind === DEQUEUE) {
      this.travelling.push({ flow, left: time, marked });
    }
    this.arrived.flow = -1;
  }
}
