//! gcc: the driver starts the compiler proper, the assembler and the linker.

use crate::requirements::installed;
use crate::subject::Subject;
use std::fmt::Write;

const FUNCTIONS: usize = 400;

/// A C file of many functions, each a little different.
fn source() -> String {
    let mut text = String::from("#include <stdlib.h>\n#include <string.h>\n");
    for number in 0..FUNCTIONS {
        let (first, second) = (number * 7 % 31 + 1, number * 13 % 17 + 2);
        write!(
            text,
            "unsigned f{number}(unsigned *a, unsigned n) {{\n\
             \x20   unsigned s = {first}, t[{second}] = {{0}};\n\
             \x20   for (unsigned i = 0; i < n; i++) {{\n\
             \x20       t[i % {second}] += a[i] * {first}u;\n\
             \x20       if (a[i] & {first}u) s ^= t[(i + {first}u) % {second}u]; else s = s * 33u + {number}u;\n\
             \x20       switch (s % 5u) {{ case 0: s += {first}u; break; case 3: s >>= 1; break; default: s--; }}\n\
             \x20   }}\n\
             \x20   char *p = malloc(s % 64u + 1u); memset(p, (int)s, s % 64u + 1u); s += (unsigned)p[0]; free(p);\n\
             \x20   return s;\n}}\n"
        )
        .unwrap();
    }
    text.push_str("int main(void) {\n    unsigned a[97], s = 0;\n");
    text.push_str("    for (unsigned i = 0; i < 97; i++) a[i] = i * 2654435761u;\n");
    for number in 0..FUNCTIONS {
        writeln!(text, "    s += f{number}(a, 97);").unwrap();
    }
    text.push_str("    return (int)(s % 100u);\n}\n");
    text
}

fn subject(words: &[&str]) -> Option<Subject> {
    let compiler = installed("gcc")?;
    Some(Subject::new(compiler).arguments(words).file("large.c", &source()))
}

#[test]
fn the_object_is_the_same() {
    let Some(subject) = subject(&["-O2", "-c", "large.c", "-o", "large.o"]) else { return };
    subject.result("large.o").same_with_and_without().assert_complete();
}

#[test]
fn the_program_is_the_same_when_all_its_makers_are_placed() {
    let Some(subject) = subject(&["-O1", "large.c", "-o", "large"]) else { return };
    subject.result("large").same_with(&["--follow", "--min-size", "256K"]).assert_complete();
}

#[test]
fn an_error_in_the_source_is_the_same_error() {
    let Some(compiler) = installed("gcc") else { return };
    Subject::new(compiler)
        .arguments(&["-Wall", "-c", "wrong.c", "-o", "wrong.o"])
        .file("wrong.c", "int main(void) { int unused; return missing; }\n")
        .same_with_and_without();
}
