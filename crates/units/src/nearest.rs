//! Suggests the name that a user probably meant: the known name with the smallest edit distance.

/// The known name nearest to `name`, if it is near enough to be a plausible correction. Case and punctuation are ignored.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let wanted = fold(name);
    known
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&wanted, &fold(candidate));
            (distance, candidate)
        })
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, candidate)| distance <= (candidate.chars().count() / 3).max(1))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean ...?` or nothing.
pub fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_is_near_and_nothing_else() {
        let known = ["fifo", "codel", "fq_codel", "pie"];
        assert_eq!(nearest("codle", known), Some("codel"));
        assert_eq!(nearest("FqCodel", known), Some("fq_codel"));
        assert_eq!(nearest("pei", known), Some("pie"));
        assert_eq!(nearest("hierarchical", known), None);
        assert_eq!(nearest("codel", []), None);
    }
}
