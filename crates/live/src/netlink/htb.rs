//! Classes of HTB: adds, changes and reads them.

use std::io;

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;

use super::attributes::{attribute, nested, word};
use super::tc::message;
use super::{Handle, NEW, Netlink, Qdisc, doing};

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
/// Bytes of `struct tc_ratespec`.
const RATE_SPEC: usize = 12;
/// With this link layer the kernel needs no table of transmission times.
const LINK_LAYER_ETHERNET: u8 = 1;
/// Nanoseconds of a tick of the packet scheduler.
const TICK: u128 = 64;

/// A class of HTB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// Its rate and its ceiling, bytes per second.
    pub rate: u64,
    /// Bytes that may leave back to back.
    pub burst: u32,
    /// Bytes that may leave back to back at the ceiling.
    pub cburst: u32,
}

impl Netlink {
    /// Adds a class of HTB.
    ///
    /// # Errors
    /// There is such a class, or the kernel kept other values than those given.
    pub fn add_class(
        &mut self,
        index: u32,
        parent: Handle,
        class: Handle,
        options: HtbClass,
    ) -> io::Result<()> {
        self.put_class(index, parent, class, options, NEW)
    }

    /// Changes the values of a class of HTB. The packets that wait keep their order.
    ///
    /// # Errors
    /// There is no such class, or the kernel kept other values than those given.
    pub fn change_class(
        &mut self,
        index: u32,
        parent: Handle,
        class: Handle,
        options: HtbClass,
    ) -> io::Result<()> {
        self.put_class(index, parent, class, options, 0)
    }

    fn put_class(
        &mut self,
        index: u32,
        parent: Handle,
        class: Handle,
        options: HtbClass,
        flags: u16,
    ) -> io::Result<()> {
        let what = || {
            format!(
                "setting the rate of the class {}:{}",
                class.major, class.minor
            )
        };
        let message = message(index, parent, class, "htb", options.bytes());
        let result = self.request(RouteNetlinkMessage::NewTrafficClass(message), flags);
        doing(what, result)?;
        let kept = self
            .classes(index)?
            .into_iter()
            .find(|made| made.handle == class)
            .and_then(|made| htb_rates(&made.options));
        if kept == Some([options.rate; 2]) {
            return Ok(());
        }
        let why =
            format!("the kernel did not keep the rates of the class: {options:?} became {kept:?}");
        doing(what, Err(io::Error::other(why)))
    }

    /// The classes of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn classes(&mut self, index: u32) -> io::Result<Vec<Qdisc>> {
        let request = TcMessage::with_index(index.cast_signed());
        let found = self.ask(RouteNetlinkMessage::GetTrafficClass(request), NLM_F_DUMP)?;
        Ok(found
            .into_iter()
            .filter_map(|message| match message {
                RouteNetlinkMessage::NewTrafficClass(message) => Some(Qdisc::from(message)),
                _ => None,
            })
            .collect())
    }
}

impl HtbClass {
    /// A class of this rate in bytes per second. `frame` is the size of the largest frame.
    ///
    /// The kernel's timer is late by a fraction of a millisecond. What the class could have sent meanwhile must fit into its burst, or it is lost. So
    /// the burst is 2 ms of the rate at 1 Gbit/s and above. At lower rates it is a smaller part, because few packets leave in that time.
    pub fn of_rate(rate: u64, frame: u32) -> Self {
        const GIGABIT: u128 = 125_000_000;
        let rate_wide = u128::from(rate);
        let burst = rate_wide * rate_wide.min(GIGABIT) / GIGABIT / 500;
        let burst = u32::try_from(burst).unwrap_or(u32::MAX).max(frame + 100);
        Self {
            rate,
            burst,
            cburst: burst,
        }
    }

    /// A class of this rate in bytes per second, if the kernel's timers are exact. Only the frame that is being sent must fit into its burst.
    pub fn exact(rate: u64, frame: u32) -> Self {
        let burst = frame + 86;
        Self {
            rate,
            burst,
            cburst: burst,
        }
    }

    fn bytes(self) -> Vec<u8> {
        let rate = u32::try_from(self.rate).unwrap_or(u32::MAX);
        let spec = |rate: u32| {
            // struct tc_ratespec: cell log, link layer, overhead, cell align, mpu, rate.
            let mut spec = [0; RATE_SPEC];
            spec[1] = LINK_LAYER_ETHERNET;
            spec[8..].copy_from_slice(&rate.to_ne_bytes());
            spec
        };
        let time = |bytes: u32| {
            let ticks = u128::from(bytes) * 1_000_000_000 / TICK / u128::from(self.rate.max(1));
            u32::try_from(ticks).unwrap_or(u32::MAX)
        };
        // struct tc_htb_opt: rate, ceiling, times of the bursts, quantum, level, priority.
        let mut parameters = [spec(rate), spec(rate)].concat();
        for value in [time(self.burst), time(self.cburst), 1514, 0, 0] {
            parameters.extend(u32::to_ne_bytes(value));
        }
        [
            nested(TCA_HTB_PARMS, &parameters),
            nested(TCA_HTB_RATE64, &self.rate.to_ne_bytes()),
            nested(TCA_HTB_CEIL64, &self.rate.to_ne_bytes()),
        ]
        .concat()
    }
}

/// Rate and ceiling in a class's options.
fn htb_rates(options: &[u8]) -> Option<[u64; 2]> {
    let parameters = attribute(options, TCA_HTB_PARMS)?;
    let wide = |kind| {
        attribute(options, kind)?
            .first_chunk()
            .map(|bytes| u64::from_ne_bytes(*bytes))
    };
    let rate = |kind, offset| {
        // The kernel adds the wide value only where the rate needs it.
        wide(kind).or_else(|| word(&parameters, offset).map(u64::from))
    };
    Some([
        rate(TCA_HTB_RATE64, RATE_SPEC - 4)?,
        rate(TCA_HTB_CEIL64, 2 * RATE_SPEC - 4)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_of_a_class_with_exact_timers_is_one_frame() {
        assert_eq!(HtbClass::exact(1_250_000, 1514).burst, 1600);
        assert!(HtbClass::of_rate(125_000_000, 1514).burst > 100_000);
    }
}
