//! The blockage models of TR 38.901 compared with values computed by hand, and their effect on a rate.

use bloatlab_link::blockage::{
    AngularBlockers, AngularScreen, Crossings, Orientation, Person, Screen, Surroundings,
    wavelength,
};
use bloatlab_link::{Disk, RateVariation};
use bloatlab_units::{MILLISECOND, Rate, SECOND, Streams};
use serde_json::{Value, json};

const PERSON: Screen = Screen {
    along: 2.0,
    aside: 0.0,
    width: 0.3,
    height: 1.7,
};

#[test]
fn a_person_in_the_middle_of_a_path_attenuates_as_in_the_standard() {
    let length = wavelength(60.0);
    let middle = |apart: f64| {
        let person = Screen {
            along: apart / 2.0,
            ..PERSON
        };
        person.loss(length, apart, [1.0, 1.0])
    };
    // At 60 GHz: 15.2 dB in the middle of a 4 m link, and 12.4 dB in that of an 8 m link.
    assert!((middle(4.0) - 15.2).abs() < 0.05, "{}", middle(4.0));
    assert!((middle(8.0) - 12.4).abs() < 0.05, "{}", middle(8.0));
    // More than 5 dB for about 0.3 s at 1 m/s, which is 0.3 m.
    let walk = (-1000..=1000).map(|mm| Screen {
        aside: f64::from(mm) * 1e-3,
        ..PERSON
    });
    let deep = walk
        .filter(|s| s.loss(length, 4.0, [1.0, 1.0]) > 5.0)
        .count();
    assert!((280..=340).contains(&deep), "{deep} mm");
}

#[test]
fn a_screen_that_touches_the_path_takes_half_of_the_field() {
    // A wide, high screen whose edge touches the path: one of its terms is 0, the other nearly a half.
    let wall = Screen {
        aside: 500.0,
        width: 1000.0,
        height: 1000.0,
        along: 50.0,
    };
    let grazing = wall.loss(wavelength(60.0), 100.0, [500.0, 500.0]);
    assert!((grazing - 6.02).abs() < 0.05, "{grazing}");
    let beside = Screen {
        aside: 505.0,
        ..wall
    };
    assert!(beside.loss(wavelength(60.0), 100.0, [500.0, 500.0]) < 0.3);
    // Below the path, and behind an antenna.
    let low = Screen {
        along: 2.0,
        aside: 0.0,
        width: 0.3,
        height: 1.7,
    };
    assert!(low.loss(wavelength(60.0), 4.0, [10.0, 10.0]) < 0.2);
    for along in [-1.0, 0.0, 4.0, 5.0] {
        let behind = Screen { along, ..low };
        assert_eq!(behind.loss(wavelength(60.0), 4.0, [1.0, 1.0]), 0.0);
    }
}

#[test]
fn a_screen_at_an_angle_by_hand() {
    let screen = AngularScreen {
        azimuth: 350.0,
        zenith: 90.0,
        width: 10.0,
        height: 5.0,
        distance: 10.0,
    };
    let length = wavelength(28.0);
    // At the centre: A = 5 and Z = 2.5 degrees, 10 (1/cos A - 1) = 0.038198 and 0.0095267 m, lambda 10.7069 mm:
    // F = atan(pi/2 sqrt(pi/lambda x))/pi = atan(5.2588)/pi = 0.440174 and atan(2.6262)/pi = 0.384167.
    let hand = -20.0 * (1.0_f64 - (2.0 * 0.440174) * (2.0 * 0.384167)).log10();
    assert!((screen.loss(length, 350.0, 90.0) - hand).abs() < 0.01);
    // Across north, and the same on both sides.
    let [left, right] = [343.0, 357.0].map(|azimuth| screen.loss(length, azimuth, 90.0));
    assert!((left - right).abs() < 1e-9 && left > 0.0 && left < hand);
    assert_eq!(screen.loss(length, 0.0, 90.0), 0.0);
    assert_eq!(screen.loss(length, 350.0, 95.0), 0.0);
    // At its side: half of the attenuation at full height.
    let grazing = screen.loss(length, 355.0, 90.0);
    assert!(grazing > 2.5 && grazing < 6.02, "{grazing}");
}

#[test]
fn a_body_is_behind_its_receiver() {
    let portrait = |azimuth: f64, zenith: f64| Orientation::Portrait.loss(azimuth, zenith);
    // At 260 degrees, 120 wide; at 100 degrees, 80 high.
    assert_eq!(portrait(260.0, 100.0), 30.0);
    assert_eq!([portrait(201.0, 90.0), portrait(199.0, 90.0)], [30.0, 0.0]);
    assert_eq!(
        [portrait(260.0, 139.0), portrait(260.0, 141.0)],
        [30.0, 0.0]
    );
    assert_eq!(portrait(260.0 - 360.0, 100.0), 30.0);
    let landscape = |azimuth: f64| Orientation::Landscape.loss(azimuth, 90.0);
    assert_eq!(
        [landscape(119.0), landscape(121.0), landscape(-39.0)],
        [30.0, 0.0, 30.0]
    );
    assert_eq!(Orientation::Free.loss(260.0, 100.0), 0.0);
}

#[test]
fn blockers_at_angles_are_uniform_and_decorrelate_with_distance() {
    let rng = Streams::new(5).stream("blockers");
    let mut blockers = AngularBlockers::new(Surroundings::Indoor, 1.0, rng);
    let (mut azimuths, mut widths, mut products) = (Vec::new(), Vec::new(), 0.0);
    let mut before = blockers.screens()[0];
    // Every 5 s at 1 m/s: 5 m, which is the correlation distance indoors.
    for look in 1..=40_000 {
        blockers.go(look * 5 * SECOND);
        let screen = blockers.screens()[0];
        azimuths.push(screen.azimuth / 360.0);
        widths.push((screen.width - 15.0) / 30.0);
        products += (screen.azimuth / 360.0 - 0.5) * (before.azimuth / 360.0 - 0.5);
        before = screen;
    }
    for values in [&azimuths, &widths] {
        let mean = values.iter().sum::<f64>() / 40_000.0;
        let square = values.iter().map(|v| (v - 0.5) * (v - 0.5)).sum::<f64>() / 40_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!((square * 12.0 - 1.0).abs() < 0.03, "{square}");
        assert!(values.iter().all(|v| (0.0..=1.0).contains(v)));
    }
    // Normal values with correlation 1/e give uniform values with correlation 6/pi asin(1/2e).
    let expected = 6.0 / std::f64::consts::PI * (0.5 * (-1.0_f64).exp()).asin();
    let correlation = products / 40_000.0 * 12.0;
    assert!(
        (correlation - expected).abs() < 0.03,
        "{correlation} {expected}"
    );
}

#[test]
fn people_cross_at_the_configured_rate_and_speed() {
    let person = Person {
        width: 0.3,
        height: 1.7,
        speed: 1.5,
    };
    let rng = Streams::new(2).stream("people");
    let mut crossings = Crossings::new(person, 4.0, 10e9, rng);
    let mut crossed = 0;
    for look in 0..2_000_000 {
        let now: Vec<Screen> = crossings.screens(look * 10 * MILLISECOND).collect();
        for screen in &now {
            assert!((0.0..4.0).contains(&screen.along) && screen.aside.abs() < 5.02);
        }
        // 15 mm between two reads.
        crossed += now
            .iter()
            .filter(|s| (0.0..0.015).contains(&s.aside))
            .count();
    }
    // 2000 are expected in 20,000 s.
    assert!(
        (crossed as f64 - 2000.0).abs() < 4.0 * 2000_f64.sqrt(),
        "{crossed}"
    );
}

fn rates(document: Value, seconds: u64) -> Vec<f64> {
    let mut how: RateVariation = serde_json::from_value(document).expect("a variation");
    let rng = Streams::new(8).stream("rate");
    let loaded = how.load(&Disk).expect("in range");
    let mut source = loaded.source(Rate(1), rng).expect("a rate");
    (0..seconds * 100)
        .map(|_| source.next().value * 1e-6)
        .collect()
}

#[test]
fn a_blocked_path_loses_rate_by_its_table() {
    let crossed = rates(json!({ "kind": "blockage", "snr": 17.0 }), 4000);
    // 17 dB give 3080 Mbit/s. After 15.2 dB of attenuation in the middle of the path, the rate is 0.
    assert_eq!(crossed.iter().copied().fold(0.0, f64::max), 3080.0);
    assert!(crossed.contains(&0.0) && crossed.contains(&1155.0));
    let outages: Vec<usize> = crossed
        .chunk_by(|a, b| (*a < 1540.0) == (*b < 1540.0))
        .filter(|run| run[0] < 1540.0)
        .map(<[f64]>::len)
        .collect();
    // 400 people in 4000 s. Each attenuates by more than 8 dB for about 0.2 s. Two at the same time count once.
    assert!((320..=480).contains(&outages.len()), "{}", outages.len());
    let mean = outages.iter().sum::<usize>() as f64 / outages.len() as f64;
    assert!((15.0..35.0).contains(&mean), "{mean} looks of 10 ms");
    let own = json!({ "kind": "blockage", "model": "a", "surroundings": "indoor", "snr": 30, "interval": "1s",
        "table": [{ "snr": 20, "rate": "1Gbit/s" }, { "snr": 29.9, "rate": "2Gbit/s" }] });
    let drifting = rates(own, 200);
    assert!(drifting.contains(&2000.0) && drifting.iter().any(|rate| *rate < 2000.0));
    let held = json!({ "kind": "blockage", "model": "a", "orientation": "portrait", "azimuth": 260, "snr": 33.0, "interval": "1s" });
    // The body attenuates by 30 of the 33 dB, so the SNR is below the first row.
    assert!(rates(held, 10).iter().all(|rate| *rate == 0.0));
}

#[test]
fn refusals() {
    let refusal = |document: Value| {
        let how: Result<RateVariation, _> = serde_json::from_value(document);
        how.expect("a variation").load(&Disk).expect_err("refused")
    };
    let row = |snr: f64| json!({ "snr": snr, "rate": "1Mbit/s" });
    let table = |rows: Vec<Value>| refusal(json!({ "kind": "blockage", "table": rows }));
    assert_eq!(table(vec![]), "table: must have 1 to 1000 rows, not 0");
    assert_eq!(
        table(vec![row(3.0), row(3.0)]),
        "table[1].snr: must be above 3, that of the row before it"
    );
    assert_eq!(
        refusal(json!({ "kind": "blockage", "frequency": 0.1 })),
        "frequency: must be between 0.5 and 300, not 0.1"
    );
    assert_eq!(
        refusal(json!({ "kind": "blockage", "gap": "1ms" })),
        "gap: must be between 100ms and 3600s, not 1ms"
    );
}
