//! Answers of the CPUID instruction as `hwloc-gather-cpuid` writes them: one file for each CPU, one line for each question.
//!
//! A line has nine hexadecimal numbers: which of the four registers are part of the question (1 eax, 2 ebx, 4 ecx, 8 edx),
//! these registers, `=>`, and the registers of the answer. Lines that begin with `#` are remarks.
//!
//! ```
//! use firsttouch_linux::cpuid::{Answers, Registers};
//! let answers = Answers::parse("# mask e[abcd]x => e[abcd]x\n5 b 0 0 0 => 1 2 100 3\n1 1 0 0 0 => 106a5 3100800 9ce3bd bfebfbff\n");
//! assert_eq!(answers.get(0xb, 0), Some(Registers { eax: 1, ebx: 2, ecx: 0x100, edx: 3 }));
//! assert_eq!(answers.get(0xb, 1), None);
//! assert_eq!(answers.get(1, 7).unwrap().eax, 0x106a5); // its answer does not depend on ecx
//! ```

use std::collections::BTreeMap;

/// What one question was answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The register of this name.
    pub eax: u32,
    /// The register of this name.
    pub ebx: u32,
    /// The register of this name.
    pub ecx: u32,
    /// The register of this name.
    pub edx: u32,
}

/// What one CPU answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// By leaf (eax), and by its part (ecx) where the answer depends on it.
    answers: BTreeMap<(u32, Option<u32>), Registers>,
}

impl Answers {
    /// Reads the lines of one CPU's file. Lines that are none of these are left out; of several answers to one question
    /// the first counts.
    pub fn parse(text: &str) -> Answers {
        let mut answers = BTreeMap::new();
        for (question, answer) in text.lines().filter_map(line) {
            answers.entry(question).or_insert(answer);
        }
        Answers { answers }
    }

    /// The answer of a leaf, of one part of it where it has parts; `None` where that was not asked, which is not 0.
    pub fn get(&self, leaf: u32, part: u32) -> Option<Registers> {
        self.answers.get(&(leaf, Some(part))).or_else(|| self.answers.get(&(leaf, None))).copied()
    }
}

fn line(text: &str) -> Option<((u32, Option<u32>), Registers)> {
    /// Bits of the first number.
    const EAX: u32 = 1;
    const ECX: u32 = 4;
    let (question, answer) = text.split_once("=>")?;
    let [asked, leaf, _, part, _] = numbers(question)?;
    let [eax, ebx, ecx, edx] = numbers(answer)?;
    let part = (asked & ECX != 0).then_some(part);
    (asked & EAX != 0).then_some(((leaf, part), Registers { eax, ebx, ecx, edx }))
}

/// As many hexadecimal numbers, and nothing else.
fn numbers<const N: usize>(text: &str) -> Option<[u32; N]> {
    let mut words = text.split_whitespace();
    let mut numbers = [0; N];
    for number in &mut numbers {
        let word = words.next()?;
        *number = u32::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()?;
    }
    words.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::{Answers, Registers};

    #[test]
    fn lines_that_are_none_are_left_out() {
        let text = "# 1 1 0 0 0 => 1 1 1 1\n1 1 0 0 0 = 2 2 2 2\n1 1 0 0 => 3 3 3 3\n1 1 0 0 0 => 4 4 4\n\
                    1 1 0 0 0 => 5 5 5 5 5\n1 1 0 0 0 => 6 6 6 x\n1 1 0 0 0 => 6 6 6 100000000\n4 1 0 0 0 => 7 7 7 7\n\
                    +1 0x1 0 0 0 => 8 9 a 0xffffffff\n1 1 0 0 0 => 9 9 9 9\n";
        let answers = Answers::parse(text);
        assert_eq!(answers.get(1, 3), Some(Registers { eax: 8, ebx: 9, ecx: 10, edx: u32::MAX }));
        assert_eq!((answers.answers.len(), answers.get(0, 0)), (1, None));
        assert_eq!(Answers::parse(""), Answers::default());
    }
}
