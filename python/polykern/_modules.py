"""Loads the compiled modules, and says in one line what to do where that fails."""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
from types import ModuleType

_DEBIAN = {"libssl": "libssl3", "libcrypto": "libssl3", "libhwy": "libhwy1", "libmpi": "libopenmpi3"}  # its packages
_NETWORK = "agents, servers, exported models and certificates need polykern-net"


def load(package: str, name: str) -> ModuleType:
    """The module `name` of the package. ImportError says why there is none, and what to do."""
    try:
        return importlib.import_module(f"{package}.{name}")
    except ImportError as error:
        why = _why(package, name, error)
    raise ImportError(why)


def _why(package: str, name: str, error: ImportError) -> str:
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    library = re.match(r"(lib\S+): cannot open shared object file", str(error))
    if library:
        debian = "libpq5 libsqlite3-0" if re.match("lib(pq|sqlite3)", library[1]) else _DEBIAN.get(library[1].split(".so")[0])
        how = f"on Debian 12: apt install {debian}" if debian else "install it"
        return f"{package} needs {library[1]}, which is not installed; {how}"
    if getattr(error, "name", None) == "polykern_net":
        return f"{_NETWORK}: pip install polykern_net-*.whl, from where polykern's wheel came"
    if getattr(error, "name", None) != f"{package}.{name}":
        return f"{package} cannot be loaded: {error}"
    places = [pathlib.Path(place) for place in sys.modules[package].__path__]
    built = sorted({f"{found[1]}.{found[2]}" for place in places for file in place.glob(f"{name}.*.so")
                    if (found := re.match(r".*\.cpython-(\d)(\d+)", file.name))})
    if built:
        return (f"this {package} is built for Python {' and '.join(built)}, and this is Python {this}: use "
                f"python{built[0]}, or a wheel whose name has cp{this.replace('.', '')}")
    return f"{package} is not compiled here: install its wheel, or run scripts/setup-python"


def need_numpy() -> None:
    try:
        importlib.import_module("numpy")
    except ModuleNotFoundError:
        why = ("polykern needs NumPy: apt install python3-numpy (which a virtual environment sees if it was made with "
               "--system-site-packages), or pip install numpy")
    else:
        return
    raise ImportError(why)
