"""ONNX graphs of policies: raw observation and skill in, raw action and joint target out."""

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
from solo_doi.solo12.limits import TRAINING_LIMITS

OPSET = 17
IR_VERSION = 8
"""Both versions are old enough for the onnxruntime of a robot's computer."""


@dataclass
class Graph:
    """Builder of a graph: collects nodes and constants."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, value: np.ndarray) -> str:
        """Add a constant in single precision; return its name."""
        self.constants.append(
            numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name)
        )
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Add an operation; return the name of its output."""
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
        """Add x W^T + b; return the name of its output.

        The bias may also be the name of a computed one, (B, n): a separate addition is slower.
        """
        weights = self.constant(f"{name}.weight", weight)
        if not isinstance(bias, str):
            bias = self.constant(f"{name}.bias", bias)
        return self.node("Gemm", [x, weights, bias], output or f"{name}.out", transB=1)

    def rows_of_skills(self, table: np.ndarray, name: str) -> str:
        """Select the rows (B, n) of a table (skills, n) by the input `skill`."""
        return self.node("Gather", [self.constant(name, table), "skill"], f"{name}.row", axis=0)


def build_graph(policy: SkillPolicy | MaskedPolicy, setup: ControlSetup) -> onnx.ModelProto:
    """Return the graph of a policy, from the observation to the joint targets."""
    graph = Graph()
    if isinstance(policy, SkillPolicy):
        _add_skill_policy(graph, policy)
    else:
        _add_masked_policy(graph, policy)
    scaled = graph.node(
        "Mul", ["action", graph.constant("action_scale", np.array(ACTION_SCALE))], "offset"
    )
    # Names inside the graph are part of the file format and stay as they are.
    target = graph.node(
        "Add", [scaled, graph.constant("default_pose", setup.default_pose)], "wished"
    )
    below = graph.node(
        "Min", [target, graph.constant("highest", TRAINING_LIMITS.position)], "below"
    )
    graph.node("Max", [below, graph.constant("lowest", -TRAINING_LIMITS.position)], "joint_target")
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


def _add_skill_policy(graph: Graph, policy: SkillPolicy) -> None:
    skill_bias = graph.rows_of_skills(policy.skill, "skill_bias")
    x = _normalised(graph, policy.state_mean, policy.state_std)
    if policy.input_clip:
        limit = np.array(policy.input_clip)
        ends = [graph.constant("least_input", -limit), graph.constant("largest_input", limit)]
        x = graph.node("Clip", [x, *ends], "clipped_input")
    x = graph.linear(x, policy.first, skill_bias, "first")
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


def _add_masked_policy(graph: Graph, policy: MaskedPolicy) -> None:
    x = _normalised(graph, policy.mean, policy.std + np.float32(NORMALISER_FLOOR))
    for layer in range(2):
        x = graph.linear(x, policy.weights[layer], policy.biases[layer], f"layer{layer}")
        x = graph.node("Elu", [x], f"layer{layer}.elu")
        x = graph.node(
            "Mul",
            [x, graph.rows_of_skills(policy.masks[layer], f"mask{layer}")],
            f"layer{layer}.masked",
        )
    graph.linear(x, policy.weights[2], policy.biases[2], "head", "action")
