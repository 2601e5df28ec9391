import type { Lesson } from "./types";

export const cell: Lesson = {
  id: "cell",
  title: "The RLC buffer of a 5G cell",
  question: "A base station queues packets for each phone in its RLC buffer of 10 MB. What does a download do to a ping of the same phone?",
  document: {
    name: "5G cell",
    duration: "30s",
    sample_interval: "50ms",
    cell: { queue: "fifo", buffer: "10MB", radio: { frequency: "3.5GHz", bandwidth: "50MHz", pattern: "DDDSU", rlc: { mode: "am" }, ues: [{ kind: "fixed", snr_db: 20 }] } },
    flows: [
      { name: "download", cca: "cubic", ue: 1 },
      { name: "ping", ue: 1, traffic: { kind: "ping", interval: "100ms" } },
    ],
    timeline: [],
  },
  action: { text: "Put fq_codel in front of the RLC transmitter in a second lane.", button: "Compare with fq_codel", lane: { queue: { kind: "fq_codel" } } },
  look: "Look at the RTT of the ping in both lanes, and at the throughput of the download.",
  why: "The rate of a radio varies, so operators make its buffer large. Where packets wait, a queue discipline must act. In front of the RLC it can; in the core network it cannot, because nothing waits there.",
};
