import { labelOf, removeChange } from "../state/changes";
import { document_, duration, ended, jumpToEnd, now, playing, restart, setPlaying, setSpeed, slow, speed, step, undo, undoLabel } from "../state/lab";
import { seconds, short } from "../model/units";
import { Icon } from "./Icon";

const SPEEDS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

export function TimeControl() {
  return (
    <div class="time" role="group" aria-label="Time">
      <button type="button" onClick={restart} title="Start again (Home)" aria-label="Start again"><Icon name="restart" /></button>
      <button type="button" class="play" onClick={() => setPlaying(!playing.value)} title="Run or pause (space)" aria-label={playing.value ? "Pause" : "Run"}>
        <Icon name={playing.value ? "pause" : "run"} />
      </button>
      <button type="button" onClick={() => step(0.05)} title="Advance 50 ms (.)" aria-label="Advance 50 ms" disabled={ended.value}><Icon name="step" /></button>
      <button type="button" onClick={jumpToEnd} title="Run to the end as fast as possible (End)" aria-label="Jump to the end" disabled={ended.value}><Icon name="end" /></button>
      <label>
        <span class="hidden">Speed</span>
        <select value={String(speed.value)} onChange={(event) => setSpeed(Number(event.currentTarget.value))}>
          {SPEEDS.map((value) => (
            <option key={value} value={String(value)}>{value}×</option>
          ))}
        </select>
      </label>
      <output class="clock" aria-label="Simulated time">
        {now.value.toFixed(2)} s <span class="quiet">of {short(duration.value)} s{ended.value ? ", ended" : slow.value ? ", as fast as possible" : ""}</span>
      </output>
      <button type="button" class="undo" onClick={() => undo()} disabled={!undoLabel.value} title="Run again without the last change (u)">
        Undo{undoLabel.value ? ` “${undoLabel.value}”` : ""}
      </button>
    </div>
  );
}

export function Timeline() {
  const entries = document_.value.timeline;
  if (entries.length === 0) return null;
  return (
    <section class="timeline" aria-label="Changes">
      <h2>Changes</h2>
      <ol>
        {entries.map((entry, index) => (
          <li key={`${entry.at}${entry.key}${index}`}>
            <span class="quiet">{short(seconds(entry.at))} s</span> {labelOf(entry)}
            <button type="button" class="small" onClick={() => removeChange(index)} aria-label={`Remove the change ${labelOf(entry)}`}>×</button>
          </li>
        ))}
      </ol>
    </section>
  );
}
