"""What kind of numbers a .tflite file computes with, and a dynamically quantized one in floating point."""

# Largest difference relative to the largest output, by the kind of the original model.
#   float  fp32 throughout (also weights that a DEQUANTIZE makes fp32): rounding and another order of sums.
#   fp16   weights stored as fp16: every runtime computes with the same fp32 values of them.
#   dyn8   8-bit weights in operators with fp32 operands. The CPU kernels round the operands to 8 bits for every run, the
#          accelerator does not: neither is the yardstick of the other. Both sides are compared as `in_float` makes them.
#   int8   8-bit (or 16-bit) operands and results: results may fall on the neighbouring step.
TOLERANCE = {"float": 1e-3, "fp16": 1e-3, "dyn8": 1e-3, "int8": 2e-2}
FLOOR = 1e-6


def load(path):
    from ai_edge_litert import schema_py_generated as schema
    with open(path, "rb") as file:
        return schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytearray(file.read()), 0)), schema


def has_scale(tensor):
    return tensor.quantization is not None and tensor.quantization.scale is not None and len(tensor.quantization.scale) > 0


def is_constant(model, tensor):
    data = model.buffers[tensor.buffer].data
    return data is not None and len(data) > 0


def hybrid_operands(model, schema):
    """(graph, operator, operand) of every 8-bit constant that an operator with an fp32 result reads as it is."""
    T, B = schema.TensorType, schema.BuiltinOperator
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            if max(code.builtinCode, code.deprecatedBuiltinCode) == B.DEQUANTIZE or len(operator.outputs) == 0:
                continue
            if graph.tensors[operator.outputs[0]].type != T.FLOAT32:
                continue
            for k, id in enumerate(operator.inputs):
                if id >= 0 and graph.tensors[id].type in (T.INT8, T.UINT8) and has_scale(graph.tensors[id]) and is_constant(model, graph.tensors[id]):
                    yield graph, operator, k


def kind(path):
    """A key of TOLERANCE."""
    model, schema = load(path)
    T = schema.TensorType
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            if tensor.type in (T.INT8, T.UINT8, T.INT16) and has_scale(tensor) and not is_constant(model, tensor):
                return "int8"
    if next(hybrid_operands(model, schema), None):
        return "dyn8"
    constants = [t for g in model.subgraphs for t in g.tensors if is_constant(model, t)]
    return "fp16" if any(t.type == T.FLOAT16 for t in constants) else "float"


def in_float(path, out):
    """Writes to `out` the model of `path` with its 8-bit weights as the fp32 numbers they stand for."""
    import flatbuffers
    import numpy as np
    model, schema = load(path)
    made = {}
    for graph, operator, k in list(hybrid_operands(model, schema)):
        id = operator.inputs[k]
        tensor = graph.tensors[id]
        if (id_graph := (model.subgraphs.index(graph), id)) not in made:
            stored = np.frombuffer(bytes(model.buffers[tensor.buffer].data), np.int8 if tensor.type == schema.TensorType.INT8 else np.uint8)
            stored = stored.reshape([int(d) for d in tensor.shape]).astype(np.float32)
            shape = [1] * stored.ndim
            if len(tensor.quantization.scale) > 1:
                shape[tensor.quantization.quantizedDimension] = -1
            zero = tensor.quantization.zeroPoint
            zero = np.zeros(1, np.float32) if zero is None or len(zero) == 0 else np.asarray(zero, np.float32)
            numbers = (stored - zero.reshape(shape if len(zero) > 1 else [1] * stored.ndim)) * np.asarray(tensor.quantization.scale, np.float32).reshape(shape)
            buffer, copy = schema.BufferT(), schema.TensorT()
            buffer.data = np.frombuffer(numbers.astype("<f4").tobytes(), np.uint8)
            copy.shape, copy.type, copy.name, copy.buffer = tensor.shape, schema.TensorType.FLOAT32, tensor.name, len(model.buffers)
            model.buffers.append(buffer)
            graph.tensors.append(copy)
            made[id_graph] = len(graph.tensors) - 1
        operator.inputs[k] = made[id_graph]
        if getattr(operator.builtinOptions, "asymmetricQuantizeInputs", False):
            operator.builtinOptions.asymmetricQuantizeInputs = False
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    with open(out, "wb") as file:
        file.write(builder.Output())
