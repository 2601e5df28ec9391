//! How a UE gets uplink grants: it asks if it has none, and reports with every block how much it still has.

/// Number of slots from a request to the slot in which the base station can grant.
pub(super) const ASKING: u64 = 3;

/// What the base station knows of a UE's buffer, and what it has granted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requests {
    /// Bytes that the UE is known to have, beyond what it was granted.
    known: u32,
    /// Bytes granted for future slots.
    granted: u32,
    /// Number of reports on the air that announce more data.
    flying: u32,
    /// The slot from which a request is known.
    asked: Option<u64>,
}

impl Requests {
    /// Whether the base station has no information about the UE's buffer, so that the UE must ask.
    pub fn is_silent(&self) -> bool {
        !self.is_open()
    }

    /// Whether the base station knows, or will know, that there is something to send.
    pub fn is_open(&self) -> bool {
        self.known > 0 || self.granted > 0 || self.flying > 0 || self.asked.is_some()
    }

    /// The UE asks at the end of this slot.
    pub fn ask(&mut self, slot: u64) {
        self.asked = Some(slot + ASKING);
    }

    /// Whether the UE has asked and has not been granted anything since.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Bytes to grant in this slot. After a request, at least one byte, with which the UE can send a report.
    pub fn need(&self, slot: u64) -> u32 {
        let asked = self.asked.is_some_and(|at| at <= slot);
        self.known.max(u32::from(asked))
    }

    /// Records that the UE was granted a block of this many bytes.
    pub fn granted(&mut self, slot: u64, bytes: u32) {
        self.asked = self.asked.filter(|&at| at > slot);
        self.known = self.known.saturating_sub(bytes);
        self.granted += bytes;
    }

    /// Records that the UE filled a granted block of `bytes` bytes and has `left` bytes left.
    pub fn filled(&mut self, bytes: u32, left: u32) {
        self.granted -= bytes;
        self.flying += u32::from(left > 0);
    }

    /// Records that a report arrived.
    pub fn reported(&mut self, left: u32) {
        self.given_up(left);
        self.known = left.saturating_sub(self.granted);
    }

    /// Records that a report was lost.
    pub fn given_up(&mut self, left: u32) {
        self.flying -= u32::from(left > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_asked_for_and_the_rest_is_reported() {
        let mut requests = Requests::default();
        assert!(requests.is_silent());
        requests.ask(10);
        assert_eq!((requests.need(12), requests.need(13)), (0, 1));
        requests.granted(13, 500);
        assert_eq!(requests.need(13), 0);
        assert!(!requests.is_silent());
        requests.filled(500, 1200);
        requests.reported(1200);
        assert_eq!(requests.need(18), 1200);
        requests.granted(18, 1000);
        assert_eq!(requests.need(18), 200);
        requests.filled(1000, 0);
        requests.reported(0);
        assert!(requests.is_silent());
    }

    #[test]
    fn later_grants_are_subtracted_from_a_report() {
        let mut requests = Requests::default();
        requests.ask(0);
        requests.granted(3, 100);
        requests.filled(100, 900);
        requests.granted(4, 300);
        requests.reported(900);
        assert_eq!(requests.need(5), 600);
        requests.filled(300, 600);
        requests.given_up(600);
        assert_eq!(requests.need(5), 600);
    }
}
