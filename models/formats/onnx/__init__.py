"""Models in ONNX: graphs of operators, of which ensembles of trees are read."""
