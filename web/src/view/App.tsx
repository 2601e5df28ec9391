import { useEffect } from "preact/hooks";
import { algorithms, document_, ended, fatal, jumpToEnd, lanes, notice, overrides, playing, restart, setPlaying, step, undo, version } from "../state/lab";
import { Charts } from "./Charts";
import { Compare, startComparing } from "./Compare";
import { Controls } from "./Controls";
import { LessonMenu, LessonStrip } from "./LessonStrip";
import { Picture } from "./Picture";
import { ShareMenu } from "./ShareMenu";
import { TimeControl } from "./TimeControl";
import { VerdictView } from "./VerdictView";

export function App() {
  useEffect(() => {
    document.addEventListener("keydown", shortcut);
    return () => document.removeEventListener("keydown", shortcut);
  }, []);
  if (fatal.value) return <Fatal {...fatal.value} />;
  if (!algorithms.value) return <p class="loading">Loading the engine…</p>;
  return (
    <>
      <a class="skip" href="#picture" onClick={(event) => skip(event)}>Skip to the picture</a>
      <header>
        <h1>bloatlab</h1>
        <span class="scenario">{document_.value.name}</span>
        <TimeControl />
        <nav aria-label="Tools">
          {overrides.value.length === 0 && <button type="button" onClick={startComparing}>Compare</button>}
          <ShareMenu />
          <LessonMenu />
        </nav>
      </header>
      <main>
        <div class="stage">
          <LessonStrip />
          <div id="picture" tabIndex={-1}>
            {lanes.value.map((_, index) => (
              <Picture key={index} index={index} />
            ))}
          </div>
          <Compare />
          <VerdictView />
          <Notice />
          <Outcome />
          <Charts />
        </div>
        <details class="drawer" open={!narrow.matches}>
          <summary>Controls</summary>
          <Controls />
        </details>
      </main>
      <footer>
        Engine {version.value.split("+")[0]}. Everything runs in this tab: nothing is sent anywhere. Keys: space runs or pauses, . advances, u undoes, Home starts again, End jumps to the end.
      </footer>
    </>
  );
}

const narrow = window.matchMedia("(max-width: 800px)");

function skip(event: Event): void {
  // The fragment belongs to shared scenarios.
  event.preventDefault();
  document.getElementById("picture")?.focus();
}

function Fatal({ text, link }: { text: string; link: string }) {
  return (
    <p class="fatal" role="alert">
      {text}
      {link && (
        <>
          {" "}
          <a href={link} target="_blank" rel="noreferrer">This link repeats the run up to here.</a>
        </>
      )}
    </p>
  );
}

function Notice() {
  const present = notice.value;
  return (
    <div class="notices" role="status">
      {present && (
        <p class={present.error ? "notice error" : "notice"}>
          {present.text}{" "}
          {present.offer && <button type="button" onClick={present.offer.take}>{present.offer.text}</button>}
          <button type="button" class="small" onClick={() => (notice.value = null)} aria-label="Close this message">×</button>
        </p>
      )}
    </div>
  );
}

function Outcome() {
  if (!ended.value) return null;
  return (
    <section class="outcome" aria-label="Result">
      {lanes.value.map((lane, index) => (
        <p key={index}>
          The run has ended. Its digest is <code>{lane?.outcome?.digest.slice(0, 16)}</code>; <code>bloatlab simulate</code> with the same document and seed gives the same.
        </p>
      ))}
    </section>
  );
}

function shortcut(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA|BUTTON|SUMMARY)$/.test(target.tagName)) return;
  const actions: Record<string, () => void> = { " ": () => setPlaying(!playing.value), ".": () => step(0.05), u: () => undo(), Home: restart, End: jumpToEnd };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}
