#include "lib/format/tflite/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "tflite_generated.h"

namespace md::tfl {
namespace {

flatbuffers::Verifier make_verifier(Bytes bytes) {
  // A table needs at least 8 bytes of its own when it is not shared, so that this limit only stops hostile
  // sharing.
  const std::size_t tables = bytes.size() / 4 + 1024;
  return flatbuffers::Verifier(
      bytes.data(), bytes.size(), 64,
      static_cast<flatbuffers::uoffset_t>(std::min<std::size_t>(tables, 0x3fff'ffff)));
}

/// The first broken part, for people: the verifier itself only says no. Each part is looked at with a fresh
/// verifier.
template <class Table>
std::string first_broken(Bytes bytes, const char* what,
                         const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables) {
  if (!tables) return {};
  for (flatbuffers::uoffset_t i = 0; i < tables->size(); ++i) {
    const std::uint8_t* slot = tables->Data() + std::size_t{i} * 4;
    const std::size_t at =
        static_cast<std::size_t>(slot - bytes.data()) + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(slot);
    if (at >= bytes.size())
      return fmt::format("{} {} is said to start at offset {}, but the file has {} bytes", what, i, at,
                         bytes.size());
    auto verifier = make_verifier(bytes);
    if (!tables->Get(i)->Verify(verifier))
      return fmt::format("{} {}, at offset {}, reaches outside the file's {} bytes or is misaligned", what, i,
                         at, bytes.size());
  }
  return {};
}

std::string what_is_broken(Bytes bytes) {
  const auto root_offset = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(bytes.data());
  if (root_offset >= bytes.size() || root_offset % 4 != 0)
    return fmt::format("its root table is said to start at offset {}, but the file has {} bytes", root_offset,
                       bytes.size());
  const auto* root = flatbuffers::GetRoot<tflite::Model>(bytes.data());
  const auto verifier = make_verifier(bytes);
  auto start = verifier;
  if (!start.VerifyTableStart(bytes.data() + root_offset))
    return fmt::format("its root table, at offset {}, is damaged", root_offset);
  const auto inside = [&](flatbuffers::voffset_t field) {
    const auto* slot = reinterpret_cast<const flatbuffers::Table*>(root)->GetAddressOf(field);
    if (!slot) return true;
    const auto at = static_cast<std::size_t>(slot - bytes.data());
    auto fresh = make_verifier(bytes);
    if (!fresh.Verify<flatbuffers::uoffset_t>(at) || fresh.VerifyOffset(at) == 0) return false;
    return fresh.VerifyVectorOrString(slot + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(slot), 4);
  };
  if (!inside(tflite::Model::VT_OPERATOR_CODES)) return "its list of operator codes reaches outside the file";
  if (auto broken = first_broken(bytes, "operator code", root->operator_codes()); !broken.empty())
    return broken;
  if (!inside(tflite::Model::VT_BUFFERS)) return "its list of buffers reaches outside the file";
  if (auto broken = first_broken(bytes, "buffer", root->buffers()); !broken.empty()) return broken;
  if (!inside(tflite::Model::VT_SUBGRAPHS)) return "its list of subgraphs reaches outside the file";
  if (auto broken = first_broken(bytes, "subgraph", root->subgraphs()); !broken.empty()) return broken;
  return "one of its tables reaches outside the file, is misaligned, or is shared too often";
}

}  // namespace

Result<const tflite::Model*> verified_root(const MappedFile& file) {
  const Bytes bytes = file.bytes().first(std::min(file.bytes().size(), flatbuffer_limit));
  if (bytes.size() < 16)
    return input_error(
        fmt::format("{}: only {} bytes, too short for a .tflite model; the download or copy was cut off",
                    file.path(), bytes.size()));
  auto verifier = make_verifier(bytes);
  if (!verifier.VerifyBuffer<tflite::Model>("TFL3"))
    return input_error(fmt::format("{}: damaged or cut off: {}; convert or download it again", file.path(),
                                   what_is_broken(bytes)));
  return flatbuffers::GetRoot<tflite::Model>(bytes.data());
}

}  // namespace md::tfl
