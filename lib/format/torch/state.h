// A torch.save file of tensors (state_dict, constants) inside an archive of torch 2.7 and before: a zip in
// the zip, with a pickle that says which tensor lies where. The pickle is interpreted by a small machine that
// knows the few operations torch.save emits for dictionaries of tensors; it never runs code.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/format/torch/zip.h"
#include "lib/graph/graph.h"

namespace md {

struct Pt2Strides {
  DType dtype = DType::unknown;
  Shape sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;  ///< in elements
};

struct Pt2StateTensor {
  std::string fqn;
  Bytes storage;
  std::shared_ptr<const void> owner;
  Pt2Strides view;
};

/// Row-major bytes of a strided view of `bytes`; see pt2_reader.cpp.
std::optional<Constant> contiguous_constant(Bytes bytes, std::shared_ptr<const void> owner,
                                            const Pt2Strides& tensor);

struct Pt2State {
  std::vector<Pt2StateTensor> tensors;
  std::vector<std::string> others;  ///< names of what the machine does not know (tensor subclasses, scripts)
};

/// The dictionary of a torch.save member. Errors: damage. Members above `limit` bytes that are deflated are
/// refused.
Result<Pt2State> read_torch_state(const ZipArchive& outer, const ZipMember& member, std::uint64_t limit);

}  // namespace md
