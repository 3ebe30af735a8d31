//! Colour for terminals, on or off. Every text reads the same without it.

/// Whether text carries ANSI colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences.
    #[default]
    Plain,
    /// ANSI escape sequences of the sixteen-colour palette, which follows the terminal's own theme.
    Ansi,
}

/// What a piece of text is, as far as colour can help to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Strong,
    Good,
    Bad,
    Caution,
    Faint,
}

impl Style {
    /// The text in the colour of its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if self == Style::Plain || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Strong => "1",
            Tone::Good => "1;32",
            Tone::Bad => "31",
            Tone::Caution => "33",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::{Style, Tone};

    #[test]
    fn plain_text_stays_plain() {
        assert_eq!(Style::Plain.paint(Tone::Good, "x"), "x");
        assert_eq!(Style::Ansi.paint(Tone::Good, "x"), "\u{1b}[1;32mx\u{1b}[0m");
        assert_eq!(Style::Ansi.paint(Tone::Good, ""), "");
    }
}
