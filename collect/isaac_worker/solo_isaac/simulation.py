"""Steps of the robots: joint controller in every solver step, state exchange in tensors.

Isaac Gym's rules for tensors: refresh a tensor before setting it, set each kind of state at most
once per step, keep alive every tensor handed over, send efforts again for every step, and index
actors with 32-bit integers.
"""

from __future__ import annotations

from typing import Any

import isaacgym.gymapi as gymapi  # before torch: otherwise Isaac Gym raises an error
import isaacgym.gymtorch as gymtorch
import numpy as np
import torch

from .scene import Scene

EDITED_ALL = 2
"""Mark of a robot with changed base and joint states."""


class Simulation:
    """Robots that are created at the first step and stepped together."""

    def __init__(self, setup: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Load the robot; `arrays` are shared with the client."""
        self._setup = setup
        self._shared = arrays
        self._gym = gymapi.acquire_gym()
        self._scene = Scene(self._gym, setup)
        self._is_made = False

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Process a request of the client; return the answer."""
        if request["do"] != "step":
            raise RuntimeError(
                f"the client asks for {request['do']!r}, which this worker does not know"
            )
        self.step(request["push"])
        return {}

    def close(self) -> None:
        """Free the GPU."""
        self._gym.destroy_sim(self._scene.sim)

    def step(self, push: bool) -> None:
        """Run one control step with the shared targets, and share the resulting states."""
        if not self._is_made:
            self._make()
        self._apply_edits()
        target = self._from_client("target")
        kp = self._from_client("kp")
        kd = self._from_client("kd")
        if push:
            self._force[:, self._base] = self._from_client("push")
        for row in range(self._setup["decimation"]):
            for _ in range(self._setup["parts"]):
                self._advance(target[:, row], kp[:, None], kd[:, None], push)
        self._share()

    def _make(self) -> None:
        gym = self._gym
        scene = self._scene
        robots = self._setup["robots"]
        scene.finish(self._shared)
        sim = self._sim = scene.sim
        self._is_made = True
        self._shared["repaved"][:] = 0
        # Views of Isaac Gym's own memory; a robot is the first actor of its environment.
        self._all_roots = gymtorch.wrap_tensor(gym.acquire_actor_root_state_tensor(sim))
        self._all_joints = gymtorch.wrap_tensor(gym.acquire_dof_state_tensor(sim))
        self._root = self._all_roots.view(robots, -1, 13)[:, 0]
        self._box = self._all_roots.view(robots, -1, 13)[:, 1:]
        self._joint = self._all_joints.view(robots, -1, 2)
        self._contact = gymtorch.wrap_tensor(gym.acquire_net_contact_force_tensor(sim)).view(
            robots, -1, 3
        )
        self._sensor = gymtorch.wrap_tensor(gym.acquire_force_sensor_tensor(sim)).view(
            robots, -1, 6
        )
        gym.refresh_actor_root_state_tensor(sim)  # read the positions of the boxes
        gym.refresh_dof_state_tensor(sim)
        device = self._device = self._root.device
        self._actors = torch.from_numpy(scene.actor_indices()).to(device)  # int32
        self._boxes = torch.from_numpy(scene.box_indices()).to(device)
        self._columns = torch.tensor(scene.joint_columns, device=device)
        self._bodies = torch.tensor(
            scene.body_columns(self._setup["contact_bodies"]), device=device
        )
        self._base = scene.body_columns([self._setup["base"]])[0]
        # Isaac Gym keeps addresses of these, so they are allocated once.
        self._effort = torch.zeros(self._joint.shape[:2], device=device)
        self._torque = torch.zeros(robots, len(scene.joint_columns), device=device)
        self._force = torch.zeros_like(self._contact)
        self._kept: list[torch.Tensor] = []

    def _apply_edits(self) -> None:
        """Set all states and frictions that the client changed since the last step."""
        edited = self._shared["edited"]
        self._kept = []
        self._set_states(np.flatnonzero(edited), np.flatnonzero(edited == EDITED_ALL))
        edited[:] = 0
        for robot in np.flatnonzero(self._shared["repaved"]):
            self._scene.set_friction(int(robot), float(self._shared["friction"][robot]))
        self._shared["repaved"][:] = 0

    def _set_states(self, moved: np.ndarray, bent: np.ndarray) -> None:
        gym = self._gym
        sim = self._sim
        if len(moved):
            rows = torch.from_numpy(moved).to(self._device)
            self._root[rows] = self._from_client("root")[rows]
            # Boxes move with a reset. One call for both: each kind of state is set once per step.
            again = torch.from_numpy(bent).to(self._device)
            self._box[again, :, :3] = self._from_client("box_centre")[again]
            actors = self._keep(torch.cat([self._actors[rows], self._boxes[again].flatten()]))
            full = gymtorch.unwrap_tensor(self._all_roots)
            chosen = gymtorch.unwrap_tensor(actors)
            gym.set_actor_root_state_tensor_indexed(sim, full, chosen, len(actors))
        if len(bent):
            rows = torch.from_numpy(bent).to(self._device)
            self._joint[rows[:, None], self._columns] = self._from_client("joint")[rows]
            actors = self._keep(self._actors[rows])
            full = gymtorch.unwrap_tensor(self._all_joints)
            chosen = gymtorch.unwrap_tensor(actors)
            gym.set_dof_state_tensor_indexed(sim, full, chosen, len(bent))

    def _advance(
        self, target: torch.Tensor, kp: torch.Tensor, kd: torch.Tensor, push: bool
    ) -> None:
        """Run one solver step with torques from the current joint states."""
        gym = self._gym
        sim = self._sim
        limit = self._setup["torque_limit"]
        position = self._joint[:, self._columns, 0]
        velocity = self._joint[:, self._columns, 1]
        torch.clamp(kp * (target - position) - kd * velocity, -limit, limit, out=self._torque)
        self._effort[:, self._columns] = self._torque
        gym.set_dof_actuation_force_tensor(sim, gymtorch.unwrap_tensor(self._effort))
        if push:
            force = gymtorch.unwrap_tensor(self._force)
            gym.apply_rigid_body_force_tensors(sim, force, None, gymapi.ENV_SPACE)
        gym.simulate(sim)
        if not self._scene.uses_gpu:
            gym.fetch_results(sim, True)
        gym.refresh_dof_state_tensor(sim)

    def _share(self) -> None:
        gym = self._gym
        sim = self._sim
        gym.refresh_actor_root_state_tensor(sim)
        gym.refresh_net_contact_force_tensor(sim)
        gym.refresh_force_sensor_tensor(sim)
        self._to_client("root", self._root)
        self._to_client("joint", self._joint[:, self._columns])
        self._to_client("torque", self._torque)
        self._to_client("contact", self._contact[:, self._bodies])
        self._to_client("foot_sensor", self._sensor[..., :3])  # force; torque is left out

    def _from_client(self, name: str) -> torch.Tensor:
        return torch.from_numpy(self._shared[name]).to(self._device)

    def _to_client(self, name: str, values: torch.Tensor) -> None:
        torch.from_numpy(self._shared[name]).copy_(values)

    def _keep(self, tensor: torch.Tensor) -> torch.Tensor:
        """Hold a tensor until the next step: Isaac Gym keeps only its address."""
        self._kept.append(tensor)
        return tensor
