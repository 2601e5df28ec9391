import type { Lesson } from "./types";

export const codel: Lesson = {
  id: "codel",
  title: "CoDel: drop early, but only when it helps",
  question: "The buffer must be large enough for bursts. Can a queue stay short although its buffer is large?",
  document: {
    name: "codel",
    duration: "60s",
    sample_interval: "50ms",
    dumbbell: { rate: "20Mbit/s", rtt: "40ms", queue: { kind: "fifo", limit: "1000p" } },
    flows: [
      { name: "download", cca: "cubic" },
      { name: "ping", traffic: { kind: "ping", interval: "100ms" } },
    ],
    timeline: [],
  },
  action: { text: "Let CoDel manage the same buffer of 1000 packets.", button: "Use codel", change: { key: "dumbbell.queue", value: { kind: "codel", limit: "1000p" } } },
  look: "Look at the queue delay: it falls to a few milliseconds within a second or two, with few drops. The link stays busy.",
  why: "CoDel looks at how long packets wait, not at how many there are. If every packet of the last 100 ms waited longer than 5 ms, the queue does not drain by itself, and CoDel drops a packet to tell the sender.",
};
