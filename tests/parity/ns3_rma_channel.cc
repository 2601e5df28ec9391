// The channel of `nr-rlc` in ns-3: the SNR that a UE measures along the y axis. Prints rows of `ns3_rma_channel.csv` (see
// `test_ns3_cell.py`).
//
// 6 GHz, 133 resource blocks of 360 kHz, 30 dBm, RMa with line of sight, no shadowing, isotropic elements, noise figure 5 dB.
// Both antennas point at each other: every element is turned by its phase towards the other side.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>

#include "ns3/antenna-module.h"
#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/spectrum-module.h"

using namespace ns3;

namespace {

constexpr double FREQUENCY = 6e9, BLOCK = 360e3, POWER_DBM = 30, NOISE_DBM_HZ = -174 + 5;
constexpr int BLOCKS = 133;
// 5G-LENA's example gives its random variables numbers from 1 on: the slot of the sounding 1, errors 2, path loss 3 to 7.
constexpr int STREAM = 8;

double Linear(double decibel) {
    return std::pow(10, decibel / 10);
}

Ptr<UniformPlanarArray> Antenna(uint32_t rows, uint32_t columns) {
    return CreateObjectWithAttributes<UniformPlanarArray>("NumRows", UintegerValue(rows), "NumColumns", UintegerValue(columns),
                                                          "AntennaElement", PointerValue(CreateObject<IsotropicAntennaModel>()));
}

void Point(Ptr<UniformPlanarArray> antenna, const Vector& from, const Vector& to) {
    const Angles direction(to, from);
    const double azimuth = direction.GetAzimuth(), inclination = direction.GetInclination();
    const auto count = antenna->GetNumberOfElements();
    PhasedArrayModel::ComplexVector weights(count);
    for (uint64_t i = 0; i < count; ++i) {
        const Vector at = antenna->GetElementLocation(i);
        const double way = std::sin(inclination) * (std::cos(azimuth) * at.x + std::sin(azimuth) * at.y) + std::cos(inclination) * at.z;
        weights[i] = std::polar(1 / std::sqrt(double(count)), -2 * M_PI * way);
    }
    antenna->SetBeamformingVector(weights);
}

Ptr<SpectrumValue> FullBand() {
    Bands bands;
    for (int i = 0; i < BLOCKS; ++i) {
        const double low = FREQUENCY + (i - BLOCKS / 2.0) * BLOCK;
        bands.push_back({low, low + BLOCK / 2, low + BLOCK});
    }
    auto density = Create<SpectrumValue>(Create<SpectrumModel>(bands));
    *density = Linear(POWER_DBM - 30) / (BLOCKS * BLOCK);
    return density;
}

void Print(uint32_t run, double distance) {
    RngSeedManager::SetRun(run);
    NodeContainer nodes(2);
    MobilityHelper helper;
    helper.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    helper.Install(nodes);
    const Vector high(0, 0, 10), low(0, distance, 1.5);
    auto gnb = nodes.Get(0)->GetObject<MobilityModel>(), ue = nodes.Get(1)->GetObject<MobilityModel>();
    gnb->SetPosition(high);
    ue->SetPosition(low);
    auto above = Antenna(4, 8), below = Antenna(2, 4);
    Point(above, high, low);
    Point(below, low, high);

    auto sight = CreateObject<AlwaysLosChannelConditionModel>();
    auto loss = CreateObject<ThreeGppRmaPropagationLossModel>();
    loss->SetAttribute("Frequency", DoubleValue(FREQUENCY));
    loss->SetAttribute("ShadowingEnabled", BooleanValue(false));
    loss->SetChannelConditionModel(sight);
    auto channel = CreateObject<ThreeGppChannelModel>();
    channel->SetAttribute("Frequency", DoubleValue(FREQUENCY));
    channel->SetAttribute("Scenario", StringValue("RMa"));
    channel->SetAttribute("ChannelConditionModel", PointerValue(sight));
    channel->AssignStreams(STREAM);
    auto fading = CreateObject<ThreeGppSpectrumPropagationLossModel>();
    fading->SetChannelModel(channel);

    auto signal = Create<SpectrumSignalParameters>();
    signal->psd = FullBand();
    signal->duration = MilliSeconds(1);
    const double pathLoss = -loss->CalcRxPower(0, gnb, ue);
    const double gain = Sum(*fading->CalcRxPowerSpectralDensity(signal, gnb, ue, above, below)) / Sum(*signal->psd);
    const double noise = NOISE_DBM_HZ + 10 * std::log10(BLOCKS * BLOCK);
    const double gainDb = 10 * std::log10(gain);
    std::printf("%u,%g,%.3f,%.3f,%.3f\n", run, distance, pathLoss, gainDb, POWER_DBM - pathLoss + gainDb - noise);
    Simulator::Destroy();
}

} // namespace

int main(int argc, char** argv) {
    double distance{6000};
    uint32_t runs{1};
    CommandLine options;
    options.AddValue("distance", "From the base station, m", distance);
    options.AddValue("runs", "Number of values of RngRun, from 1 on", runs);
    options.Parse(argc, argv);
    for (uint32_t run = 1; run <= runs; ++run) {
        Print(run, distance);
    }
    return 0;
}
