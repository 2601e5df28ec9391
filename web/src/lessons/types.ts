import type { Change } from "../engine/types";
import type { Scenario } from "../model/document";
import type { Override } from "../model/share";

/** A scenario with a text that asks, one thing to do, what to look at, and why. */
export interface Lesson {
  id: string;
  title: string;
  question: string;
  document: Scenario;
  lanes?: Override[];
  action: { text: string; button: string; change?: Change; lane?: Override };
  look: string;
  why: string;
  /** What a publication measured in this set-up. */
  published?: string;
}
