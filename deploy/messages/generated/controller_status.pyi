from collections.abc import Sequence

class controller_status:
    __slots__: list[str]
    __typenames__: list[str]
    __dimensions__: list[list[int] | None]
    sequence: int
    time_ns: int
    session: int
    state: int
    skill: int
    fault: int
    fault_joint: int
    fault_value: float
    robot_fault: int
    ticks: int
    overruns: int
    lateness: float
    velocity: Sequence[float]
    gravity: Sequence[float]
    mac: bytes
    def __init__(self) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(data: bytes) -> controller_status: ...
    def get_hash(self) -> int: ...
