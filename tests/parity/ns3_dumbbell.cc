// A dumbbell in ns-3. Prints one row of `ns3_congestion_controls.csv` (see `ns3_congestion_controls.py`). With `--samples`,
// prints the rows of `ns3_deep_buffers_samples.csv` to standard error as well (see `ns3_deep_buffers.py`).
//
// Each source and each sink has a separate node. The queue under test is the root queue disc of the left router, whose
// device holds one packet. The access links add the base RTT and are ten times as fast as the bottleneck.

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

double g_warm = 0;

/// Mean over time of a value that changes in steps, from the end of the warm-up on.
class TimeMean {
  public:
    void Set(double value) {
        Advance();
        m_value = value;
        m_known = true;
    }

    double Last() const {
        return m_value;
    }

    double Mean() {
        Advance();
        return m_seconds > 0 ? m_sum / m_seconds : 0;
    }

  private:
    void Advance() {
        const double now = Simulator::Now().GetSeconds();
        const double from = std::max(m_last, g_warm);
        if (m_known && now > from) {
            m_sum += m_value * (now - from);
            m_seconds += now - from;
        }
        m_last = now;
    }

    double m_value{0}, m_last{0}, m_sum{0}, m_seconds{0};
    bool m_known{false};
};

/// The settings from the command line.
struct Setup {
    std::string cca{"TcpNewReno"}, bw{"16Mbps"}, rtt{"15"}, qdisc{"FifoQueueDisc"};
    std::string recovery{"TcpPrrRecovery"};
    uint32_t flows{1}, qlen{80}, seed{1}, delack{2}, buf{4000000}, segment{1448}, window{10}, threshold{0};
    double stop{15}, warm{0}, jitter{0}, samples{0};
    bool ecn{false};
};

/// One flow and its measurements.
struct Flow {
    std::string control, rtt;
    Ptr<BulkSendApplication> source;
    Ptr<PacketSink> sink;
    TimeMean srtt, cwnd, inFlight;
    uint64_t receivedBefore{0};
    uint32_t highest{0}, retransmissions{0}, timeouts{0};
    bool started{false};
    /// The last departure, and the EWMA (1/8) of the time between departures, in seconds.
    double departure{0}, betweenDepartures{-1};

    void OnSent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
        if (packet->GetSize() == 0) {
            return;
        }
        const uint32_t end = header.GetSequenceNumber().GetValue() + packet->GetSize();
        if (started && end <= highest) {
            retransmissions += Simulator::Now().GetSeconds() >= g_warm;
        } else {
            highest = end;
        }
        const double now = Simulator::Now().GetSeconds(), gap = now - departure;
        if (started) {
            betweenDepartures += betweenDepartures < 0 ? gap - betweenDepartures : (gap - betweenDepartures) / 8;
        }
        departure = now;
        started = true;
    }

    /// Prints a row of samples every `interval` seconds.
    void Sample(double interval, uint32_t segment) {
        std::fprintf(stderr, "%.6g,%g,%.6g,%.6g,%.6g\n", Simulator::Now().GetSeconds(), inFlight.Last() / segment,
                     cwnd.Last() / segment, srtt.Last(), betweenDepartures < 0 ? 0 : betweenDepartures * 1e3);
        Simulator::Schedule(Seconds(interval), &Flow::Sample, this, interval, segment);
    }

    void Watch() {
        Ptr<Socket> socket = source->GetSocket();
        socket->TraceConnectWithoutContext("RTT", Callback<void, Time, Time>([this](Time, Time now) {
                                               srtt.Set(now.GetSeconds() * 1e3);
                                           }));
        socket->TraceConnectWithoutContext("CongestionWindow",
                                           Callback<void, uint32_t, uint32_t>([this](uint32_t, uint32_t now) { cwnd.Set(now); }));
        socket->TraceConnectWithoutContext("BytesInFlight", Callback<void, uint32_t, uint32_t>([this](uint32_t, uint32_t now) {
                                               inFlight.Set(now);
                                           }));
        socket->TraceConnectWithoutContext(
            "CongState",
            Callback<void, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t>(
                [this](TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) {
                    timeouts += now == TcpSocketState::CA_LOSS && Simulator::Now().GetSeconds() >= g_warm;
                }));
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::OnSent, this));
    }
};

/// The queue under test and its counters.
struct Bottleneck {
    Ptr<QueueDisc> disc;
    TimeMean packets;
    uint64_t sent{0}, bytes{0}, dropsBefore{0}, marksBefore{0}, sojourns{0};
    double sojourn{0};

    void Watch(Ptr<NetDevice> device) {
        disc->TraceConnectWithoutContext("PacketsInQueue",
                                         Callback<void, uint32_t, uint32_t>([this](uint32_t, uint32_t now) { packets.Set(now); }));
        // A queue disc such as CoDel drops at dequeue, so departures are counted where the device sends.
        device->TraceConnectWithoutContext("PhyTxBegin", Callback<void, Ptr<const Packet>>([this](Ptr<const Packet> packet) {
                                               if (Simulator::Now().GetSeconds() >= g_warm) {
                                                   ++sent;
                                                   bytes += packet->GetSize();
                                               }
                                           }));
        disc->TraceConnectWithoutContext("SojournTime", Callback<void, Time>([this](Time time) {
                                             if (Simulator::Now().GetSeconds() >= g_warm) {
                                                 ++sojourns;
                                                 sojourn += time.GetSeconds() * 1e3;
                                             }
                                         }));
        packets.Set(0);
    }

    uint64_t Drops() const {
        return disc->GetStats().nTotalDroppedPackets;
    }

    uint64_t Marks() const {
        return disc->GetStats().nTotalMarkedPackets;
    }
};

std::vector<std::string> Split(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        parts.push_back(part);
    }
    return parts;
}

Setup Parse(int argc, char** argv) {
    Setup s;
    CommandLine line(__FILE__);
    line.AddValue("cca", "congestion controls, in turn, by comma", s.cca);
    line.AddValue("bw", "rate of the bottleneck", s.bw);
    line.AddValue("rtt", "base RTTs in ms, in turn, by comma", s.rtt);
    line.AddValue("qdisc", "queue disc under test", s.qdisc);
    line.AddValue("recovery", "recovery algorithm", s.recovery);
    line.AddValue("flows", "number of flows", s.flows);
    line.AddValue("qlen", "limit in packets", s.qlen);
    line.AddValue("seed", "run number", s.seed);
    line.AddValue("delack", "segments per ACK", s.delack);
    line.AddValue("buf", "socket buffers in bytes", s.buf);
    line.AddValue("iw", "initial window in segments", s.window);
    line.AddValue("threshold", "RED: marks every packet beyond this many", s.threshold);
    line.AddValue("stop", "end in seconds", s.stop);
    line.AddValue("warm", "figures count from here, seconds", s.warm);
    line.AddValue("jitter", "starts are drawn from this many seconds", s.jitter);
    line.AddValue("samples", "prints samples of the first flow every so many seconds", s.samples);
    line.AddValue("ecn", "use ECN", s.ecn);
    line.Parse(argc, argv);
    return s;
}

void SetDefaults(const Setup& s) {
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(s.seed);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(s.segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(s.buf));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(s.buf));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(s.window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(s.delack));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(s.ecn ? TcpSocketState::On : TcpSocketState::Off));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + s.recovery)));
}

void SetCongestionControl(Ptr<Node> node, const std::string& control) {
    node->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + control)));
}

Ptr<QueueDisc> Install(const Setup& s, Ptr<NetDevice> device) {
    TrafficControlHelper helper;
    const std::string kind = "ns3::" + s.qdisc;
    const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, s.qlen));
    if (s.threshold > 0) {
        // Marks every packet that finds `threshold` packets, without an average and without chance.
        helper.SetRootQueueDisc(kind, "MaxSize", limit, "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                                "QW", DoubleValue(1.0), "MinTh", DoubleValue(s.threshold), "MaxTh", DoubleValue(s.threshold),
                                "Gentle", BooleanValue(false), "MeanPktSize", UintegerValue(1500));
    } else {
        helper.SetRootQueueDisc(kind, "MaxSize", limit);
    }
    return helper.Install(device).Get(0);
}

/// A row in the columns of `ns3_congestion_controls.csv`.
void Print(const Setup& s, std::vector<Flow>& flows, Bottleneck& link) {
    const double seconds = s.stop - s.warm;
    std::vector<std::pair<std::string, double>> groups;
    double srtt = 0, cwnd = 0, inFlight = 0, total = 0, squares = 0;
    uint32_t retransmissions = 0, timeouts = 0;
    for (Flow& flow : flows) {
        const double goodput = (flow.sink->GetTotalRx() - flow.receivedBefore) * 8e-6 / seconds;
        const std::string name = flow.control + "@" + flow.rtt + "ms";
        auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
        if (group == groups.end()) {
            group = groups.insert(groups.end(), {name, 0.0});
        }
        group->second += goodput;
        total += goodput;
        squares += goodput * goodput;
        srtt += flow.srtt.Mean() / flows.size();
        cwnd += flow.cwnd.Mean() / s.segment / flows.size();
        inFlight += flow.inFlight.Mean() / s.segment / flows.size();
        retransmissions += flow.retransmissions;
        timeouts += flow.timeouts;
    }
    std::string shares;
    for (const auto& [name, goodput] : groups) {
        shares += (shares.empty() ? "" : ";") + name + "=" + std::to_string(goodput);
    }
    const double capacity = DataRate(s.bw).GetBitRate() * seconds / 8;
    std::printf("3.44-wheel,\"%s\",%u,%s,\"%s\",%s,%u,%u,%g,%g,%u,%d,%u,%u,", s.cca.c_str(), s.flows, s.bw.c_str(), s.rtt.c_str(),
                s.qdisc.c_str(), s.qlen, s.threshold, s.stop, s.warm, s.seed, s.ecn, s.buf, s.delack);
    std::printf("%.6g,%.6g,%.6g,%.6g,%.6g,%u,%u,%.6g,%lu,%lu,%lu,%.6g,%.6g,%s\n", total, total * total / flows.size() / squares, srtt,
                cwnd, inFlight, retransmissions, timeouts, link.bytes / capacity, link.sent,
                link.Drops() - link.dropsBefore, link.Marks() - link.marksBefore, link.packets.Mean(), link.sojourn / link.sojourns,
                shares.c_str());
}

} // namespace

int main(int argc, char** argv) {
    const Setup s = Parse(argc, argv);
    g_warm = s.warm;
    SetDefaults(s);
    const auto controls = Split(s.cca), rtts = Split(s.rtt);

    NodeContainer routers(2), sources(s.flows), sinks(s.flows);
    InternetStackHelper stack;
    stack.InstallAll();
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue(s.bw));
    wire.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    wire.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer middle = wire.Install(routers);
    Bottleneck link;
    link.disc = Install(s, middle.Get(0));
    link.Watch(middle.Get(0));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(middle);

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(DataRate(s.bw).GetBitRate() * 10)));
    std::vector<Flow> flows(s.flows);
    auto jitter = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < s.flows; ++i) {
        Flow& flow = flows[i];
        flow.control = controls[i % controls.size()];
        flow.rtt = rtts[i % rtts.size()];
        access.SetChannelAttribute("Delay", TimeValue(Seconds(std::stod(flow.rtt) * 1e-3 / 4)));
        addresses.NewNetwork();
        addresses.Assign(access.Install(sources.Get(i), routers.Get(0)));
        addresses.NewNetwork();
        const auto right = addresses.Assign(access.Install(routers.Get(1), sinks.Get(i)));
        SetCongestionControl(sources.Get(i), flow.control);
        SetCongestionControl(sinks.Get(i), flow.control);

        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(right.GetAddress(1), 5000));
        bulk.SetAttribute("SendSize", UintegerValue(s.segment));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        const auto source = bulk.Install(sources.Get(i)), drain = sink.Install(sinks.Get(i));
        const Time start = Seconds(s.jitter * jitter->GetValue());
        source.Start(start);
        drain.Start(Seconds(0));
        flow.source = DynamicCast<BulkSendApplication>(source.Get(0));
        flow.sink = DynamicCast<PacketSink>(drain.Get(0));
        Simulator::Schedule(start + NanoSeconds(1), &Flow::Watch, &flow);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(Seconds(s.warm), [&] {
        for (Flow& flow : flows) {
            flow.receivedBefore = flow.sink->GetTotalRx();
        }
        link.dropsBefore = link.Drops();
        link.marksBefore = link.Marks();
    });
    if (s.samples > 0) {
        std::fprintf(stderr, "time_s,in_flight,cwnd,srtt_ms,idt_ewma_ms\n");
        Simulator::Schedule(Seconds(s.samples), &Flow::Sample, &flows.front(), s.samples, s.segment);
    }
    Simulator::Stop(Seconds(s.stop));
    Simulator::Run();
    Print(s, flows, link);
    Simulator::Destroy();
    return 0;
}
