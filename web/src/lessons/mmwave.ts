import type { Lesson } from "./types";

export const mmwave: Lesson = {
  id: "mmwave",
  title: "A 60 GHz link with people",
  question: "A link of 3 Gbit/s loses most of its rate for a second when a person crosses it. What happens to the packets that are already under way?",
  document: {
    name: "60 GHz",
    duration: "30s",
    sample_interval: "50ms",
    dumbbell: { rate: "300Mbit/s", rtt: "10ms", queue: { kind: "fifo", limit: "2000p" }, vary: { rate: { kind: "mmwave", preset: "sb", scale: 0.1, gap: "3s" } } },
    flows: [
      { name: "download", cca: "cubic" },
      { name: "ping", traffic: { kind: "ping", interval: "100ms" } },
    ],
    timeline: [],
  },
  action: { text: "Use fq_codel in a second lane.", button: "Compare with fq_codel", lane: { queue: { kind: "fq_codel" } } },
  look: "Look at the RTT of the ping each time the rate falls. The rate is that of 60 GHz divided by ten, so that packets can be seen.",
  why: "When the rate falls, the packets in the buffer take ten times longer to leave. A FIFO makes everything wait behind them. fq_codel lets the ping pass, and CoDel shortens the queue of the download.",
};
