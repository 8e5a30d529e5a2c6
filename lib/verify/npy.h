// NumPy files: .npy (one array) and .npz (a zip of them, stored or deflated). Reading and writing, for inputs
// that people bring and for the exchange with runners.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/eval/tensor.h"

namespace md {

/// Arrays by name, in the order of the file. Little-endian numbers of 1 to 8 bytes, bool and complex; Fortran
/// order is brought to C order. Errors name the file and what was expected.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// A .npz, or a .npy (one array named after the file). Told apart by their magic bytes.
Result<NamedTensors> read_numpy(const std::string& path);
/// The bytes of one .npy file; `name` is for errors.
Result<Tensor> parse_npy(const std::string& name, Bytes bytes);
/// The tensor as a .npy file of version 1.0.
std::string npy_bytes(const Tensor& tensor);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace md
