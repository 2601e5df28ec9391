//! Queues compared with closed forms: M/D/1, M/M/1 and the saturated FIFO.

use bloatlab_scenario::traffic::{Transport, cbr, poisson as poisson_traffic};
use bloatlab_scenario::{Dumbbell, Flow, QueueConfig, Scenario, Traffic};
use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND, Rate, SECOND};

use crate::{compiled, measured, value};

/// Bytes of IPv4 and UDP headers.
const HEADER: u64 = 28;
const RATE: u64 = 100_000_000;
const REPLICATIONS: u64 = 30;
/// Student's t with 29 degrees of freedom for which all twelve intervals below hold with 99 % (Bonferroni).
const T_99: f64 = 3.728;

fn fifo(limit: u64) -> QueueConfig {
    QueueConfig::Fifo(bloatlab_aqm::fifo::Params {
        limit: Limit::Packets(limit),
        ..Default::default()
    })
}

/// Poisson arrivals of packets with this size on the wire in bytes, at this rate per second.
fn poisson(size: u64, per_second: f64) -> Flow {
    let payload = size - HEADER;
    let rate = (per_second * payload as f64 * 8.0).round() as u64;
    let traffic = Traffic::Poisson(poisson_traffic::Params {
        rate: Rate(rate),
        packet: Bytes(payload),
        transport: Transport::Udp,
    });
    Flow {
        traffic,
        ..Flow::default()
    }
}

/// An unlimited FIFO before the link. The first fifth of the time is warm-up.
fn station(flows: Vec<Flow>, duration: Duration) -> Scenario {
    let dumbbell = Dumbbell {
        queue: fifo(100_000_000),
        ..Dumbbell::new(Rate(RATE), Duration(0))
    };
    Scenario {
        warmup: Duration(duration.0 / 5),
        sample_interval: Duration(SECOND),
        ..Scenario::on_dumbbell(dumbbell, duration, flows)
    }
}

/// Arrivals per second and packet size of each class.
type Mix = Vec<(f64, u64)>;

struct Theory {
    load: f64,
    /// Mean time in the queue before service, s.
    wait: f64,
    arrivals: f64,
}

/// Pollaczek and Khinchine: the mean wait of M/G/1 is lambda E[S^2] / (2 (1 - rho)).
fn pollaczek_khinchine(mix: &Mix) -> Theory {
    let service = |size: u64| size as f64 * 8.0 / RATE as f64;
    let moment = |power: i32| -> f64 {
        let terms = mix
            .iter()
            .map(|&(rate, size)| rate * service(size).powi(power));
        terms.sum()
    };
    let load = moment(1);
    Theory {
        load,
        wait: moment(2) / (2.0 * (1.0 - load)),
        arrivals: mix.iter().map(|(rate, _)| rate).sum(),
    }
}

/// Mean and half-width of the confidence interval over replications.
fn interval(samples: &[f64]) -> (f64, f64) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, T_99 * (variance / n).sqrt())
}

/// Compares the simulated station with theory: wait, load and Little's law. The intervals must also be narrow enough.
fn agrees(name: &str, mix: &Mix, packets: f64, precision: f64) {
    let theory = pollaczek_khinchine(mix);
    let duration = Duration((packets / theory.arrivals * 1e9) as u64);
    // The name of a flow selects its random stream, so every station has different streams.
    let class = |(i, &(rate, size)): (usize, &(f64, u64))| Flow {
        name: Some(format!("{name} class {i}")),
        ..poisson(size, rate)
    };
    let flows = mix.iter().enumerate().map(class).collect();
    let plan = compiled(&station(flows, duration));
    let (mut waits, mut loads) = (Vec::new(), Vec::new());
    for seed in 1..=REPLICATIONS {
        let outcome = measured(&plan, seed);
        let of = |metric: &str| value(&outcome.link_metrics, 0, metric).expect(metric);
        let wait = of("mean_sojourn") * 1e-3;
        waits.push(wait);
        loads.push(of("utilization"));
        // Little: the mean length is the arrival rate times the wait. Packets in the queue at the start and the end are the error.
        let span = (plan.duration - plan.warmup) as f64 * 1e-9;
        let length = of("arrivals") / span * wait;
        let edge = 2.0 * of("max_queue_length") * of("max_sojourn") * 1e-3 / span;
        assert!(
            (of("mean_queue_length") - length).abs() <= edge,
            "{name}: {length} by Little's law"
        );
        assert_eq!(of("drops"), 0.0);
    }
    for (what, samples, expected) in [("wait", &waits, theory.wait), ("load", &loads, theory.load)]
    {
        let (mean, half) = interval(samples);
        assert!(
            (mean - expected).abs() <= half,
            "{name}: {what} {mean:.6e} +- {half:.1e}, in theory {expected:.6e}"
        );
        assert!(
            half <= precision * expected,
            "{name}: {what} is known to {half:.1e} only"
        );
    }
}

#[test]
fn md1_waits_as_in_theory() {
    for (load, packets, precision) in [(0.5, 80e3, 0.015), (0.8, 160e3, 0.03), (0.9, 320e3, 0.05)] {
        let size = 1000;
        let mix = vec![(load * RATE as f64 / 8.0 / size as f64, size)];
        // M/D/1: half the wait of M/M/1.
        let service = size as f64 * 8.0 / RATE as f64;
        let closed = load * service / (2.0 * (1.0 - load));
        assert!((pollaczek_khinchine(&mix).wait / closed - 1.0).abs() < 1e-12);
        agrees(&format!("M/D/1 at {load}"), &mix, packets, precision);
    }
}

/// Nodes and weights of the five-point Gauss-Laguerre rule (Abramowitz and Stegun, table 25.9): a distribution of five values
/// whose first nine moments are those of the exponential distribution.
const LAGUERRE: [(f64, f64); 5] = [
    (0.263_560_319_718, 0.521_755_610_583),
    (1.413_403_059_107, 0.398_666_811_083),
    (3.596_425_771_041, 0.075_942_449_681_7),
    (7.085_810_005_859, 0.003_611_758_679_92),
    (12.640_800_844_276, 0.000_023_369_972_385_8),
];

#[test]
fn mm1_waits_as_in_theory() {
    let mean_size = 4000.0;
    let service = mean_size * 8.0 / RATE as f64;
    for (load, packets, precision) in [(0.5, 80e3, 0.03), (0.8, 160e3, 0.05), (0.9, 320e3, 0.08)] {
        let arrivals = load / service;
        let mix: Mix = LAGUERRE
            .iter()
            .map(|(node, weight)| (arrivals * weight, (node * mean_size).round() as u64))
            .collect();
        // M/M/1, except that sizes are rounded to bytes.
        let closed = load * service / (1.0 - load);
        assert!((pollaczek_khinchine(&mix).wait / closed - 1.0).abs() < 1e-3);
        agrees(&format!("M/M/1 at {load}"), &mix, packets, precision);
    }
}

#[test]
fn a_saturated_fifo_delays_by_its_length() {
    // 8 L S / C: an accepted packet finds the queue full except for its own place.
    for (limit, payload, excess) in [
        (1, 972, 1.5),
        (10, 1472, 1.05),
        (80, 1472, 1.3),
        (250, 472, 3.0),
    ] {
        let size = (payload + HEADER) as f64;
        let rate = RATE as f64 * excess * payload as f64 / size;
        let traffic = Traffic::Cbr(cbr::Params {
            rate: Rate(rate as u64),
            packet: Bytes(payload),
            transport: Transport::Udp,
        });
        let flow = Flow {
            traffic,
            ..Flow::default()
        };
        let dumbbell = Dumbbell {
            queue: fifo(limit),
            ..Dumbbell::new(Rate(RATE), Duration(10 * MILLISECOND))
        };
        let mut scenario = Scenario::on_dumbbell(dumbbell, Duration(2 * SECOND), vec![flow]);
        scenario.warmup = Duration(SECOND);
        let outcome = measured(&compiled(&scenario), 1);
        let of = |metric: &str| value(&outcome.link_metrics, 0, metric).expect(metric);
        let packet = 8.0 * size / RATE as f64 * 1e3;
        let delay = limit as f64 * packet;
        for metric in ["mean_sojourn", "p50_sojourn", "max_sojourn"] {
            let rest = if metric == "p50_sojourn" {
                delay / 64.0
            } else {
                0.0
            };
            assert!(
                (of(metric) - delay).abs() <= packet + rest,
                "{metric} {} ms, 8LS/C is {delay} ms",
                of(metric)
            );
        }
        assert_eq!(of("utilization"), 1.0);
        assert_eq!(of("max_queue_length"), limit as f64);
        // The load above the rate of the link is dropped.
        assert!((of("loss_rate") - (1.0 - 1.0 / excess)).abs() < 1e-3);
        let one_way = value(&outcome.flow_metrics, 0, "mean_one_way_delay_l4").expect("a delay");
        assert!(
            (one_way - (of("mean_sojourn") + packet + 5.0)).abs() < 0.02 * packet,
            "queue, wire and propagation"
        );
    }
}
