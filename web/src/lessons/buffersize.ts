import type { Lesson } from "./types";

export const buffersize: Lesson = {
  id: "buffer-size",
  title: "The right buffer size",
  question: "A link of 16 Mbit/s with an RTT of 15 ms holds 20 packets in flight. Its buffer holds 80. What do the other 60 bring?",
  document: {
    name: "deep-buffers",
    duration: "15s",
    sample_interval: "100ms",
    dumbbell: { rate: "16Mbit/s", rtt: "15ms", queue: { kind: "fifo", limit: "80p" }, overhead: 2, device_packets: 1 },
    flows: [{ name: "bulk", cca: "newreno", tcp: { mss: 1448, ack_every: 1, gso_max_segs: 1 } }],
    timeline: [],
  },
  action: { text: "Cut the buffer to 20 packets, one bandwidth-delay product.", button: "Buffer of 20 packets", change: { key: "dumbbell.queue.limit", value: "20p" } },
  look: "Look at the queue delay and at the throughput. Then try 5 packets with the slider.",
  why: "NewReno halves its window at a loss. A buffer of one bandwidth-delay product keeps the link busy meanwhile. A longer buffer only adds delay, a shorter one costs throughput.",
  published: "CCPerf (doi 10.1109/COMST.2025.3533303) measured 15.39 Mbit/s and a mean sRTT of 58.84 ms with 80 packets, four times the base RTT.",
};
