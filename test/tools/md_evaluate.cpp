// Developer tool of judges: evaluates models on given inputs, many in one process.
//   md_evaluate                 reads lines "MODEL INPUTS.npz FOLDER" (tabs between) from standard input;
//   inputs
//                               are taken in the order of the model's, results go to FOLDER/0.npy, 1.npy, ...
//                               One line a model: "ok", or what is wrong.
//   A line "types MODEL" (a tab between) is answered by the types of the first graph's values.
//   md_evaluate --operators     "FORMAT OPERATOR" of all kernels, one a line
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <string>

#include "lib/eval/kernel.h"
#include "lib/format/onnx/operators.h"
#include "lib/op/dialect.h"
#include "lib/verify/npy.h"

using namespace md;

namespace {

/// The numbers in the type that the model's input has; 16-bit floats that NumPy lacks come as wider ones.
Tensor in_type(const Tensor& given, const Value& value) {
  if (given.dtype == value.dtype) return given;
  if (is_float(value.dtype)) return Tensor::of(value.dtype, given.shape, given.numbers());
  return Tensor::of_integers(value.dtype, given.shape, given.integers());
}

/// A type that NumPy has.
Tensor writable(const Tensor& tensor) {
  const int bits = bit_width(tensor.dtype);
  if (is_float(tensor.dtype) && bits <= 16) return Tensor::of(DType::f32, tensor.shape, tensor.numbers());
  if (bits < 8 && is_integer(tensor.dtype))
    return Tensor::of_integers(is_signed(tensor.dtype) ? DType::i8 : DType::u8, tensor.shape,
                               tensor.integers());
  return tensor;
}

/// "types" and, with tabs between, name|type|dimensions of each value of the first graph: ONNX's number of
/// the element type (0: unknown), "?" where the rank is not known.
std::string types_line(const std::string& path) {
  auto document = open_document(path);
  if (!document) return document.error().message;
  const Graph& graph = (*document)->model().graphs[0];
  std::string out = "types";
  for (const Value& value : graph.values) {
    const bool unknown = value.dtype == DType::unknown || value.unranked;
    out += fmt::format("\t{}|{}|{}", value.name, onnx_data_type(value.dtype).value_or(0),
                       unknown ? std::string("?") : fmt::format("{}", fmt::join(value.shape, ",")));
  }
  return out;
}

std::string evaluate_line(const std::string& line) {
  if (line.starts_with("types\t")) return types_line(line.substr(6));
  const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
  if (second == std::string::npos) return "expected MODEL, INPUTS and FOLDER with tabs between";
  const std::string path = line.substr(0, first), arrays = line.substr(first + 1, second - first - 1),
                    folder = line.substr(second + 1);
  auto document = open_document(path);
  if (!document) return document.error().message;
  const Model& model = (*document)->model();
  auto given = read_numpy(arrays);
  if (!given) return given.error().message;
  const Graph& graph = model.graphs[0];
  if (given->size() != graph.inputs.size())
    return fmt::format("{} arrays for {} inputs", given->size(), graph.inputs.size());
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < given->size(); ++i)
    inputs.push_back(in_type((*given)[i].second, graph.value(graph.inputs[i])));
  auto outputs = evaluate(model, 0, inputs);
  if (!outputs) return outputs.error().message;
  for (std::size_t i = 0; i < outputs->size(); ++i)
    if (auto done = write_npy(fmt::format("{}/{}.npy", folder, i), writable((*outputs)[i])); !done)
      return done.error().message;
  return "ok";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--operators") {
    for (const Dialect* dialect : dialects())
      for (const KernelGroup group : dialect->kernels)
        for (const KernelEntry& entry : group()) fmt::print("{} {}\n", dialect->name, entry.op);
    return 0;
  }
  if (argc != 1) return fmt::print(stderr, "usage: md_evaluate [--operators]\n"), 2;
  for (std::string line; std::getline(std::cin, line);) {
    fmt::print("{}\n", evaluate_line(line));
    std::fflush(stdout);
  }
  return 0;
}
