import { useState } from "preact/hooks";
import { encode } from "../model/share";
import { command, python, toml } from "../model/texts";
import { ask, document_, notice, queue, seed, shared } from "../state/lab";
import { act } from "./act";
import { chartsAsPng, chartsAsSvg } from "./picturefile";

const TABLES = [["flow_series", "Flows"], ["link_series", "Links"], ["probe_series", "Probes"]] as const;
const FORMATS = [["csv", "CSV"], ["parquet", "Parquet"]] as const;
const TYPES = { csv: "text/csv", parquet: "application/vnd.apache.parquet", pcap: "application/vnd.tcpdump.pcap" } as const;

export function ShareMenu() {
  const [text, setText] = useState("");
  const copyText = async (what: string, value: string): Promise<void> => {
    setText(value);
    try {
      await navigator.clipboard.writeText(value);
      notice.value = { text: `${what} copied.`, error: false };
    } catch {
      notice.value = { text: `The browser does not allow copying. Select the text below.`, error: false };
    }
  };
  const link = async (): Promise<void> => {
    const fragment = encode(shared());
    history.replaceState(null, "", `#${fragment}`);
    await copyText("The link was", location.href);
  };
  const table = (name: string, format: "csv" | "parquet") => async (): Promise<void> => save(`${name}.${format}`, TYPES[format], await ask.export(format, name));
  return (
    <details class="menu">
      <summary>Share</summary>
      <div class="sheet">
        <button type="button" class="wide" onClick={() => act(link)}>Copy a link to this run</button>
        <p class="quiet">The link holds the scenario, its changes and the seed. It is read only in the reader's browser.</p>
        <h2>Copy</h2>
        <div class="row">
          <button type="button" onClick={() => act(() => copyText("TOML was", toml(document_.value)))}>TOML</button>
          <button type="button" onClick={() => act(() => copyText("The command was", command(document_.value, seed.value)))}>Command</button>
          <button type="button" onClick={() => act(() => copyText("Python was", python(document_.value, seed.value)))}>Python</button>
          <button type="button" onClick={() => act(async () => copyText("tc commands were", (await ask.tc(queue.value)).join("\n")))}>tc</button>
        </div>
        <h2>Download (the whole run)</h2>
        <div class="row">
          {TABLES.flatMap(([name, label]) =>
            FORMATS.map(([format, suffix]) => (
              <button type="button" key={name + format} onClick={() => act(table(name, format))}>{label}, {suffix}</button>
            )),
          )}
          <button type="button" onClick={() => act(async () => save("bloatlab.pcap", TYPES.pcap, await ask.export("pcap")))}>pcap</button>
          <button type="button" onClick={() => act(async () => save("charts.svg", "image/svg+xml", await chartsAsSvg()))}>Charts, SVG</button>
          <button type="button" onClick={() => act(async () => save("charts.png", "image/png", await chartsAsPng()))}>Charts, PNG</button>
        </div>
        {text && <textarea readOnly rows={8} value={text} aria-label="What was copied" onFocus={(event) => event.currentTarget.select()} />}
      </div>
    </details>
  );
}

function save(name: string, type: string, content: string | Uint8Array | Blob): void {
  const blob = content instanceof Blob ? content : new Blob([content as BlobPart], { type });
  const address = URL.createObjectURL(blob);
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
