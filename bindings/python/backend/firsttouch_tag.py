"""The tag of a wheel: which releases of the GNU C library its programs run with, as read from them.

PEP 600: `manylinux_2_34_x86_64` says that everything in a wheel runs wherever glibc is 2.34 or newer. That holds where programs
need nothing but libraries that every distribution has, of versions that came with that glibc or before. A wheel of which it does
not hold keeps the tag `linux_…`, which registries refuse and pip takes on the machine that built it.
"""

import base64
import hashlib
import re
import struct
import zipfile
import zlib
from pathlib import Path

#: Libraries that come with glibc or the compiler, on every distribution; of more than PEP 600 allows, those that Rust uses.
LIBRARIES = re.compile(r"(ld-linux[-a-z0-9_]*|lib(c|m|dl|rt|util|pthread|gcc_s))\.so\.\d+")
#: The compiler's library is counted by its own releases. What unwinds is this old; glibc 2.17 came with it everywhere.
COMPILER = (4, 8)
#: Marks of glibc that are no numbers, and the release that has each.
MARKS = {"GLIBC_ABI_DT_RELR": (2, 36)}
#: What the standard library of Rust expects at least, whatever programs say.
LEAST = (2, 17)


class Refused(Exception):
    """Why a wheel is for the machine that built it."""


def retag(wheel, carried):
    """Names a wheel by what its programs need, and what they carry, as files that zlib has packed; returns its new name."""
    with zipfile.ZipFile(wheel) as archive:
        programs = {name: data for name in archive.namelist() if (data := archive.read(name))[:4] == b"\x7fELF"}
    programs.update((path.name, zlib.decompress(path.read_bytes())) for path in carried)
    if not programs or not carried:
        raise SystemExit(f"{wheel}: the programs, or the agent that they carry, were not found")
    try:
        tag = "manylinux_{}_{}".format(*max(least(name, data) for name, data in programs.items()))
    except Refused as why:
        print(f"firsttouch: the wheel is for this machine alone: {why}", flush=True)
        return wheel.name
    named = wheel.with_name(wheel.name.replace("-linux_", f"-{tag}_"))
    if named == wheel:
        return wheel.name
    rewrite(wheel, named, tag)
    wheel.unlink()
    return named.name


def rewrite(wheel, named, tag):
    """Writes the wheel again with another platform in its tags, and with the sums that this changes."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(named, "w") as new:
        changed = {}
        # The list of sums is the last file, by the format's own advice.
        for about in sorted(old.infolist(), key=lambda about: about.filename.endswith(".dist-info/RECORD")):
            data = old.read(about)
            if about.filename.endswith(".dist-info/WHEEL"):
                data = re.sub(rb"(?m)^(Tag: .*)-linux_", rb"\1-" + tag.encode() + b"_", data)
                changed[about.filename] = data
            if about.filename.endswith(".dist-info/RECORD"):
                for name, text in changed.items():
                    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
                    row = f"{name},sha256={digest},{len(text)}"
                    data = re.sub(rf"(?m)^{re.escape(name)},.*$", row, data.decode()).encode()
            new.writestr(about, data, about.compress_type)


def least(name, data):
    """The oldest glibc that a program runs with."""
    libraries, versions = needs(name, data)
    for library in libraries:
        if not LIBRARIES.fullmatch(library):
            raise Refused(f"{name} needs {library}, which other systems may not have")
    found = LEAST
    for version in versions:
        kind, _, number = version.partition("_")
        numbers = tuple(map(int, number.split("."))) if re.fullmatch(r"\d+(\.\d+)*", number) else None
        if version in MARKS or (kind == "GLIBC" and numbers):
            found = max(found, MARKS.get(version) or numbers[:2])
        elif not (kind == "GCC" and numbers and numbers <= COMPILER):
            raise Refused(f"{name} needs {version}, which no release of glibc promises")
    return found


def needs(name, data):
    """The libraries that an ELF file names, and the versions of symbols that it needs of them (`GLIBC_2.34`)."""
    if data[4:6] != b"\x02\x01":
        raise Refused(f"{name} is not for a 64-bit machine that counts from the small end")
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    table = [struct.unpack_from("<IIQQQQIIQQ", data, sections + index * size) for index in range(count)]

    def text(section, place):
        start = table[section][4] + place
        return data[start : data.index(b"\0", start)].decode()

    libraries, versions = [], []
    for _, kind, _, _, start, length, link, info, _, _ in table:
        if kind == 6:  # SHT_DYNAMIC: pairs of a tag and a value; DT_NEEDED is 1, and 0 ends them
            for tag, value in struct.iter_unpack("<qQ", data[start : start + length]):
                if tag == 0:
                    break
                if tag == 1:
                    libraries.append(text(link, value))
        elif kind == 0x6FFFFFFE:  # SHT_GNU_verneed: for each library a list of versions
            for _ in range(info):
                _, many, _, first, following = struct.unpack_from("<HHIII", data, start)
                entry = start + first
                for _ in range(many):
                    _, _, _, word, after = struct.unpack_from("<IHHII", data, entry)
                    versions.append(text(link, word))
                    entry += after
                start += following
    return libraries, versions
