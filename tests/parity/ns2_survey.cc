// What ns-2 2.35 lacks of the survey: LEDBAT for Agent/TCP/Linux, Queue/CoDel and Queue/CHOKe; and its TCP and TCP-LP with one
// rule changed. A Tcl library for `load` (see `ns2_survey.py`), written from draft-ietf-ledbat-congestion, RFC 8289, the paper of
// Pan, Prabhakar and Psounis, and Sarolahti and Kuznetsov 2002.

#include <cmath>
#include <cstring>

#include "ip.h"
#include "packet.h"
#include "queue.h"
#include "random.h"
#include "tcp-linux.h"

extern "C" {
int tcp_register_congestion_control(struct tcp_congestion_ops*);
u32 tcp_reno_ssthresh(struct tcp_sock*);
u32 tcp_reno_min_cwnd(const struct tcp_sock*);
void tcp_reno_cong_avoid(struct tcp_sock*, u32, u32, u32, int);
}

namespace {

// As the authors of LEDBAT's module for ns-2 had it: no slow start, windows down to one segment, no filter of delays.
const double kTargetMs = 25;

struct Ledbat {
    double base_ms;
    double queueing_ms;
    double fraction;  // Of a segment, beyond snd_cwnd.
    int ignored;      // Samples to ignore.
};

Ledbat* State(tcp_sock* sk) { return reinterpret_cast<Ledbat*>(sk->icsk_ca_priv); }

void LedbatInit(tcp_sock* sk) { *State(sk) = Ledbat{1e9, 0, 0, 0}; }

// The first packet is a SYN of 40 bytes, which gets through DRR between the others' packets.
void LedbatDataInit(tcp_sock* sk) { *State(sk) = Ledbat{1e9, 0, 0, 1}; }

void LedbatAcked(tcp_sock* sk, u32, long long) {
    // One-way delay in milliseconds, the resolution of TCP's timestamps.
    const double delay = double(sk->rx_opt.rcv_tsval) - double(sk->rx_opt.rcv_tsecr);
    Ledbat* state = State(sk);
    if (state->ignored-- > 0) return;
    state->ignored = 0;
    if (delay < state->base_ms) state->base_ms = delay;
    state->queueing_ms = delay - state->base_ms;
}

void LedbatAvoid(tcp_sock* sk, u32, u32, u32, int) {
    Ledbat* state = State(sk);
    const double window = double(sk->snd_cwnd) + state->fraction;
    const double wanted = std::fmax(1.0, window + (kTargetMs - state->queueing_ms) / kTargetMs / window);
    sk->snd_cwnd = static_cast<u32>(wanted);
    state->fraction = wanted - double(sk->snd_cwnd);
}

// ns-2's TCP-LP, but an ACK that reduces the window does not also let it grow. ns-2 handles an ACK in these two steps.
const tcp_congestion_ops* shipped_lp;
bool reduced;  // By the ACK in hand.

void LpAcked(tcp_sock* sk, u32 packets, long long last) {
    const u32 before = sk->snd_cwnd;
    shipped_lp->pkts_acked(sk, packets, last);
    reduced = sk->snd_cwnd < before;
}

void LpAvoid(tcp_sock* sk, u32 ack, u32 rtt, u32 in_flight, int flag) {
    if (!reduced) shipped_lp->cong_avoid(sk, ack, rtt, in_flight, flag);
    reduced = false;
}

u32 Threshold(const tcp_sock* sk) { return sk->snd_ssthresh; }

// TCP with the retransmission timeout of Linux. ns-2's is the larger of `minrto_` and the smoothed RTT plus four deviations.
class LinuxTimeoutAgent : public LinuxTcpAgent {
protected:
    double smoothed_ = 0, deviation_ = 0, peak_ = 0, spread_ = 0;
    int round_end_ = 0, sampled_ = 0;

    void Sample() {
        const double rtt = t_rtt_ * tcp_tick_, least = minrto_ / 4;
        if (smoothed_ == 0) {
            smoothed_ = rtt;
            deviation_ = rtt / 2;
            spread_ = peak_ = std::fmax(deviation_, least);
            round_end_ = t_seqno_;
            return;
        }
        const double error = std::fabs(rtt - smoothed_);
        deviation_ += (error - deviation_) / (error > deviation_ && rtt < smoothed_ ? 32 : 4);
        peak_ = std::fmax(peak_, deviation_);
        spread_ = std::fmax(spread_, peak_);
        if (highest_ack_ >= round_end_) {
            spread_ -= (spread_ - peak_) / 4;
            round_end_ = t_seqno_;
            peak_ = least;
        }
        smoothed_ += (rtt - smoothed_) / 8;
    }

    double rtt_timeout() {
        if (nackpack_ > sampled_) {
            sampled_ = nackpack_;
            Sample();
        }
        const double timeout = smoothed_ > 0 ? smoothed_ + 4 * spread_ : rtxcur_init_;
        return std::fmin(timeout * t_backoff_, maxrto_);
    }

    int command(int argc, const char* const* argv) {
        if (argc != 2 || std::strcmp(argv[1], "recover_to_ssthresh") != 0) return LinuxTcpAgent::command(argc, argv);
        // ns-2's congestion controls fall to half of it during recovery.
        linux_.icsk_ca_ops->min_cwnd = Threshold;
        return TCL_OK;
    }
};

class LinuxTimeoutClass : public TclClass {
public:
    LinuxTimeoutClass() : TclClass("Agent/TCP/Linux/LinuxTimeout") { bind(); }
    TclObject* create(int, const char* const*) { return new LinuxTimeoutAgent; }
};

int Register(
    tcp_congestion_ops& ops,
    const char* name,
    void (*init)(tcp_sock*),
    void (*avoid)(tcp_sock*, u32, u32, u32, int),
    void (*acked)(tcp_sock*, u32, long long)
) {
    ops.flags = TCP_CONG_RTT_STAMP;
    ops.init = init;
    ops.ssthresh = tcp_reno_ssthresh;
    ops.min_cwnd = tcp_reno_min_cwnd;
    ops.cong_avoid = avoid;
    ops.pkts_acked = acked;
    std::strcpy(ops.name, name);
    return tcp_register_congestion_control(&ops);
}

tcp_congestion_ops ledbat, ledbat_data, lp_one_step;

class CoDel : public Queue {
public:
    CoDel() { pq_ = &queue_; }

protected:
    static constexpr double kTarget = 0.005, kInterval = 0.1;
    PacketQueue queue_;
    bool dropping_ = false;
    double first_above_ = 0, next_ = 0;
    unsigned count_ = 0, last_count_ = 0;

    static double Now() { return Scheduler::instance().clock(); }

    void enque(Packet* packet) {
        if (queue_.length() >= qlim_) {
            drop(packet);
            return;
        }
        hdr_cmn::access(packet)->timestamp() = Now();
        queue_.enque(packet);
    }

    Packet* Take(bool& late) {
        late = false;
        Packet* packet = queue_.deque();
        if (!packet) {
            first_above_ = 0;
            return packet;
        }
        if (Now() - hdr_cmn::access(packet)->timestamp() < kTarget || queue_.byteLength() <= 1500) {
            first_above_ = 0;
        } else if (first_above_ == 0) {
            first_above_ = Now() + kInterval;
        } else {
            late = Now() >= first_above_;
        }
        return packet;
    }

    double After(double time) const { return time + kInterval / std::sqrt(double(count_)); }

    Packet* deque() {
        bool late;
        Packet* packet = Take(late);
        if (!packet) {
            dropping_ = false;
            return packet;
        }
        if (dropping_) {
            if (!late) dropping_ = false;
            while (dropping_ && Now() >= next_) {
                drop(packet);
                ++count_;
                packet = Take(late);
                if (!late) {
                    dropping_ = false;
                } else {
                    next_ = After(next_);
                }
            }
        } else if (late) {
            drop(packet);
            packet = Take(late);
            dropping_ = true;
            const unsigned recent = count_ - last_count_;
            count_ = recent > 1 && Now() - next_ < 16 * kInterval ? recent : 1;
            next_ = After(Now());
            last_count_ = count_;
        }
        return packet;
    }
};

// With the parameters that bloatlab's experiment uses, since the slides state none.
class Choke : public Queue {
public:
    Choke() { pq_ = &queue_; }

protected:
    static constexpr double kMin = 6, kMax = 18, kWeight = 1.0 / 64, kProbability = 0.1;
    PacketQueue queue_;
    double average_ = 0;
    unsigned since_ = 0;  // Packets since the last early drop.

    void enque(Packet* packet) {
        average_ += kWeight * (queue_.length() - average_);
        if (average_ >= kMin) {
            Packet* other = queue_.lookup(int(Random::uniform() * queue_.length()));
            if (other && hdr_ip::access(other)->flowid() == hdr_ip::access(packet)->flowid()) {
                queue_.remove(other);
                drop(other);
                drop(packet);
                return;
            }
            if (average_ >= kMax || Marked()) {
                since_ = 0;
                drop(packet);
                return;
            }
        } else {
            since_ = 0;
        }
        if (queue_.length() >= qlim_) {
            drop(packet);
        } else {
            queue_.enque(packet);
        }
    }

    bool Marked() {
        const double probability = kProbability * (average_ - kMin) / (kMax - kMin);
        ++since_;
        const double spread = 1 - since_ * probability;
        return spread <= 0 || Random::uniform() < probability / spread;
    }

    Packet* deque() { return queue_.deque(); }
};

class ChokeClass : public TclClass {
public:
    ChokeClass() : TclClass("Queue/CHOKe") { bind(); }
    TclObject* create(int, const char* const*) { return new Choke; }
};

class CoDelClass : public TclClass {
public:
    CoDelClass() : TclClass("Queue/CoDel") { bind(); }
    TclObject* create(int, const char* const*) { return new CoDel; }
};

}  // namespace

extern "C" int Survey_Init(Tcl_Interp*) {
    new CoDelClass;
    new ChokeClass;
    new LinuxTimeoutClass;
    shipped_lp = cong_ops_manager.get_ops("lp");
    int failed = Register(ledbat, "ledbat", LedbatInit, LedbatAvoid, LedbatAcked);
    failed |= Register(ledbat_data, "ledbat-data", LedbatDataInit, LedbatAvoid, LedbatAcked);
    failed |= Register(lp_one_step, "lp-one-step", shipped_lp->init, LpAvoid, LpAcked);
    return failed ? TCL_ERROR : TCL_OK;
}
