"""Policies as ONNX graphs: raw observation and skill in, raw action and joint target out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.policies.masked_policy import NORMALISER_FLOOR, MaskedPolicy
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.solo12.constants import ACTION_SCALE, NUM_JOINTS, ControlSetup
from solo_doi.solo12.limits import TRAINING

OPSET, IR_VERSION = 17, 8
"""Old enough for every onnxruntime that runs on a robot's computer."""


@dataclass
class Graph:
    """Collects nodes and constants."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, value: np.ndarray) -> str:
        """Add a constant in single precision; return its name."""
        self.constants.append(
            numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name)
        )
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Add an operation; return the name of what it gives."""
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def linear(
        self,
        x: str,
        weight: np.ndarray,
        bias: np.ndarray | str,
        name: str,
        output: str | None = None,
    ) -> str:
        """x W^T + b, where b may also be computed, (B, n): an addition of its own would take longer."""
        inputs = [x, self.constant(f"{name}.weight", weight)]
        inputs += [bias if isinstance(bias, str) else self.constant(f"{name}.bias", bias)]
        return self.node("Gemm", inputs, output or f"{name}.out", transB=1)

    def of_skill(self, table: np.ndarray, name: str) -> str:
        """Rows (B, n) of a table (skills, n) that belong to the skills asked for."""
        return self.node("Gather", [self.constant(name, table), "skill"], f"{name}.row", axis=0)


def build_graph(policy: SkillPolicy | MaskedPolicy, setup: ControlSetup) -> onnx.ModelProto:
    """Return the policy, with the way from action to joint target behind it."""
    graph = Graph()
    if isinstance(policy, SkillPolicy):
        _skills(graph, policy)
    else:
        _masked(graph, policy)
    scaled = graph.node(
        "Mul", ["action", graph.constant("action_scale", np.array(ACTION_SCALE))], "offset"
    )
    wished = graph.node(
        "Add", [scaled, graph.constant("default_pose", setup.default_pose)], "wished"
    )
    highest = graph.node("Min", [wished, graph.constant("highest", TRAINING.position)], "below")
    graph.node("Max", [highest, graph.constant("lowest", -TRAINING.position)], "joint_target")
    inputs = [
        helper.make_tensor_value_info(
            "observation", TensorProto.FLOAT, ["batch", policy.observation_size]
        ),
        helper.make_tensor_value_info("skill", TensorProto.INT64, ["batch"]),
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", NUM_JOINTS])
        for name in ("action", "joint_target")
    ]
    content = helper.make_graph(graph.nodes, "skills", inputs, outputs, graph.constants)
    model = helper.make_model(
        content, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise SoloError(
            f"The policy's layers do not fit each other and {NUM_JOINTS} joints ({reason(error)})."
        ) from error
    return model


def _normalised(graph: Graph, mean: np.ndarray, std: np.ndarray) -> str:
    centred = graph.node("Sub", ["observation", graph.constant("mean", mean)], "centred")
    return graph.node("Div", [centred, graph.constant("std", std)], "normalised")


def _skills(graph: Graph, policy: SkillPolicy) -> None:
    of_skill = graph.of_skill(policy.skill, "skill_bias")
    x = graph.linear(
        _normalised(graph, policy.state_mean, policy.state_std), policy.first, of_skill, "first"
    )
    x = graph.node("Relu", [x], "first.relu")
    x = graph.node(
        "Relu", [graph.linear(x, policy.second, policy.second_bias, "second")], "second.relu"
    )
    x = graph.linear(x, policy.head, policy.head_bias, "head")
    if policy.squashed:
        x = graph.node("Tanh", [x], "squashed")
    else:
        limits = [graph.constant("minus_one", np.array(-1.0)), graph.constant("one", np.array(1.0))]
        x = graph.node("Clip", [x, *limits], "squashed")
    x = graph.node("Mul", [x, graph.constant("action_std", policy.action_std)], "stretched")
    graph.node("Add", [x, graph.constant("action_mean", policy.action_mean)], "action")


def _masked(graph: Graph, policy: MaskedPolicy) -> None:
    x = _normalised(graph, policy.mean, policy.std + np.float32(NORMALISER_FLOOR))
    for layer in range(2):
        x = graph.linear(x, policy.weights[layer], policy.biases[layer], f"layer{layer}")
        x = graph.node("Elu", [x], f"layer{layer}.elu")
        x = graph.node(
            "Mul", [x, graph.of_skill(policy.masks[layer], f"mask{layer}")], f"layer{layer}.masked"
        )
    graph.linear(x, policy.weights[2], policy.biases[2], "head", "action")
