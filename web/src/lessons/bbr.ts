import type { Lesson } from "./types";

export const bbr: Lesson = {
  id: "bbr",
  title: "BBR against CUBIC",
  question: "CUBIC fills the buffer until it overflows. What does a sender do that estimates rate and RTT instead?",
  document: {
    name: "bbr",
    duration: "60s",
    sample_interval: "50ms",
    dumbbell: { rate: "20Mbit/s", rtt: "40ms", queue: { kind: "fifo", limit: "400p" } },
    flows: [
      { name: "download", cca: "cubic" },
      { name: "ping", traffic: { kind: "ping", interval: "100ms" } },
    ],
    timeline: [],
  },
  action: { text: "Run the same traffic with BBR in a second lane.", button: "Compare with bbr", lane: { cca: { kind: "bbr" } } },
  look: "Look at queue delay and cwnd. BBR keeps a short queue; its small bumps are the probes for more rate.",
  why: "BBR paces at the bottleneck rate that it has measured and limits its data in flight to about twice the bandwidth-delay product. It does not need losses to stop. Against CUBIC in a deep buffer, it keeps a queue of its own.",
};
