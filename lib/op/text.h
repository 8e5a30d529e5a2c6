// A graph as text, and back: what `inspect`, `diff`, rule pages and tests use.
//
//     input %x : f32[1, 4]
//     const %c : i32[2] = [4, 1]
//     %y = RESHAPE(%x, %c) : f32[4, 1]
//     %a, %b = SPLIT@2(%axis, %y) { num_splits = 2 } : f32[2, 1], f32[2, 1]
//     %z = CUSTOM "MyOp"(%a, _) : i8[2, 1] q(0.5, -3)
//     output %z
//
// "@2" is the operator's version (the newest that the operator table knows, else 1, is not written), "_" an
// absent operand, "?" or "?batch" a dynamic dimension, q(scale, zero) the quantization, q([...], [...], axis
// = 3) per channel. `variable %v : f32[4]` is a state, `value %v : f32[4]` a value that nothing produces.
// Names with other characters are quoted: %"a b". Values with one name are told apart by their ids: %x@7.
// Attributes with their usual value are left out where the operator table knows them. Several graphs of a
// model follow each other, each but the first behind a line `graph "name"`. A constant may also be
// splat(1.0), iota or random(7): f32 values in [-1, 1), the same for a seed everywhere. "#" begins a comment.
#pragma once
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md {

struct TextOptions {
  std::int64_t largest_constant =
      -1;  ///< constants with more elements are printed as "...": not readable again; -1: none
};

std::string print(const Graph& graph, const Dialect& dialect, const TextOptions& options = {});
std::string print(const Model& model, const TextOptions& options = {});
/// One statement, without line end.
std::string print_node(const Graph& graph, NodeId id, const Dialect& dialect);
/// "f32[1, 4] q(0.5, -3)"
std::string print_type(const Value& value);
/// "1", "[1, 2]", "SAME", "\"text\"": an attribute as the text form writes it.
std::string print_attribute(const AttrValue& value);

/// Errors are path:line; `first_line` is the line of the first line of `text`. The graphs are indexed.
/// Attributes that the operator table knows and the text leaves out get their usual value.
Result<Model> parse_model(const std::string& path, int first_line, std::string_view text,
                          const Dialect& dialect);

/// What differs first between two graphs in everything that the text form holds; nullopt when nothing does.
std::optional<std::string> first_difference(const Graph& a, const Graph& b, const Dialect& dialect);

}  // namespace md
