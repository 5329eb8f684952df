"""Bundle: one ONNX file with a policy, its contract and test vectors."""
