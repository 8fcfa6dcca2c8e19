from typing import Any, Optional, Sequence, Tuple, Union

__version__: str

class Server:
    def __init__(
        self,
        algorithm: Optional[str],
        dimension: Optional[int],
        columns: Sequence[str],
        ranges: Sequence[Tuple[str, float, float]],
        target: Optional[str],
        target_range: Optional[Tuple[float, float]],
        plain_labels: bool,
        learn_ranges: Optional[int],
        store: str,
        listen: str,
        certificates: Optional[str],
        clients: Sequence[str],
        quorum: Union[None, int, float, str],
        deadline: float,
        steps: int,
        horizon: Optional[int],
        seed: Optional[int],
        inputs: dict[str, Any],
        settings: dict[str, Any],
        helper: str,
    ) -> None: ...
    def address(self) -> str: ...
    def status(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
