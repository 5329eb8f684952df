from collections.abc import Sequence

class joint_command:
    __slots__: list[str]
    __typenames__: list[str]
    __dimensions__: list[list[int] | None]
    sequence: int
    time_ns: int
    session: int
    robot_session: int
    state_sequence: int
    observed_ns: int
    expires_ns: int
    heartbeat_ns: int
    mode: int
    skill: int
    bundle: bytes
    position: Sequence[float]
    kp: float
    kd: float
    mac: bytes
    def __init__(self) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(data: bytes) -> joint_command: ...
    def get_hash(self) -> int: ...
