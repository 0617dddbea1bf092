"""What the tests ask of an ONNX file."""

from collections import Counter


def operators(model):
    return Counter(node.op_type for node in model.graph.node)


def parameters(model, module):
    """Elements of the initializers that are parameters of the module."""
    names = set(module.state_dict()) - {name for name, _ in module.named_buffers()}
    total = 0
    for tensor in model.graph.initializer:
        if tensor.name in names:
            count = 1
            for dim in tensor.dims:
                count *= dim
            total += count
    return total


def shape(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
