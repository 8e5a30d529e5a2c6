// SparsityParameters of a .tflite tensor.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "lib/graph/graph.h"

namespace tflite {
struct SparsityParameters;
}

namespace md::tfl {

/// Bytes that reading it would copy; asked before, because lists may be shared.
std::size_t sparsity_bytes(const tflite::SparsityParameters& from);
/// The error says what is wrong with it: "names a dimension that does not exist".
tl::expected<std::shared_ptr<const Sparsity>, std::string> read_sparsity(
    const tflite::SparsityParameters& from, std::size_t rank);

}  // namespace md::tfl
