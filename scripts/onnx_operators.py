#!/usr/bin/env python3
"""Writes lib/format/onnx/schema_table.cpp: what the schemas of ONNX and ONNX Runtime say of each operator.

    ~/.cache/modeldoctor/onnx/bin/python scripts/onnx_operators.py

Needs the packages onnx (all released versions of ai.onnx and ai.onnx.ml) and onnxruntime (com.microsoft).
The form of a line is said at the top of lib/format/onnx/operators.cpp.
"""
import pathlib
import re

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as ort

# One letter an element type; sequences, optionals and maps are "v".
LETTERS = {
    "float": "f", "double": "d", "float16": "h", "bfloat16": "B", "int8": "c", "int16": "s", "int32": "i",
    "int64": "l", "uint8": "C", "uint16": "S", "uint32": "I", "uint64": "L", "bool": "b", "string": "t",
    "complex64": "z", "complex128": "Z", "int4": "n", "uint4": "N", "int2": "m", "uint2": "M",
    "float8e4m3fn": "1", "float8e4m3fnuz": "2", "float8e5m2": "3", "float8e5m2fnuz": "4", "float8e8m0": "5",
    "float4e2m1": "6",
}
# What exporters and ONNX Runtime's optimizer write of com.microsoft.
MICROSOFT = """Attention BeamSearch BiasAdd BiasGelu BiasSoftmax BiasSplitGelu CDist ComplexMul ComplexMulConj
ConvTransposeWithDynamicPads CropAndResize DecoderMaskedMultiHeadAttention DequantizeLinear DynamicQuantizeLSTM
DynamicQuantizeMatMul EPContext EmbedLayerNormalization ExpandDims FastGelu FusedConv FusedGemm FusedMatMul
GatedRelativePositionBias GatherBlockQuantized GatherND Gelu GemmFastGelu GreedySearch GridSample GroupNorm
GroupQueryAttention Inverse Irfft IsAllFinite LinearAttention LongformerAttention MatMulBnb4 MatMulFpQ4
MatMulInteger16 MatMulIntegerToFloat MatMulNBits MaxpoolWithMask MoE MulInteger MultiHeadAttention MurmurHash3
NGramRepeatBlock NhwcConv NhwcFusedConv NhwcMaxPool PackedAttention PackedMultiHeadAttention Pad QAttention
QEmbedLayerNormalization QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool
QLinearLeakyRelu QLinearMul QLinearReduceMean QLinearSigmoid QLinearSoftmax QLinearWhere QMoE QuantizeLinear
QuickGelu Range ReduceSumInteger RelativePositionBias RemovePadding RestorePadding Rfft RotaryEmbedding SampleOp
Sampling SkipGroupNorm SkipLayerNormalization SkipSimplifiedLayerNormalization SparseAttention
SparseToDenseMatMul Tokenizer TorchEmbedding TransposeMatMul Trilu UnfoldTensor Unique WhisperBeamSearch
WordConvEmbedding""".split()
# ONNX Runtime registers it in the default domain; its optimizer writes it.
RUNTIME_DEFAULT = ["SimplifiedLayerNormalization"]
KINDS = {"INT": "i", "FLOAT": "f", "STRING": "s", "INTS": "I", "FLOATS": "F", "STRINGS": "S", "GRAPH": "g",
         "GRAPHS": "G", "TENSOR": "t", "TENSORS": "T", "TYPE_PROTO": "p", "TYPE_PROTOS": "P",
         "SPARSE_TENSOR": "x", "SPARSE_TENSORS": "X"}
DOMAINS = {"": "", "ai.onnx.ml": "ai.onnx.ml.", "com.microsoft": "com.microsoft."}


def letters(types):
    found = set()
    for text in types:
        inner = re.fullmatch(r"tensor\((\w+)\)", text)
        if not inner:
            found.add("v")
        elif inner[1] in LETTERS:  # float6 has no element type in a released TensorProto
            found.add(LETTERS[inner[1]])
    return "".join(sorted(found))


def parameter(p, type_str, homogeneous, option):
    name = re.sub(r"\W", "_", p.name) or "x"
    mark = {"Single": "", "Optional": "?", "Variadic": "..."}[option]
    if option == "Variadic" and not homogeneous:
        mark += "~"
    variable = letters([type_str]) if "(" in type_str else None
    return f"{name}{mark}:" + (f"={variable}" if variable is not None else type_str)


def quoted(text):
    assert not set(text) & set(" |\n"), text
    return text


def default_text(attribute, value):
    kind = attribute.type.name
    if attribute.required:
        return "!"
    if kind == "INT":
        return f"={value.i}" if value.type else ""
    if kind == "FLOAT":
        return f"={value.f:.9g}" if value.type else ""
    if kind == "STRING":
        return "=" + quoted(value.s.decode()) if value.type else ""
    if kind == "INTS" and value.type:
        return "=" + ",".join(map(str, value.ints))
    if kind == "FLOATS" and value.type:
        return "=" + ",".join(f"{f:.9g}" for f in value.floats)
    if kind == "STRINGS" and value.type:
        return "=" + ",".join(quoted(s.decode()) for s in value.strings)
    return ""


def line(schema, runtime):
    def default(a):
        if not runtime:
            return a.default_value
        proto = onnx.AttributeProto()
        if a._default_value:
            proto.ParseFromString(a._default_value)
        return proto

    def parameters(ps):
        return " ".join(parameter(p, p.typeStr if runtime else p.type_str,
                                  p.isHomogeneous if runtime else p.is_homogeneous, p.option.name) for p in ps)

    used = {(p.typeStr if runtime else p.type_str) for p in [*schema.inputs, *schema.outputs]}
    attributes = " ".join(f"{name}:{KINDS[a.type.name]}{default_text(a, default(a))}"
                          for name, a in sorted(schema.attributes.items()))
    variables = " ".join(f"{c.type_param_str}={letters(c.allowed_type_strs)}"
                         for c in schema.type_constraints if c.type_param_str in used)
    name = DOMAINS[schema.domain] + schema.name
    counts = f"{schema.min_input} {schema.min_output}"
    if schema.deprecated:
        return f"{name} {schema.since_version} !"
    return (f"{name} {schema.since_version} {counts} | {parameters(schema.inputs)} | {parameters(schema.outputs)}"
            f" | {attributes} | {variables}")


def main():
    rows = [(s.domain, s.name, s.since_version, line(s, False)) for s in onnx.defs.get_all_schemas_with_history()
            if s.domain in ("", "ai.onnx.ml")]
    rows += [(s.domain, s.name, s.since_version, line(s, True)) for s in ort.get_all_operator_schema()
             if (s.domain == "com.microsoft" and s.name in MICROSOFT) or
             (s.domain == "" and s.name in RUNTIME_DEFAULT)]
    rows.sort(key=lambda r: (DOMAINS[r[0]] + r[1], r[2]))
    chunks, size = [[]], 0
    for row in rows:
        if size + len(row[3]) > 30000:
            chunks.append([])
            size = 0
        chunks[-1].append(row[3])
        size += len(row[3]) + 1
    out = pathlib.Path(__file__).parent.parent / "lib/format/onnx/schema_table.cpp"
    text = (f"// Generated by scripts/onnx_operators.py from the schemas of onnx {onnx.__version__} and "
            f"onnxruntime {onnxruntime.__version__}.\n"
            "#include \"lib/format/onnx/schema_table.h\"\n\nnamespace md {\n"
            "// clang-format off\n\nstd::span<const std::string_view> onnx_schema_table() {\n"
            "  static constexpr std::string_view parts[] = {\n")
    for chunk in chunks:
        text += 'R"ops(' + "\n".join(chunk) + ')ops",\n'
    out.write_text(text + "  };\n  return parts;\n}\n\n// clang-format on\n}  // namespace md\n")
    print(f"{len(rows)} rows, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
