#include "lib/format/tflite/op_versions.h"
#include "test/catch.h"

using namespace md;

namespace {

/// A node over values of the given types and shapes; the last one is the result.
int version_of(const std::string& op, std::vector<std::pair<DType, Shape>> values, Attributes attrs = {},
               bool quantized = false, std::size_t channels = 1) {
  Graph graph;
  Node node;
  node.op = op, node.attrs = std::move(attrs);
  for (const auto& [type, shape] : values) {
    Value value;
    value.dtype = type, value.shape = shape;
    if (quantized)
      value.quantization =
          Quantization{std::vector<float>(channels, 0.1f), std::vector<std::int64_t>(channels), 0, {}, {}};
    graph.values.push_back(value);
    node.inputs.push_back(static_cast<ValueId>(graph.values.size() - 1));
  }
  node.outputs = {node.inputs.back()};
  node.inputs.pop_back();
  graph.nodes.push_back(node);
  graph.order = {0};
  graph.index();
  return minimal_operator_version(graph, graph.nodes[0]);
}

const Shape r2 = {4, 8}, r4 = {1, 4, 4, 8}, r5 = {1, 2, 2, 4, 8}, r6 = {1, 1, 2, 2, 4, 8};

}  // namespace

TEST_CASE("versions follow types, ranks and attributes", "[target]") {
  using enum DType;
  CHECK(version_of("TRANSPOSE", {{f32, r4}, {i32, {4}}, {f32, r4}}) == 1);
  CHECK(version_of("TRANSPOSE", {{f32, r5}, {i32, {5}}, {f32, r5}}) == 4);
  CHECK(version_of("TRANSPOSE", {{f32, r6}, {i32, {6}}, {f32, r6}}) == 6);
  CHECK(version_of("TRANSPOSE", {{f16, r4}, {i32, {4}}, {f16, r4}}) == 9);
  CHECK(version_of("SLICE", {{f32, r5}, {i32, {5}}, {i32, {5}}, {f32, r5}}) == 5);
  CHECK(version_of("SLICE", {{i8, r4}, {i32, {4}}, {i32, {4}}, {i8, r4}}) == 2);
  CHECK(version_of("STRIDED_SLICE", {{f32, r5}, {i32, {5}}, {i32, {5}}, {i32, {5}}, {f32, r5}}) == 4);
  CHECK(version_of("ADD", {{f32, r4}, {f32, r4}, {f32, r4}}) == 1);
  CHECK(version_of("ADD", {{i64, r4}, {i64, r4}, {i64, r4}}) == 4);
  CHECK(version_of("ADD", {{f16, r4}, {f16, r4}, {f16, r4}}) == 6);
  CHECK(version_of("MUL", {{i64, r4}, {i64, r4}, {i64, r4}}) == 5);
  CHECK(version_of("SUB", {{f32, r5}, {f32, {8}}, {f32, r5}}) == 3);
  CHECK(version_of("SUB", {{f32, r5}, {f32, r5}, {f32, r5}}) == 1);
  CHECK(version_of("ABS", {{i32, r4}, {i32, r4}}) == 5);
  CHECK(version_of("BROADCAST_TO", {{f32, r4}, {i32, {4}}, {f32, r4}}) == 2);
  CHECK(version_of("PADV2", {{f32, r4}, {i32, {4, 2}}, {f32, {}}, {f32, r4}}) == 1);
  CHECK(version_of("CAST", {{i8, r4}, {f32, r4}}) == 3);
  CHECK(version_of("CAST", {{i64, r4}, {f32, r4}}) == 1);
  CHECK(version_of("GATHER", {{boolean, r2}, {i32, {3}}, {boolean, r2}}) == 3);
  CHECK(version_of("SELECT_V2", {{boolean, r2}, {f32, r2}, {f32, r2}, {f32, r2}}) == 1);
  CHECK(version_of("TILE", {{f32, r2}, {i32, {2}}, {f32, r2}}) == 1);
  CHECK(version_of("NO_SUCH_OPERATOR", {{f32, r2}, {f32, r2}}) == 1);
}

TEST_CASE("versions of convolutions and matrix products", "[target]") {
  using enum DType;
  Attributes activation;
  activation.set("fused_activation_function", EnumValue{1, "RELU"});
  CHECK(version_of("TRANSPOSE_CONV", {{i32, {4}}, {f32, {4, 3, 3, 8}}, {f32, r4}, {f32, r4}}) == 1);
  CHECK(version_of("TRANSPOSE_CONV", {{i32, {4}}, {f32, {4, 3, 3, 8}}, {f32, r4}, {f32, {4}}, {f32, r4}}) ==
        3);
  CHECK(version_of("TRANSPOSE_CONV", {{i32, {4}}, {f32, {4, 3, 3, 8}}, {f32, r4}, {f32, {4}}, {f32, r4}},
                   activation) == 4);
  CHECK(version_of("CONV_2D", {{f32, r4}, {f32, {8, 3, 3, 8}}, {f32, {8}}, {f32, r4}}) == 1);
  CHECK(version_of("CONV_2D", {{f32, r4}, {f32, {8, 3, 3, 2}}, {f32, {8}}, {f32, r4}}) == 6);
  CHECK(version_of("CONV_2D", {{f32, r4}, {i8, {8, 3, 3, 8}}, {f32, {8}}, {f32, r4}}, {}, true, 8) == 5);
  CHECK(version_of("CONV_2D", {{i8, r4}, {i8, {8, 3, 3, 8}}, {i32, {8}}, {i8, r4}}, {}, true) == 3);
  CHECK(version_of("FULLY_CONNECTED", {{f32, r2}, {f32, {6, 8}}, {f32, {6}}, {f32, {4, 6}}}) == 1);
  CHECK(version_of("FULLY_CONNECTED", {{f32, r2}, {f32, {6, 8}}, {f32, {4, 6}}}) == 6);
  CHECK(version_of("FULLY_CONNECTED", {{f32, r2}, {i8, {6, 8}}, {f32, {6}}, {f32, {4, 6}}}, {}, true, 6) ==
        12);
  Attributes keep;
  keep.set("keep_num_dims", true);
  CHECK(version_of("FULLY_CONNECTED", {{f32, r4}, {f32, {6, 8}}, {f32, {6}}, {f32, r4}}, keep) == 5);
}
