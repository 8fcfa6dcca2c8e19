"""Writes _algorithms.pyi: what type checkers and editors know of the algorithms' options, which the library declares.

make_stubs.py OUT, with the compiled package on Python's path.
"""

import pathlib
import sys

from polykern import _algorithms, _core

HEAD = '''from typing import Any, Literal, Optional, Union

from polykern import _core

class Algorithm(_core.Algorithm):
    def client(self, id: int = 0) -> _core.ClientHalf: ...
    def server(self, clients: int = 0) -> _core.ServerHalf: ...
    @property
    def settings(self) -> dict[str, Any]: ...

def make_algorithm(name: str, bank_or_dimension: Union[_core.KernelBank, int], **settings: Any) -> Algorithm: ...
'''


def stub(cls):
    types = {key: kind for key, _, _, kind in _core.algorithm_options(cls._name)}
    over = "bank: _core.KernelBank" if cls._over == "bank" else "dimension: int"
    keywords = [f"{name}: Optional[{types.get(name, 'int')}] = ..." for name, parameter in cls.__signature__.parameters.items()
                if parameter.kind is parameter.KEYWORD_ONLY]
    if "experts" in types:
        keywords.append("local_experts: Optional[bool] = ...")  # its former name
    listed = "".join(f"        {line},\n" for line in ["self", over, "*", *keywords])
    return f"\nclass {cls.__name__}(Algorithm):\n    def __init__(\n{listed}    ) -> None: ...\n"


pathlib.Path(sys.argv[1]).write_text(HEAD + "".join(map(stub, _algorithms.Algorithm.__subclasses__())))
