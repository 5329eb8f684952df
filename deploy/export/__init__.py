"""solo-export: skills as one ONNX file."""
