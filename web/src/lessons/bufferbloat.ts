import type { Lesson } from "./types";

export const bufferbloat: Lesson = {
  id: "bufferbloat",
  title: "What is bufferbloat?",
  question: "A web page of 178 kB is fetched over 10 Mbit/s with a base RTT of 4 ms. Why does it take so long while a download runs?",
  document: {
    name: "home router",
    duration: "60s",
    sample_interval: "50ms",
    dumbbell: { rate: "10Mbit/s", reverse_rate: "10Mbit/s", rtt: "4ms", access_rate: "1Gbit/s", queue: { kind: "fifo", limit: "100buffers", segments_per_buffer: 2 }, reverse_queue: { kind: "fifo", limit: "100buffers", segments_per_buffer: 2 } },
    flows: [
      { name: "download", cca: "reno", tcp: { receive_buffer: "16MB" } },
      { name: "page", cca: "reno", direction: "reverse", traffic: { kind: "fetch", response: "177669B", interval: "2s" } },
      { name: "ping", traffic: { kind: "ping", interval: "100ms" } },
    ],
    timeline: [],
  },
  action: { text: "Make the queue of the router shorter: 20 buffers instead of 100.", button: "Queue of 20 buffers", change: { key: "dumbbell.queue", value: { kind: "fifo", limit: "20buffers", segments_per_buffer: 2 } } },
  look: "Look at the time to fetch a page, and at the RTT of the ping. The throughput of the download hardly changes.",
  why: "TCP fills every buffer before it slows down. Each packet of the page then waits behind the packets of the download. A page takes several round trips, so it pays this wait several times.",
  published: "CS244 at Stanford and COL724 at IIT Delhi measured this router: a page took 0.27 s on average with a queue of 20, and 0.73 s with a queue of 100.",
};
