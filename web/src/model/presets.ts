// The scenario of the first screen, links that people know, and flows that can be added.
import type { FlowTable, Scenario, Table } from "./document";

export const FIRST: Scenario = {
  name: "home link",
  duration: "120s",
  sample_interval: "50ms",
  dumbbell: { rate: "20Mbit/s", reverse_rate: "5Mbit/s", rtt: "30ms", queue: { kind: "fifo", limit: "1000p" } },
  flows: [
    { name: "download", cca: "cubic" },
    { name: "call", traffic: { kind: "cbr", rate: "1Mbit/s" } },
    { name: "ping", traffic: { kind: "ping", interval: "100ms" } },
  ],
  timeline: [],
};

export interface FlowKind {
  id: string;
  label: string;
  flow: FlowTable;
}

export const FLOW_KINDS: readonly FlowKind[] = [
  { id: "download", label: "Download", flow: { cca: "cubic" } },
  { id: "upload", label: "Upload", flow: { cca: "cubic", direction: "reverse" } },
  { id: "web", label: "Web pages", flow: { traffic: { kind: "fetch", response: "500kB", interval: "2s" } } },
  { id: "call", label: "Video call", flow: { traffic: { kind: "cbr", rate: "1Mbit/s" } } },
  { id: "game", label: "Game", flow: { traffic: { kind: "cbr", rate: "100kbit/s", packet: "200B" } } },
  { id: "ping", label: "Ping", flow: { traffic: { kind: "ping", interval: "100ms" } } },
];

export interface LinkPreset {
  id: string;
  label: string;
  about: string;
  network: { dumbbell?: Table; cell?: Table };
}

const fifo = (limit: string): Table => ({ kind: "fifo", limit });

export const LINKS: readonly LinkPreset[] = [
  { id: "home", label: "Home link", about: "20 Mbit/s down, 5 Mbit/s up, 30 ms, FIFOs of 1000 packets", network: { dumbbell: { rate: "20Mbit/s", reverse_rate: "5Mbit/s", rtt: "30ms", queue: fifo("1000p") } } },
  { id: "dsl", label: "DSL", about: "16 Mbit/s down, 1 Mbit/s up, 40 ms", network: { dumbbell: { rate: "16Mbit/s", reverse_rate: "1Mbit/s", rtt: "40ms", queue: fifo("500p"), reverse_queue: fifo("100p") } } },
  { id: "cable", label: "Cable", about: "200 Mbit/s down, 20 Mbit/s up, 20 ms", network: { dumbbell: { rate: "200Mbit/s", reverse_rate: "20Mbit/s", rtt: "20ms", queue: fifo("2000p"), reverse_queue: fifo("512p") } } },
  { id: "fibre", label: "Fibre", about: "1 Gbit/s both ways, 10 ms", network: { dumbbell: { rate: "1Gbit/s", reverse_rate: "1Gbit/s", rtt: "10ms", queue: fifo("1000p"), reverse_queue: fifo("1000p") } } },
  {
    id: "lte",
    label: "LTE",
    about: "a rate that wanders between 3 and 60 Mbit/s, 50 ms, a deep FIFO",
    network: { dumbbell: { rate: "20Mbit/s", rtt: "50ms", queue: fifo("2000p"), vary: { rate: { kind: "random_walk", min: "3Mbit/s", max: "60Mbit/s", sigma: "3Mbit/s", interval: "200ms" } } } },
  },
  {
    id: "cell",
    label: "5G cell",
    about: "one UE at 80 m, 50 MHz at 3.5 GHz, an RLC buffer of 10 MB",
    network: {
      cell: {
        queue: "fifo",
        buffer: "10MB",
        radio: { frequency: "3.5GHz", bandwidth: "50MHz", pattern: "DDDSU", rlc: { mode: "am" }, ues: [{ kind: "scenario", scenario: "umi", position_m: [80, 0], shadowing: true }] },
      },
    },
  },
  {
    id: "mmwave",
    label: "60 GHz, people walk through",
    about: "3 Gbit/s, blocked for a second now and then",
    network: { dumbbell: { rate: "3Gbit/s", rtt: "4ms", queue: fifo("5000p"), vary: { rate: { kind: "mmwave", preset: "sb" } } } },
  },
  {
    id: "satellite",
    label: "Low-orbit satellites",
    about: "100 Mbit/s, a handover every 15 s changes the RTT",
    network: { dumbbell: { rate: "100Mbit/s", rtt: "40ms", queue: fifo("2000p"), vary: { rtt: { kind: "handover", min: "25ms", max: "60ms", interval: "15s", first: "5s", pause: "50ms" } } } },
  },
];

/** The link that takes the place of a cell when its rate is to follow a trace. */
export const TRACED: Table = { rate: "20Mbit/s", rtt: "50ms", queue: fifo("2000p") };

export const DURATIONS: readonly string[] = ["30s", "60s", "120s", "300s", "600s", "3600s"];
