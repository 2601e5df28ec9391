import type { Lesson } from "./types";

export const flowqueueing: Lesson = {
  id: "flow-queueing",
  title: "Flow queueing",
  question: "Four downloads share the link with a call. CoDel keeps the queue short. Why does the call still wait?",
  document: {
    name: "flow queueing",
    duration: "60s",
    sample_interval: "50ms",
    dumbbell: { rate: "10Mbit/s", rtt: "30ms", queue: { kind: "codel", limit: "1000p" } },
    flows: [
      { name: "download 1", cca: "cubic" },
      { name: "download 2", cca: "cubic" },
      { name: "download 3", cca: "cubic" },
      { name: "download 4", cca: "cubic" },
      { name: "call", traffic: { kind: "cbr", rate: "500kbit/s" } },
      { name: "ping", traffic: { kind: "ping", interval: "100ms" } },
    ],
    timeline: [],
  },
  action: { text: "Give each flow its own queue.", button: "Use fq_codel", change: { key: "dumbbell.queue", value: { kind: "fq_codel" } } },
  look: "Look at the picture: every flow has a queue. The queues of the call and the ping are almost always empty, and their RTT falls to the base RTT.",
  why: "fq_codel serves flows in turn, and a flow that sends less than its share comes first. The call never waits behind the queues that the downloads build for themselves.",
};
