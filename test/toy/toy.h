// A format that exists only here: the proof that a format is one folder. Nothing of lib/ knows it; the test
// program's table of formats has it beside the real ones (CMakeLists.txt), and the shipped program has not.
//
// A file: "TOYF", two 32-bit numbers (offset and length of the tables), then data in any order, the tables,
// and whatever else somebody appended. Tables, little endian: counts of values, nodes, inputs and outputs;
// values (name, type, dimensions, offset and length of a constant's bytes, 0 for none); nodes (operator,
// domain, version, operands, results); ids of inputs and of outputs. Texts have one byte of length.
#pragma once
#include <string>

#include "lib/op/dialect.h"

namespace md {

extern const Dialect dialect_toy;

namespace toy {

Result<std::unique_ptr<Document>> open(std::shared_ptr<const MappedFile> file);
const OpTable& operators();
tl::expected<std::vector<ValueType>, NoType> infer(const Node& node, std::span<const Value* const> operands,
                                                   std::size_t outputs);
std::span<const KernelEntry> kernels();

/// A file of the model; constants lie where the writer puts them. `tail` is appended behind the tables.
std::string file_of(const Model& model, const std::string& tail = "");

}  // namespace toy
}  // namespace md
