import { bbr } from "./bbr";
import { bufferbloat } from "./bufferbloat";
import { buffersize } from "./buffersize";
import { cell } from "./cell";
import { codel } from "./codel";
import { flowqueueing } from "./flowqueueing";
import { l4s } from "./l4s";
import { mmwave } from "./mmwave";
import type { Lesson } from "./types";

export const LESSONS: readonly Lesson[] = [bufferbloat, buffersize, codel, flowqueueing, bbr, l4s, cell, mmwave];
