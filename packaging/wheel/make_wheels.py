"""Makes the wheels polykern and polykern-net of modules that CMake has compiled; no registry of packages is asked.

make_wheels.py MODULES VERSION OUT: MODULES is a folder with polykern/ and polykern_net/ as `cmake --install --component
python` makes it. Libraries that few machines have are put beside the modules. A wheel that needs none but those that every
manylinux has is called manylinux_X_Y, X.Y being this machine's glibc; else linux, and what it needs is printed.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
EVERYWHERE = re.compile(r"lib(c|m|stdc\+\+|gcc_s|dl|pthread|rt|z)\.so\.\d+|ld-linux.*|linux-vdso.*")
TAKEN_ALONG = re.compile(r"lib(hwy|prometheus-cpp-core|protobuf-lite)\.so\..*")
WITHIN = ["libhwy1", "libssl3", "nlohmann-json3-dev", "pybind11-dev", "librandom123-dev"]  # Debian's packages, for their terms
WITHIN_NET = ["libprometheus-cpp-core1.0", "libprotobuf-lite32", "libboost-dev"]


def needed(module):
    """What the dynamic section of a module names, and where this machine has it."""
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-dW", module], check=True, capture_output=True,
                                                              text=True).stdout)
    places = dict(re.findall(r"(\S+) => (/\S+)", subprocess.run(["ldd", module], check=True, capture_output=True,
                                                                text=True).stdout))
    return {name: places.get(name) for name in names if not EVERYWHERE.fullmatch(name)}


def metadata(name, version):
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    requires = PROJECT["dependencies"] if name == "polykern" else [f"polykern=={version}"]
    summary = PROJECT["description"] + ("" if name == "polykern" else ": agents and servers of a real federation")
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Summary: {summary}",
             f"License: {PROJECT['license']['text']}", f"Requires-Python: =={python}.*",
             *(f"Requires-Dist: {one}" for one in requires), *(f"Classifier: {one}" for one in PROJECT["classifiers"]),
             "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (ROOT / PROJECT["readme"]).read_text()


def make(name, modules, version, out):
    package = name.replace("-", "_")
    files = {f"{package}/{path.name}": path.read_bytes() for pattern in ("*.py", "*.pyi", "py.typed")
             for path in sorted((ROOT / "python" / package).glob(pattern))}
    files |= {f"{package}/{path.name}": path.read_bytes() for path in (modules / package).glob("_algorithms.pyi")}
    left = {}
    waiting = sorted((modules / package).glob("*.so"))
    while waiting:
        path = waiting.pop()
        files[f"{package}/{path.name}"] = path.read_bytes()
        for library, place in needed(path).items():
            if not TAKEN_ALONG.fullmatch(library):
                left.setdefault(library, path.name.split(".")[0])
            elif f"{package}/{library}" not in files:
                waiting.append(pathlib.Path(os.path.realpath(place)).parent / library)
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    machine = sysconfig.get_platform().split("-")[-1]
    platform = f"linux_{machine}" if left else f"manylinux_{glibc}_{machine}"
    info = f"{package}-{version}.dist-info"
    files[f"{info}/METADATA"] = metadata(name, version).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: polykern {version}\nRoot-Is-Purelib: false\n"
                              f"Tag: {TAG}-{TAG}-{platform}\n").encode()
    files[f"{info}/top_level.txt"] = f"{package}\n".encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    for other in WITHIN + (WITHIN_NET if name == "polykern-net" else []):
        terms = pathlib.Path(f"/usr/share/doc/{other}/copyright")
        if terms.exists():
            files[f"{info}/licenses/{other}"] = terms.read_bytes()
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},"
                     f"{len(content)}\n" for path, content in sorted(files.items()))
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = out / f"{package}-{version}-{TAG}-{TAG}-{platform}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files.items()):
            entry = zipfile.ZipInfo(path)  # of 1980: the same bytes each time
            entry.external_attr = (0o100755 if ".so" in path else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    print(wheel, *(f"({module} needs {library} of the system)" for library, module in sorted(left.items())))


if __name__ == "__main__":
    modules, version, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    for name in ("polykern", "polykern-net"):
        make(name, modules, version, out)
