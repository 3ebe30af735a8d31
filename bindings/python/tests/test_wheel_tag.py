"""How a wheel is named: by the glibc that its programs need, and what they carry, as read from them."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parent.parent / "backend"
if not BACKEND.exists():
    pytest.skip("the sources of the package are not beside its tests", allow_module_level=True)
sys.path.insert(0, str(BACKEND))
import firsttouch_tag  # noqa: E402

NAME = "firsttouch-0.1.0-cp39-abi3-linux_x86_64.whl"


def compiled(path, *words, source):
    """A library of a C source."""
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-x", "none"]
    subprocess.run([*command, "-o", path, *words], input=source, text=True, check=True)
    return path


def needing(folder, version, library="libm.so.6"):
    """A library that needs something of another library, in a version that this says."""
    folder.mkdir(exist_ok=True)
    script, other = folder / "versions", folder / library
    script.write_text(f"{version} {{ asked; }};")
    words = [f"-Wl,-soname,{library}", f"-Wl,--version-script={script}"]
    compiled(other, *words, source="int asked(void) { return 1; }")
    needy = "int asked(void); int answer(void) { return asked(); }"
    return compiled(folder / "needy.so", other, source=needy).read_bytes()


def wheel(folder, *programs):
    """A wheel of these programs; and where it lies."""
    path, info = folder / NAME, "firsttouch-0.1.0.dist-info"
    files = {f"firsttouch/{number}.so": data for number, data in enumerate(programs)}
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nTag: cp39-abi3-linux_x86_64\n"
    row = "{},sha256={},{}\n".format
    rows = "".join(row(name, sum_of(data), len(data)) for name, data in files.items())
    files[f"{info}/RECORD"] = f"{rows}{info}/RECORD,,\n".encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            about = zipfile.ZipInfo(name)
            about.external_attr = 0o100755 << 16
            archive.writestr(about, data, zipfile.ZIP_DEFLATED)
    return path


def sum_of(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def agent(folder, version="GLIBC_2.17"):
    path = folder / "agent.so.z"
    path.write_bytes(zlib.compress(needing(folder / "agent", version)))
    return path


@pytest.mark.parametrize("version, release", [("GLIBC_2.2.5", (2, 17)), ("GLIBC_2.34", (2, 34)), ("GLIBC_2.101", (2, 101))])
def test_the_newest_version_that_is_needed_counts(tmp_path, version, release):
    data = needing(tmp_path, version)
    assert firsttouch_tag.needs("it", data) == (["libm.so.6"], [version])
    assert firsttouch_tag.least("it", data) == release


def test_the_compilers_library_has_versions_of_its_own(tmp_path):
    assert firsttouch_tag.least("it", needing(tmp_path, "GCC_3.0", "libgcc_s.so.1")) == (2, 17)
    with pytest.raises(firsttouch_tag.Refused, match="GCC_12.0.0"):
        firsttouch_tag.least("it", needing(tmp_path, "GCC_12.0.0", "libgcc_s.so.1"))


def test_what_no_release_promises_is_refused(tmp_path):
    for version, library, told in [
        ("GLIBC_PRIVATE", "libc.so.6", "GLIBC_PRIVATE"),
        ("OTHER_1", "libother.so.3", "libother.so.3"),
        ("GLIBC_2.3", "libpython3.11.so.1.0", "libpython"),
    ]:
        with pytest.raises(firsttouch_tag.Refused, match=told):
            firsttouch_tag.least("it", needing(tmp_path, version, library))
    with pytest.raises(firsttouch_tag.Refused, match="64-bit"):
        firsttouch_tag.least("it", b"\x7fELF\x01\x01" + bytes(100))


def test_a_wheel_is_named_by_all_in_it(tmp_path):
    old = wheel(tmp_path, needing(tmp_path, "GLIBC_2.28"), needing(tmp_path, "GLIBC_2.31"))
    before = {about.filename: about for about in zipfile.ZipFile(old).infolist()}
    named = firsttouch_tag.retag(old, [agent(tmp_path)])
    assert named == "firsttouch-0.1.0-cp39-abi3-manylinux_2_31_x86_64.whl" and not old.exists()
    with zipfile.ZipFile(tmp_path / named) as archive:
        info = "firsttouch-0.1.0.dist-info"
        assert b"Tag: cp39-abi3-manylinux_2_31_x86_64\n" in archive.read(f"{info}/WHEEL")
        rows = dict(row.split(",", 1) for row in archive.read(f"{info}/RECORD").decode().splitlines())
        assert rows.pop(f"{info}/RECORD") == ","
        assert rows == {name: f"sha256={sum_of(data)},{len(data)}" for name in rows for data in [archive.read(name)]}
        for about in archive.infolist():
            assert (about.external_attr, about.compress_type) == (0o100755 << 16, zipfile.ZIP_DEFLATED)
            assert about.date_time == before.pop(about.filename).date_time
    assert not before


def test_what_the_command_carries_counts(tmp_path):
    named = firsttouch_tag.retag(wheel(tmp_path, needing(tmp_path, "GLIBC_2.28")), [agent(tmp_path, "GLIBC_2.40")])
    assert "manylinux_2_40" in named
    with pytest.raises(SystemExit, match="the agent"):
        firsttouch_tag.retag(wheel(tmp_path, needing(tmp_path, "GLIBC_2.28")), [])


def test_a_wheel_for_this_machine_alone_keeps_its_name(tmp_path, capsys):
    path = wheel(tmp_path, needing(tmp_path, "GLIBC_2.28"), needing(tmp_path, "X_1", "libother.so"))
    before = path.read_bytes()
    assert firsttouch_tag.retag(path, [agent(tmp_path)]) == NAME
    assert path.read_bytes() == before and "libother.so" in capsys.readouterr().out
