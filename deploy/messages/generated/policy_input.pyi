from collections.abc import Sequence

class policy_input:
    __slots__: list[str]
    __typenames__: list[str]
    __dimensions__: list[list[int] | None]
    sequence: int
    time_ns: int
    session: int
    skill: int
    observation: Sequence[float]
    def __init__(self) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(data: bytes) -> policy_input: ...
    def get_hash(self) -> int: ...
