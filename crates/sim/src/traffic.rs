//! When an application has something to send.

use bloatlab_scenario::{Distribution, Traffic, Transport};
use bloatlab_units::{Nanos, Rate, Rng};

/// A source of messages of one size.
pub(crate) struct Source {
    pattern: Pattern,
    rate: Rate,
    remainder: u64,
    /// Payload bytes of a message.
    pub size: u64,
    rng: Rng,
}

enum Pattern {
    Constant,
    Poisson,
    OnOff {
        on: Nanos,
        off: Nanos,
        random: bool,
        on_until: Nanos,
    },
}

impl Source {
    /// The source of a constant, Poisson or on/off traffic and its transport; None for the other kinds.
    pub fn new(traffic: &Traffic, rng: Rng) -> Option<(Self, Transport)> {
        let (pattern, rate, packet, transport) = match *traffic {
            Traffic::Cbr {
                rate,
                packet,
                transport,
            } => (Pattern::Constant, rate, packet, transport),
            Traffic::Poisson {
                rate,
                packet,
                transport,
            } => (Pattern::Poisson, rate, packet, transport),
            Traffic::OnOff {
                rate,
                on,
                off,
                distribution,
                packet,
                transport,
            } => {
                let random = distribution == Distribution::Exponential;
                (
                    Pattern::OnOff {
                        on: on.0,
                        off: off.0,
                        random,
                        on_until: 0,
                    },
                    rate,
                    packet,
                    transport,
                )
            }
            _ => return None,
        };
        Some((
            Self {
                pattern,
                rate,
                remainder: 0,
                size: packet.0,
                rng,
            },
            transport,
        ))
    }

    /// The instant of the first message of a source that starts now.
    pub fn first(&mut self, now: Nanos) -> Nanos {
        match self.pattern {
            Pattern::Constant => now,
            Pattern::Poisson => now + self.gap(),
            Pattern::OnOff { .. } => {
                self.turn_on(now);
                now
            }
        }
    }

    /// The instant of the message after one sent now.
    pub fn next(&mut self, now: Nanos) -> Nanos {
        let (step, remainder) = self.rate.transmit(self.size, self.remainder);
        match self.pattern {
            Pattern::Constant => {
                self.remainder = remainder;
                now + step.max(1)
            }
            Pattern::Poisson => now + self.gap(),
            Pattern::OnOff {
                on_until,
                off,
                random,
                ..
            } => {
                self.remainder = remainder;
                let next = now + step.max(1);
                if next < on_until {
                    return next;
                }
                let start = on_until.max(now) + self.phase(off, random).max(1);
                self.turn_on(start);
                start
            }
        }
    }

    fn gap(&mut self) -> Nanos {
        let mean = self.size as f64 * 8e9 / self.rate.0 as f64;
        (self.rng.exponential(mean) as u64).max(1)
    }

    fn phase(&mut self, mean: Nanos, random: bool) -> Nanos {
        if random {
            self.rng.exponential(mean as f64) as u64
        } else {
            mean
        }
    }

    fn turn_on(&mut self, start: Nanos) {
        if let Pattern::OnOff { on, random, .. } = self.pattern {
            let length = self.phase(on, random);
            if let Pattern::OnOff { on_until, .. } = &mut self.pattern {
                *on_until = start + length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::{Bytes, Duration, SECOND, Streams};

    fn count(traffic: Traffic, seconds: u64) -> f64 {
        let (mut source, _) = Source::new(&traffic, Streams::new(3).stream("source")).unwrap();
        let mut at = source.first(0);
        let mut messages = 0;
        while at < seconds * SECOND {
            messages += 1;
            at = source.next(at);
        }
        f64::from(messages) / seconds as f64
    }

    #[test]
    fn constant_rate_is_exact() {
        let traffic = Traffic::Cbr {
            rate: Rate(1_000_000),
            packet: Bytes(1000),
            transport: Transport::Udp,
        };
        assert_eq!(count(traffic, 100), 125.0);
    }

    #[test]
    fn random_sources_keep_their_mean_rate() {
        let poisson = Traffic::Poisson {
            rate: Rate(8_000_000),
            packet: Bytes(1000),
            transport: Transport::Udp,
        };
        assert!((count(poisson, 100) - 1000.0).abs() < 4.0 * 3.2);
        let on_off = Traffic::OnOff {
            rate: Rate(8_000_000),
            on: Duration(SECOND / 10),
            off: Duration(SECOND / 10),
            distribution: Distribution::Constant,
            packet: Bytes(1000),
            transport: Transport::Udp,
        };
        assert!((count(on_off, 100) - 500.0).abs() < 6.0);
    }
}
