from collections.abc import Sequence

class robot_state:
    __slots__: list[str]
    __typenames__: list[str]
    __dimensions__: list[list[int] | None]
    sequence: int
    time_ns: int
    session: int
    joint_position: Sequence[float]
    joint_velocity: Sequence[float]
    joint_torque: Sequence[float]
    angular_velocity: Sequence[float]
    acceleration: Sequence[float]
    quaternion: Sequence[float]
    voltage: float
    ready: int
    command_sequence: int
    delay_ns: int
    fault: int
    fault_joint: int
    fault_value: float
    mac: bytes
    def __init__(self) -> None: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(data: bytes) -> robot_state: ...
    def get_hash(self) -> int: ...
