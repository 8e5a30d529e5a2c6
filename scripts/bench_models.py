#!/usr/bin/env python3
"""bench_models.py FOLDER: writes the two models that scripts/bench.sh measures, and with --time MODEL RUNS prints the
seconds of the LiteRT CPU interpreter with one thread. Needs ai-edge-litert (scripts/setup.sh --judges)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test"))
import judge_environment  # noqa: E402

judge_environment.enter("litert", "ai_edge_litert")
import flatbuffers  # noqa: E402
import numpy as np  # noqa: E402
from ai_edge_litert import schema_py_generated as schema  # noqa: E402


class Builder:
    """A model of one graph; values are numbers of tensors."""

    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.buffers, self.model.operatorCodes = 3, [schema.BufferT()], []
        self.graph.tensors, self.graph.operators = [], []
        self.codes = {}

    def tensor(self, shape, data=None, kind=schema.TensorType.FLOAT32):
        t = schema.TensorT()
        t.shape, t.type, t.name, t.buffer = list(shape), kind, f"t{len(self.graph.tensors)}", 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            t.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def weights(self, *shape):
        scale = (2.0 / np.prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.01
        return self.tensor(shape, (self.rng.standard_normal(shape) * scale).astype(np.float32))

    def integers(self, *numbers):
        return self.tensor([len(numbers)], np.array(numbers, np.int32), schema.TensorType.INT32)

    def number(self, value):
        return self.tensor([1], np.array([value], np.float32))

    def shape(self, value):
        return list(self.graph.tensors[value].shape)

    def op(self, name, inputs, shape, options=None, **fields):
        code = getattr(schema.BuiltinOperator, name)
        if code not in self.codes:
            self.codes[code] = len(self.model.operatorCodes)
            c = schema.OperatorCodeT()
            c.builtinCode, c.deprecatedBuiltinCode, c.version = code, min(code, 127), 1
            self.model.operatorCodes.append(c)
        o = schema.OperatorT()
        o.opcodeIndex, o.inputs, o.outputs = self.codes[code], inputs, [self.tensor(shape)]
        if options:
            o.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            o.builtinOptions = getattr(schema, options + "T")()
            for key, field in fields.items():
                setattr(o.builtinOptions, key, field)
        self.graph.operators.append(o)
        return o.outputs[0]

    def write(self, path, inputs, outputs):
        self.graph.inputs, self.graph.outputs = inputs, outputs
        self.model.subgraphs = [self.graph]
        b = flatbuffers.Builder(1 << 20)
        b.Finish(self.model.Pack(b), b"TFL3")
        with open(path, "wb") as f:
            f.write(b.Output())


def convolution_network(path):
    """The layers of MobileNet v1 at 224x224: 569 million multiply-adds."""
    b = Builder()
    relu6 = schema.ActivationFunctionType.RELU6
    x = first = b.tensor([1, 224, 224, 3])

    def conv(x, channels, kernel, stride):
        _, h, w, c = b.shape(x)
        return b.op("CONV_2D", [x, b.weights(channels, kernel, kernel, c), b.weights(channels)], [1, h // stride, w // stride, channels],
                    "Conv2DOptions", strideW=stride, strideH=stride, dilationWFactor=1, dilationHFactor=1, fusedActivationFunction=relu6)

    def depthwise(x, stride):
        _, h, w, c = b.shape(x)
        return b.op("DEPTHWISE_CONV_2D", [x, b.weights(1, 3, 3, c), b.weights(c)], [1, h // stride, w // stride, c], "DepthwiseConv2DOptions",
                    strideW=stride, strideH=stride, depthMultiplier=1, dilationWFactor=1, dilationHFactor=1, fusedActivationFunction=relu6)

    x = conv(x, 32, 3, 2)
    for channels, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]:
        x = conv(depthwise(x, stride), channels, 1, 1)
    x = b.op("MEAN", [x, b.integers(1, 2)], [1, 1024], "ReducerOptions", keepDims=False)
    x = b.op("FULLY_CONNECTED", [x, b.weights(1000, 1024), b.weights(1000)], [1, 1000], "FullyConnectedOptions")
    b.write(path, [first], [x])


def encoder(path, layers=12, length=128, width=384, heads=6):
    """Post-norm encoder layers: 2.9 billion multiply-adds."""
    b = Builder()
    x = first = b.tensor([1, length, width])
    axes, eps = b.integers(-1), b.number(1e-5)

    def linear(x, width):
        shape = b.shape(x)
        return b.op("FULLY_CONNECTED", [x, b.weights(width, shape[-1]), b.weights(width)], shape[:-1] + [width], "FullyConnectedOptions", keepNumDims=True)

    def binary(name, x, y, shape=None):
        options = {"ADD": "AddOptions", "MUL": "MulOptions", "SUB": "SubOptions"}.get(name)
        return b.op(name, [x, y], shape or b.shape(x), options)

    def norm(x):
        shape = b.shape(x)
        short = shape[:-1] + [1]
        mean = b.op("MEAN", [x, axes], short, "ReducerOptions", keepDims=True)
        centred = binary("SUB", x, mean)
        variance = b.op("MEAN", [binary("MUL", centred, centred), axes], short, "ReducerOptions", keepDims=True)
        y = binary("MUL", centred, b.op("RSQRT", [binary("ADD", variance, eps)], short))
        return binary("ADD", binary("MUL", y, b.weights(shape[-1])), b.weights(shape[-1]))

    def heads_of(x):
        x = b.op("RESHAPE", [x, b.integers(1, length, heads, width // heads)], [1, length, heads, width // heads], "ReshapeOptions")
        return b.op("TRANSPOSE", [x, b.integers(0, 2, 1, 3)], [1, heads, length, width // heads])

    for _ in range(layers):
        q, k, v = (heads_of(linear(x, width)) for _ in range(3))
        scores = b.op("BATCH_MATMUL", [q, k], [1, heads, length, length], "BatchMatMulOptions", adjY=True)
        scores = binary("MUL", scores, b.number((width // heads) ** -0.5))
        weights = b.op("SOFTMAX", [scores], [1, heads, length, length], "SoftmaxOptions", beta=1.0)
        y = b.op("BATCH_MATMUL", [weights, v], [1, heads, length, width // heads], "BatchMatMulOptions")
        y = b.op("TRANSPOSE", [y, b.integers(0, 2, 1, 3)], [1, length, heads, width // heads])
        y = b.op("RESHAPE", [y, b.integers(1, length, width)], [1, length, width], "ReshapeOptions")
        x = norm(binary("ADD", x, linear(y, width)))
        y = linear(x, 4 * width)
        y = linear(b.op("GELU", [y], b.shape(y), "GeluOptions", approximate=False), width)
        x = norm(binary("ADD", x, y))
    b.write(path, [first], [x])


def time_interpreter(path, runs):
    import time

    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(path, num_threads=1)
    interpreter.allocate_tensors()
    detail = interpreter.get_input_details()[0]
    interpreter.set_tensor(detail["index"], np.random.default_rng(1).standard_normal(detail["shape"]).astype(np.float32))
    fastest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        interpreter.invoke()
        fastest = min(fastest, time.perf_counter() - start)
    print(f"{fastest:.4f}")


if __name__ == "__main__":
    if sys.argv[1] == "--time":
        time_interpreter(sys.argv[2], int(sys.argv[3]))
    else:
        convolution_network(os.path.join(sys.argv[1], "convolution.tflite"))
        encoder(os.path.join(sys.argv[1], "encoder.tflite"))
