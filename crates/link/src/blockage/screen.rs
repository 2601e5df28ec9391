//! Model B: screens at places on the ground (TR 38.901 section 7.6.4.2). Lengths are in m.

use bloatlab_units::{Nanos, Rng};

use super::{between, edge, loss};

/// An upright screen on the ground, across the path between two antennas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Screen {
    /// Distance from the transmitter, along the path on the ground.
    pub along: f64,
    /// Distance from the path on the ground to the middle of the screen.
    pub aside: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Screen {
    /// Its loss in dB between antennas at these heights and at this distance on the ground. There is no loss if the screen is not between them.
    pub fn loss(&self, wavelength: f64, apart: f64, heights: [f64; 2]) -> f64 {
        let (before, behind) = (self.along, apart - self.along);
        if before <= 0.0 || behind <= 0.0 {
            return 0.0;
        }
        let [from, to] = heights;
        // Seen from above.
        let wide = |offset: f64| {
            let detour = libm::hypot(before, offset) + libm::hypot(behind, offset) - apart;
            edge(detour, wavelength)
        };
        let half = self.width / 2.0;
        let width = between(
            [wide(self.aside - half), wide(self.aside + half)],
            self.aside.abs() <= half,
        );
        // Seen from the side.
        let direct = libm::hypot(apart, to - from);
        let high = |edge_height: f64| {
            let there = libm::hypot(before, edge_height - from);
            edge(
                there + libm::hypot(behind, to - edge_height) - direct,
                wavelength,
            )
        };
        let ray = from + (to - from) * before / apart;
        let height = between(
            [high(0.0), high(self.height)],
            (0.0..=self.height).contains(&ray),
        );
        loss(height, width)
    }
}

/// A person in model B (TR 38.901 section 7.6.4.2): by default a screen of 0.3 m by 1.7 m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Person {
    /// Width of the screen.
    pub width: f64,
    /// Height of the screen.
    pub height: f64,
    /// Speed, m/s.
    pub speed: f64,
}

/// A crossing in progress.
#[derive(Clone, Copy, Debug)]
struct Walker {
    along: f64,
    /// When the person is on the path.
    middle: Nanos,
}

/// Distance from the path beyond which a person is ignored. At 60 GHz and 100 m the loss there is less than 0.1 dB.
const REACH: f64 = 5.0;

/// People who cross a path at right angles: a Poisson process in time, uniform along the path.
#[derive(Clone, Debug)]
pub struct Crossings {
    person: Person,
    apart: f64,
    /// Mean time between two people, ns.
    gap: f64,
    walkers: std::collections::VecDeque<Walker>,
    /// The next person on the path, who is not yet near.
    next: Walker,
    rng: Rng,
}

impl Crossings {
    /// People of this kind on a path of this length, on average one every `gap` ns.
    pub fn new(person: Person, apart: f64, gap: f64, rng: Rng) -> Self {
        let mut crossings = Self {
            person,
            apart,
            gap,
            walkers: std::collections::VecDeque::new(),
            next: Walker {
                along: 0.0,
                middle: 0,
            },
            rng,
        };
        crossings.next = crossings.follow(0);
        crossings
    }

    /// Draws the next person on the path after this instant.
    fn follow(&mut self, after: Nanos) -> Walker {
        let gap = self.rng.exponential(self.gap);
        Walker {
            along: self.apart * self.rng.uniform(),
            middle: after.saturating_add(gap as Nanos),
        }
    }

    /// The screens near the path at an instant, which must not precede the last one.
    pub fn screens(&mut self, now: Nanos) -> impl Iterator<Item = Screen> + '_ {
        let near = (REACH / self.person.speed * 1e9) as Nanos;
        while self.next.middle <= now.saturating_add(near) {
            self.walkers.push_back(self.next);
            self.next = self.follow(self.next.middle);
        }
        while let Some(first) = self.walkers.front()
            && first.middle.saturating_add(near) < now
        {
            self.walkers.pop_front();
        }
        let Person {
            width,
            height,
            speed,
        } = self.person;
        self.walkers.iter().map(move |walker| Screen {
            along: walker.along,
            aside: (now as f64 - walker.middle as f64) * 1e-9 * speed,
            width,
            height,
        })
    }

    /// The sum of their losses in dB between antennas at these heights.
    pub fn loss(&mut self, now: Nanos, wavelength: f64, heights: [f64; 2]) -> f64 {
        let apart = self.apart;
        self.screens(now)
            .map(|screen| screen.loss(wavelength, apart, heights))
            .sum()
    }
}
