//! Windows of whole segments, as Linux keeps them: so many segments acknowledged earn one.

/// What was acknowledged and has not earned a segment yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentCredit {
    paid: u64,
}

impl SegmentCredit {
    /// Pays in the bytes acknowledged, at this many acknowledged segments for one; gives the bytes earned, whole segments.
    #[inline]
    pub fn earn(&mut self, acked: u64, price: u64, mss: u64) -> u64 {
        let price = price.max(1) * mss;
        // What was saved at a higher price buys one segment, not several.
        let saved = u64::from(self.paid >= price);
        if saved > 0 {
            self.paid = 0;
        }
        self.paid += acked;
        let earned = self.paid / price;
        self.paid -= earned * price;
        (saved + earned) * mss
    }

    /// Congestion: what was paid in is lost.
    pub fn forget(&mut self) {
        self.paid = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_did_not_earn_a_segment() {
        let mut credit = SegmentCredit::default();
        // Seven segments at three for one: two, and one is kept.
        assert_eq!(credit.earn(700, 3, 100), 200);
        assert_eq!(credit.earn(200, 3, 100), 100);
        assert_eq!(credit.earn(299, 3, 100), 0);
        credit.forget();
        assert_eq!(credit.earn(299, 3, 100), 0);
        assert_eq!(credit.earn(1, 3, 100), 100);
        assert_eq!(credit.earn(999, 10, 100), 0);
        assert_eq!(
            credit.earn(100, 2, 100),
            100,
            "saved at a higher price, it buys one only"
        );
    }
}
