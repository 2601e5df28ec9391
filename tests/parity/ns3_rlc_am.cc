// ns-3's RLC alone, in the slots of the cell of `nr-rlc`. Prints a row of `ns3_rlc_am.csv` (see `test_ns3_cell.py`).
//
// Two RLC entities and a MAC that gives them transmit opportunities. Every slot carries a downlink block of 12 symbols, less
// one for sounding in one slot of 80, and less one for an uplink block. A UE with a status report asks in the next slot, is
// granted one symbol three slots later, and sends four slots after that. Each block is received without errors.

#include <cstdint>
#include <cstdio>
#include <set>
#include <string>

#include "ns3/core-module.h"
#include "ns3/lte-rlc-am.h"
#include "ns3/lte-rlc-sap.h"
#include "ns3/lte-rlc-um.h"
#include "ns3/network-module.h"

using namespace ns3;

namespace {

constexpr int64_t SLOT = 500000, SYMBOL = 35714, DECODING = 100000;
// Payload of 1500 bytes with UDP and IP; the PDCP adds two.
constexpr uint32_t PACKET = 1528, SDU = 1530, MAC_HEADER = 3;
// Blocks of 12, 11 and 10 symbols with MCS 28, and the first six of 12 symbols with MCS 0.
constexpr uint32_t BLOCKS[] = {12212, 11194, 10176}, FIRST = 523, FIRST_BLOCKS = 6;
constexpr int64_t SOUNDING = 50, SOUNDING_PERIOD = 80, DOWN_AHEAD = 2, ASKING = 3, UP_AHEAD = 4;
constexpr double START = 0.4;
// From the host to the RLC.
constexpr int64_t WIRES = 7001350;

class Cell;

/// What an entity calls below it.
class Mac : public LteMacSapProvider {
  public:
    Mac(Cell& cell, bool up) : m_cell(cell), m_up(up) {}
    void TransmitPdu(TransmitPduParameters parameters) override;
    void ReportBufferStatus(ReportBufferStatusParameters parameters) override;

  private:
    Cell& m_cell;
    bool m_up;
};

/// What an entity calls above it.
class Sink : public LteRlcSapUser {
  public:
    void ReceivePdcpPdu(Ptr<Packet>) override {
        ++packets;
        last = Simulator::Now();
    }

    uint64_t packets{0};
    Time last;
};

class Cell {
  public:
    Cell(const std::string& mode, int64_t interval) : m_interval(interval), m_down(*this, false), m_up(*this, true) {
        ObjectFactory factory("ns3::LteRlc" + mode, "MaxTxBufferSize", UintegerValue(999999999));
        for (auto* entity : {&m_gnb, &m_ue}) {
            *entity = factory.Create<LteRlc>();
            (*entity)->SetRnti(1);
            (*entity)->SetLcId(4);
            (*entity)->Initialize();
        }
        m_gnb->SetLteMacSapProvider(&m_down);
        m_ue->SetLteMacSapProvider(&m_up);
        m_gnb->SetLteRlcSapUser(&m_unused);
        m_ue->SetLteRlcSapUser(&sink);
        const int64_t start = int64_t(START * 1e9);
        m_slot = start / SLOT;
        Simulator::Schedule(NanoSeconds(m_slot * SLOT), &Cell::Slot, this);
        Simulator::Schedule(NanoSeconds(start + WIRES), &Cell::Arrive, this);
    }

    /// An entity sends a PDU in the opportunity that it has just got.
    void Send(bool up, Ptr<Packet> pdu) {
        const int64_t now = Simulator::Now().GetNanoSeconds();
        if (up) {
            ++reports;
            Simulator::Schedule(NanoSeconds(m_slot * SLOT + 13 * SYMBOL - now), &Cell::Receive, this, m_gnb, pdu);
        } else {
            ++blocks;
            bytes += pdu->GetSize();
            const int64_t end = (m_slot + DOWN_AHEAD) * SLOT + (1 + m_symbols) * SYMBOL + DECODING;
            Simulator::Schedule(NanoSeconds(end - now), &Cell::Receive, this, m_ue, pdu);
        }
    }

    /// A status report of this many bytes waits at the UE.
    void Wait(uint32_t bytes) {
        m_waiting = bytes;
    }

    Sink sink;
    uint64_t blocks{0}, bytes{0}, reports{0};

  private:
    void Slot() {
        if (m_granted.erase(m_slot) > 0 && m_waiting > 0) {
            const uint32_t size = m_waiting;
            m_waiting = 0;
            m_asked = -1;
            Offer(m_ue, size);
        }
        if (m_waiting > 0 && m_asked < 0) {
            m_asked = m_slot;
        }
        if (m_asked >= 0 && m_slot == m_asked + ASKING) {
            m_granted.insert(m_slot + UP_AHEAD);
        }
        const int64_t slot = m_slot + DOWN_AHEAD;
        const int taken = (m_granted.count(slot) > 0) + (slot % SOUNDING_PERIOD == SOUNDING);
        m_symbols = 12 - taken;
        Offer(m_gnb, (blocks < FIRST_BLOCKS ? FIRST : BLOCKS[taken]) - MAC_HEADER);
        ++m_slot;
        Simulator::Schedule(NanoSeconds(SLOT), &Cell::Slot, this);
    }

    void Offer(Ptr<LteRlc> entity, uint32_t size) {
        entity->GetLteMacSapUser()->NotifyTxOpportunity({size, 0, 0, 0, 1, 4});
    }

    void Receive(Ptr<LteRlc> entity, Ptr<Packet> pdu) {
        entity->GetLteMacSapUser()->ReceivePdu({pdu, 1, 4});
    }

    void Arrive() {
        LteRlcSapProvider::TransmitPdcpPduParameters parameters;
        parameters.pdcpPdu = Create<Packet>(SDU);
        parameters.rnti = 1;
        parameters.lcid = 4;
        m_gnb->GetLteRlcSapProvider()->TransmitPdcpPdu(parameters);
        Simulator::Schedule(NanoSeconds(m_interval), &Cell::Arrive, this);
    }

    const int64_t m_interval;
    Mac m_down, m_up;
    Sink m_unused;
    Ptr<LteRlc> m_gnb, m_ue;
    int64_t m_slot{0}, m_asked{-1};
    int m_symbols{12};
    uint32_t m_waiting{0};
    std::set<int64_t> m_granted;
};

void Mac::TransmitPdu(TransmitPduParameters parameters) {
    m_cell.Send(m_up, parameters.pdu);
}

void Mac::ReportBufferStatus(ReportBufferStatusParameters parameters) {
    if (m_up) {
        m_cell.Wait(parameters.statusPduSize);
    }
}

} // namespace

int main(int argc, char** argv) {
    std::string mode{"Am"};
    double stop{10};
    int64_t load{16000};
    CommandLine options;
    options.AddValue("mode", "Am or Um", mode);
    options.AddValue("stop", "End of the run, s", stop);
    options.AddValue("load", "Packets per second", load);
    options.Parse(argc, argv);
    Cell cell(mode, (1000000000 + load / 2) / load);
    Simulator::Stop(Seconds(stop));
    Simulator::Run();
    const double seconds = cell.sink.last.GetSeconds() - START;
    const double rate = cell.sink.packets * PACKET * 8e-6 / seconds;
    std::printf("%s,%ld,%g,%lu,%.3f,%lu,%lu,%lu\n", mode.c_str(), load, stop, cell.sink.packets, rate, cell.blocks, cell.bytes,
                cell.reports);
    Simulator::Destroy();
    return 0;
}
