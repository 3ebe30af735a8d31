"""What maturin calls for Cargo while it builds a wheel: the same, but for `cargo rustc`, which compiles one package.

The command `firsttouch` shares most of its crates with the extension module. Built on its own it would have all of them
compiled a second time, because Cargo chooses features for what it builds at once. So this builds both at once, and puts the
command where maturin takes scripts from, and the agent that the command carries where the tag of the wheel is made.
"""

import json
import os
import shutil
import subprocess
import sys

#: The packages, by the names that Cargo knows them by.
MODULE, COMMAND = "firsttouch-python", "firsttouch-cli"
#: The agent, as the build script of `firsttouch-launch` has packed it.
AGENT = "libfirsttouch_preload.so.z"


def main(cargo, scripts, carried, words):
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
    status = build([cargo, "build", *packages, *both], scripts, carried)
    if alone and status == 0:
        status = subprocess.call([cargo, *words])
    sys.exit(status)


def build(words, scripts, carried):
    """Runs Cargo, hands on what it says, and takes the command and the agent from it."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as cargo:
        for line in cargo.stdout:
            message = told(line)
            program = message.get("executable") if message.get("reason") == "compiler-artifact" else None
            # Our tests let Cargo look at one more.
            command = program if program and os.path.basename(program) == "firsttouch" else None
            agent = os.path.join(message.get("out_dir") or "", AGENT)
            if program is None:
                sys.stdout.write(line)
                sys.stdout.flush()
            for file, folder in [(command, scripts), (agent if os.path.isfile(agent) else None, carried)]:
                if file is not None:
                    os.makedirs(folder, exist_ok=True)
                    shutil.copy2(file, folder)
    return cargo.returncode


def told(line):
    """The message in a line of Cargo's, or none."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
