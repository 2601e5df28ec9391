//! Finds what a user meant: the known name with the smallest edit distance.

/// The known name nearest to `name`, if one is near enough to be worth a suggestion.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| -> Vec<char> {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let wanted = fold(name);
    known
        .into_iter()
        .map(|candidate| (distance(&wanted, &fold(candidate)), candidate))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, candidate)| distance <= 1 + candidate.len() / 3)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, one row at a time.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// `; did you mean ...?` or nothing.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
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
    }
}
