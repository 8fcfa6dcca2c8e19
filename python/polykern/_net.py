"""polykern-net: the compiled modules of the real federation, loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polykern_net import _agent as agent
    from polykern_net import _server as server
else:
    from polykern import _core, _modules

    def __getattr__(name):
        if name not in ("agent", "server"):
            raise AttributeError(name)
        module = _modules.load("polykern_net", f"_{name}")
        if module.__version__ != _core.__version__:
            raise ImportError(f"polykern is {_core.__version__}, but polykern-net {module.__version__}: install both of "
                              "the same version")
        globals()[name] = module
        return module

__all__ = ["agent", "server"]
