import type { Lesson } from "./types";

export const l4s: Lesson = {
  id: "l4s",
  title: "ECN and L4S",
  question: "A queue can mark packets instead of dropping them. How short can a queue become with frequent small signals?",
  document: {
    name: "l4s",
    duration: "60s",
    sample_interval: "50ms",
    dumbbell: { rate: "40Mbit/s", rtt: "20ms", queue: { kind: "fifo", limit: "1000p" } },
    flows: [
      { name: "scalable", cca: "prague" },
      { name: "classic", cca: "cubic", tcp: { ecn: true } },
      { name: "ping", traffic: { kind: "ping", interval: "100ms" } },
    ],
    timeline: [],
  },
  action: { text: "Use the dual queue of L4S, which marks scalable flows early.", button: "Use dualpi2", change: { key: "dumbbell.queue", value: { kind: "dualpi2" } } },
  look: "Look at the marks in the picture and at the two windows. The scalable flow makes many small corrections, the classic flow few large ones.",
  why: "Prague reduces in proportion to the share of marked packets, so its queue can be marked at 1 ms. DualPI2 keeps these packets in a queue of their own and couples the marking, so that neither flow starves the other.",
};
