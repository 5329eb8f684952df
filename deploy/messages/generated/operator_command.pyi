from collections.abc import Sequence

class operator_command:
    __slots__: list[str]
    __typenames__: list[str]
    __dimensions__: list[list[int] | None]
    sequence: int
    time_ns: int
    session: int
    expires_ns: int
    request: int
    skill: int
    velocity: Sequence[float]
    mac: bytes
    def __init__(self) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(data: bytes) -> operator_command: ...
    def get_hash(self) -> int: ...
