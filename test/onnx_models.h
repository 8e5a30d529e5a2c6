// Small .onnx files made field by field, for tests: nothing but the wire format is needed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/onnx/wire.h"

namespace md::test {

inline std::string onnx_info(std::string_view name, std::int64_t type,
                             const std::vector<std::int64_t>& shape) {
  std::string dims, tensor, holder, out;
  for (const std::int64_t dim : shape) {
    std::string d;
    onnx::put_integer(d, 1, dim);
    onnx::put_bytes(dims, 1, d);
  }
  onnx::put_integer(tensor, 1, type);
  onnx::put_bytes(tensor, 2, dims);
  onnx::put_bytes(holder, 1, tensor);
  onnx::put_bytes(out, 1, name);
  onnx::put_bytes(out, 2, holder);
  return out;
}

inline std::string onnx_floats(std::string_view name, const std::vector<std::int64_t>& shape,
                               const std::vector<float>& numbers) {
  std::string out;
  for (const std::int64_t dim : shape) onnx::put_integer(out, 1, dim);
  onnx::put_integer(out, 2, 1);
  onnx::put_bytes(out, 8, name);
  onnx::put_bytes(out, 9, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  return out;
}

inline std::string onnx_int_attribute(std::string_view name, std::int64_t value) {
  std::string out;
  onnx::put_bytes(out, 1, name);
  onnx::put_integer(out, 3, value);
  onnx::put_integer(out, 20, 2);
  return out;
}

inline std::string onnx_graph_attribute(std::string_view name, std::string_view graph) {
  std::string out;
  onnx::put_bytes(out, 1, name);
  onnx::put_bytes(out, 6, graph);
  onnx::put_integer(out, 20, 5);
  return out;
}

struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes = {};
  std::string name = {}, domain = {};
  std::string encoded() const {
    std::string out;
    for (const std::string& input : inputs) onnx::put_bytes(out, 1, input);
    for (const std::string& output : outputs) onnx::put_bytes(out, 2, output);
    if (!name.empty()) onnx::put_bytes(out, 3, name);
    onnx::put_bytes(out, 4, op);
    for (const std::string& attribute : attributes) onnx::put_bytes(out, 5, attribute);
    onnx::put_bytes(out, 6, "a note that nobody reads");
    if (!domain.empty()) onnx::put_bytes(out, 7, domain);
    return out;
  }
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<std::string> initializers = {}, inputs = {}, outputs = {}, infos = {};
  std::string name = "g";
  std::string encoded() const {
    std::string out;
    for (const OnnxNode& node : nodes) onnx::put_bytes(out, 1, node.encoded());
    if (!name.empty()) onnx::put_bytes(out, 2, name);
    for (const std::string& tensor : initializers) onnx::put_bytes(out, 5, tensor);
    for (const std::string& value : inputs) onnx::put_bytes(out, 11, value);
    for (const std::string& value : outputs) onnx::put_bytes(out, 12, value);
    for (const std::string& value : infos) onnx::put_bytes(out, 13, value);
    onnx::put_bytes(out, 99, "a field of a later version");
    return out;
  }
};

inline std::string onnx_file(const OnnxGraph& graph, int ir = 8, int opset = 17) {
  std::string out, set;
  onnx::put_integer(out, 1, ir);
  onnx::put_bytes(out, 2, "test");
  onnx::put_bytes(out, 7, graph.encoded());
  onnx::put_integer(set, 2, opset);
  if (opset > 0) onnx::put_bytes(out, 8, set);
  return out;
}

/// x -> MatMul(w) -> Relu -> y, with the value between declared.
inline OnnxGraph onnx_layer() {
  return {
      .nodes =
          {{.op = "MatMul", .inputs = {"x", "w"}, .outputs = {"h"}, .attributes = {}, .name = "/fc/MatMul"},
           {.op = "Relu", .inputs = {"h"}, .outputs = {"y"}, .attributes = {}, .name = "/act/Relu"}},
      .initializers = {onnx_floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})},
      .inputs = {onnx_info("x", 1, {4, 2})},
      .outputs = {onnx_info("y", 1, {4, 3})},
      .infos = {onnx_info("h", 1, {4, 3})}};
}

}  // namespace md::test
