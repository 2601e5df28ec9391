import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { LESSONS } from "../lessons";
import type { Lesson } from "../lessons/types";
import { change } from "../state/changes";
import { addLane, load } from "../state/lab";
import { act } from "./act";

const lesson = signal<Lesson | null>(null);
/** 0: the question and the thing to do; 1: done, what to look at; 2: why. */
const stage = signal(0);
const menu = signal(false);

function begin(next: Lesson): void {
  lesson.value = next;
  stage.value = 0;
  menu.value = false;
  load({ document: next.document, seed: 1, now: 0, lanes: next.lanes ?? [] });
}

function perform({ action }: Lesson): void {
  stage.value = 1;
  if (action.lane) addLane(action.lane);
  const wanted = action.change;
  if (wanted) act(() => change(wanted.key, wanted.value));
}

export function LessonMenu() {
  return (
    <details class="menu" open={menu.value} onToggle={(event) => (menu.value = event.currentTarget.open)}>
      <summary>Lessons</summary>
      <ol class="sheet">
        {LESSONS.map((each) => (
          <li key={each.id}>
            <button type="button" class="wide" onClick={() => begin(each)}>{each.title}</button>
          </li>
        ))}
      </ol>
    </details>
  );
}

export function LessonStrip() {
  const present = lesson.value;
  const place = useRef<HTMLElement>(null);
  // The keyboard goes on from the lesson that was chosen.
  useEffect(() => place.current?.focus(), [present]);
  if (!present) return null;
  const next = LESSONS[LESSONS.indexOf(present) + 1];
  return (
    <section class="lesson" aria-label={`Lesson: ${present.title}`} tabIndex={-1} ref={place}>
      <h2>{present.title}</h2>
      <p>{present.question}</p>
      {stage.value === 0 && (
        <p>
          {present.action.text}{" "}
          <button type="button" class="suggestion" onClick={() => perform(present)}>{present.action.button}</button>
        </p>
      )}
      {stage.value >= 1 && (
        <p>
          <strong>Look.</strong> {present.look}{" "}
          {stage.value === 1 && <button type="button" class="suggestion" onClick={() => (stage.value = 2)}>Why?</button>}
        </p>
      )}
      {stage.value >= 2 && (
        <>
          <p>
            <strong>Why.</strong> {present.why}
          </p>
          {present.published && (
            <p>
              <strong>Published.</strong> {present.published}
            </p>
          )}
        </>
      )}
      <p class="row">
        {stage.value >= 2 && next && <button type="button" class="suggestion" onClick={() => begin(next)}>Next: {next.title}</button>}
        <button type="button" onClick={() => (lesson.value = null)}>Leave the lesson</button>
      </p>
    </section>
  );
}
