//! Files of which some lines are ours.

/// A file that holds lines of ours, each known by its beginning or end, and maybe lines of somebody else.
pub(crate) struct Lines<'a> {
    pub(crate) path: &'a str,
    /// What it holds where there was none.
    pub(crate) template: &'a str,
    /// The line before which new ones go; without it, at the end.
    pub(crate) before: Option<&'a str>,
    /// How an older line of the same meaning begins or ends, and the line.
    pub(crate) lines: Vec<(String, String)>,
}

impl Lines<'_> {
    /// The text with these lines in it.
    pub(crate) fn merged(&self, old: Option<&str>) -> String {
        let mut all: Vec<&str> = old.unwrap_or(self.template).lines().collect();
        for (known_by, line) in &self.lines {
            if let Some(same) =
                all.iter_mut().find(|one| one.starts_with(known_by) || one.ends_with(known_by))
            {
                *same = line;
                continue;
            }
            let place = self.before.and_then(|before| all.iter().position(|line| *line == before));
            all.insert(place.unwrap_or(all.len()), line);
        }
        all.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_take_the_place_of_their_elders_and_others_stay() {
        let lines = |value: &str| Lines {
            path: "/etc/x.conf",
            template: "# ours\n",
            before: None,
            lines: vec![("w /sys/a ".to_owned(), format!("w /sys/a - - - - {value}"))],
        };
        let first = lines("1").merged(None);
        assert_eq!(first, "# ours\nw /sys/a - - - - 1\n");
        assert_eq!(lines("2").merged(Some(&first)), "# ours\nw /sys/a - - - - 2\n");
        assert_eq!(lines("2").merged(Some("d /tmp/x\n")), "d /tmp/x\nw /sys/a - - - - 2\n");
    }

    #[test]
    fn a_unit_has_a_line_for_each_pool() {
        let line = |file: &str, pages: u32| {
            (format!("> {file}'"), format!("ExecStart=-/bin/sh -c 'echo {pages} > {file}'"))
        };
        let unit = |lines| Lines {
            path: "",
            template: "[Service]\nRemainAfterExit=yes\n\n[Install]\nWantedBy=sysinit.target\n",
            before: Some(""),
            lines,
        };
        let first = unit(vec![line("/a", 1), line("/b", 2)]).merged(None);
        let second = unit(vec![line("/b", 3)]).merged(Some(&first));
        let started: Vec<&str> = second.lines().filter(|line| line.starts_with("ExecStart")).collect();
        assert_eq!(started, ["ExecStart=-/bin/sh -c 'echo 1 > /a'", "ExecStart=-/bin/sh -c 'echo 3 > /b'"]);
        assert!(
            second.contains("RemainAfterExit=yes\nExecStart")
                && second.ends_with("'\n\n[Install]\nWantedBy=sysinit.target\n")
        );
    }
}
