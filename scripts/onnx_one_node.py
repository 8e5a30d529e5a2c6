"""Models of one node: every operator of ONNX's default domain in each of its versions, with each element type that its
schema allows in turn for each type variable. For ONNX Runtime's table of kernels and for the judge of its predictions.
Needs the package onnx."""
import re

import onnx
from onnx import TensorProto, helper

from onnx_operators import LETTERS

ELEMENT = {
    "float": "FLOAT", "double": "DOUBLE", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "int8": "INT8", "int16": "INT16",
    "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "bool": "BOOL", "string": "STRING", "int4": "INT4", "uint4": "UINT4", "float8e4m3fn": "FLOAT8E4M3FN",
    "float8e5m2": "FLOAT8E5M2", "complex64": "COMPLEX64", "complex128": "COMPLEX128",
}
PREFERRED = ["float", "int64", "int32", "bool", "uint8", "int8", "string"]
# What an operator needs beside its schema: attributes, and how many operands a variadic one gets.
ATTRIBUTES = {
    "Cast": lambda t: {"to": t["T2"]}, "BitCast": lambda t: {"to": t["T2"]},
    "EyeLike": lambda t: {"dtype": t["T2"]}, "RandomNormalLike": lambda t: {"dtype": t["T2"]},
    "RandomUniformLike": lambda t: {"dtype": t["T2"]}, "Multinomial": lambda t: {"dtype": t["T2"]},
    "Bernoulli": lambda t: {"dtype": t["T2"]}, "BitShift": lambda t: {"direction": "LEFT"},
    "Einsum": lambda t: {"equation": "i->i"}, "DepthToSpace": lambda t: {"blocksize": 1},
    "SpaceToDepth": lambda t: {"blocksize": 1}, "LRN": lambda t: {"size": 3}, "Concat": lambda t: {"axis": 0},
    "MaxRoiPool": lambda t: {"pooled_shape": [1, 1]}, "RoiAlign": lambda t: {}, "MaxUnpool": lambda t: {"kernel_shape": [1, 1]},
    "AveragePool": lambda t: {"kernel_shape": [1, 1]}, "MaxPool": lambda t: {"kernel_shape": [1, 1]},
    "LpPool": lambda t: {"kernel_shape": [1, 1]}, "RNN": lambda t: {"hidden_size": 4}, "GRU": lambda t: {"hidden_size": 4},
    "LSTM": lambda t: {"hidden_size": 4}, "GroupNormalization": lambda t: {"num_groups": 1}, "Mod": lambda t: {"fmod": 1},
    "HannWindow": lambda t: {"output_datatype": t["T2"]}, "HammingWindow": lambda t: {"output_datatype": t["T2"]},
    "BlackmanWindow": lambda t: {"output_datatype": t["T2"]}, "MelWeightMatrix": lambda t: {"output_datatype": t["T3"]},
    "Split": lambda t: {"num_outputs": 1}, "Attention": lambda t: {"q_num_heads": 1, "kv_num_heads": 1},
    "Col2Im": lambda t: {}, "Pad": lambda t: {},
}
# Subgraphs, sequences and what a type alone does not make.
LEFT_OUT = re.compile(r"If|Loop|Scan|Sequence|Optional|Split(ToSequence)?$|ConcatFromSequence|Constant$|ConstantOfShape"
                      r"|String|RegexFullMatch|TfIdf|ImageDecoder|Gradient|Ada|Momentum|FlexAttention|RandomNormal$"
                      r"|RandomUniform$")
OPTIONAL = {"Resize": [2], "Slice": [3, 4], "Attention": []}  # optional operands that are given


def types_of(schema):
    return {c.type_param_str: [t[7:-1] for t in c.allowed_type_strs if t.startswith("tensor(") and t[7:-1] in ELEMENT]
            for c in schema.type_constraints}


def bindings(schema):
    """Type variables with one type each: all at their usual type, then each variable in turn, then all alike."""
    allowed = types_of(schema)
    if any(not v for v in allowed.values()):
        return
    usual = {v: next((p for p in PREFERRED if p in types), types[0]) for v, types in allowed.items()}
    seen = set()
    candidates = [usual]
    for variable, types in allowed.items():
        candidates += [{**usual, variable: t} for t in types]
    for t in ELEMENT:
        candidates.append({v: t if t in types else usual[v] for v, types in allowed.items()})
    for one in candidates:
        key = tuple(sorted(one.items()))
        if key not in seen:
            seen.add(key)
            yield one


def model(schema, opset, ir, binding):
    def element(parameter):
        inner = parameter.type_str
        if inner in binding:
            return ELEMENT[binding[inner]]
        found = re.fullmatch(r"tensor\((\w+)\)", inner)
        return ELEMENT.get(found[1]) if found else None

    inputs, values = [], []
    for at, parameter in enumerate(schema.inputs):
        if parameter.option.name == "Optional" and at not in OPTIONAL.get(schema.name, []):
            inputs.append("")
            continue
        kind = element(parameter)
        if kind is None:
            return None
        inputs.append(f"x{at}")
        values.append(helper.make_tensor_value_info(f"x{at}", getattr(TensorProto, kind), None))
    while inputs and not inputs[-1]:
        inputs.pop()
    outputs = []
    for at, parameter in enumerate(schema.outputs):
        if parameter.option.name == "Optional" and at:
            break
        kind = element(parameter)
        if kind is None:
            return None
        outputs.append(helper.make_tensor_value_info(f"y{at}", getattr(TensorProto, kind), None))
    codes = {v: getattr(TensorProto, ELEMENT[t]) for v, t in binding.items()}
    try:
        attributes = ATTRIBUTES[schema.name](codes) if schema.name in ATTRIBUTES else {}
    except KeyError:
        attributes = {}
    attributes = {k: v for k, v in attributes.items() if k in schema.attributes}
    if any(a.required and name not in attributes for name, a in schema.attributes.items()):
        return None
    node = helper.make_node(schema.name, inputs, [o.name for o in outputs], name="n", **attributes)
    graph = helper.make_graph([node], "g", values, outputs)
    return helper.make_model(graph, ir_version=ir, opset_imports=[helper.make_opsetid("", opset)])


def models(limit, ir):
    """(operator, version, letter of its first operand, opset, model) for sets from 7 to `limit`."""
    history = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            history.setdefault(schema.name, []).append(schema)
    for name in sorted(history):
        versions = sorted(history[name], key=lambda s: s.since_version)
        for at, schema in enumerate(versions):
            last = versions[at + 1].since_version - 1 if at + 1 < len(versions) else limit
            opset = max(schema.since_version, 7)
            if schema.deprecated or opset > min(last, limit) or LEFT_OUT.match(name):
                continue
            for binding in bindings(schema):
                made = model(schema, opset, ir, binding)
                if made is None:
                    continue
                first = made.graph.input[0].type.tensor_type.elem_type if made.graph.input else 0
                letter = next((LETTERS[t] for t, e in ELEMENT.items() if getattr(TensorProto, e) == first), "")
                yield name, schema.since_version, letter, opset, made
