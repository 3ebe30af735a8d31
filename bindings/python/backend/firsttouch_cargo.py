"""What maturin calls for Cargo while it builds a wheel: the same, but for `cargo rustc`, which compiles one package.

The command `firsttouch` shares most of its crates with the extension module. Built on its own it would have all of them
compiled a second time, because Cargo chooses features for what it builds at once. So this builds both at once, and puts the
command where maturin takes scripts from.
"""

import json
import os
import shutil
import subprocess
import sys

#: The packages, by the names that Cargo knows them by.
MODULE, COMMAND = "firsttouch-python", "firsttouch-cli"


def main(cargo, scripts, words):
    # This names us. Cargo hands it to build scripts that call Cargo, and those mean Cargo.
    os.environ.pop("CARGO", None)
    if words[0] != "rustc":
        os.execvp(cargo, [cargo, *words])
    print(
        "firsttouch: Cargo compiles the extension module and the command, both at once; this takes some minutes",
        file=sys.stderr,
        flush=True,
    )
    # Flags for the compiler itself are for one package: then the command is built by itself, without them.
    alone = "--" in words
    both = words[1 : words.index("--")] if alone else words[1:]
    both = [word for word in both if word != "--lib"]
    packages = ["-p", COMMAND] if alone else ["-p", COMMAND, "-p", MODULE]
    status = build([cargo, "build", *packages, *both], scripts)
    if alone and status == 0:
        status = subprocess.call([cargo, *words])
    sys.exit(status)


def build(words, scripts):
    """Runs Cargo, hands on what it says, and takes the command from it."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as cargo:
        for line in cargo.stdout:
            command = executable(line)
            if command is None:
                sys.stdout.write(line)
                sys.stdout.flush()
            else:
                os.makedirs(scripts, exist_ok=True)
                shutil.copy2(command, scripts)
    return cargo.returncode


def executable(line):
    """The program that a message of Cargo's tells of, if it does."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message.get("executable") if message.get("reason") == "compiler-artifact" else None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
