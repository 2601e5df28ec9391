//! Makes text from users safe to display: in one line, with hidden characters made visible.

/// Whether a character is invisible, ends the line, or changes the direction of the surrounding text (Unicode's Bidi_Control).
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a text in one line, with hidden characters escaped.
pub fn shown(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    for (place, c) in text.chars().enumerate() {
        if place == longest {
            shown.push_str("...");
            break;
        }
        match is_hidden(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_is_shown_and_no_more_than_was_asked_for() {
        assert_eq!(shown("a\r\nb\u{202e}é", 9), "a\\r\\nb\\u{202e}é");
        assert_eq!(shown("abcdef", 3), "abc...");
        assert_eq!(shown("abc", 3), "abc");
    }
}
