#include "lib/format/pte_delegate.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "lib/base/version.h"
#include "lib/format/pte_flat.h"

namespace md {
namespace {

template <class T>
T number(Bytes bytes, std::size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof(T)) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

bool has_magic(Bytes blob, std::string_view magic) {
  return blob.size() >= 8 && std::memcmp(blob.data() + 4, magic.data(), 4) == 0;
}

/// 4 zero bytes, "VH00", u16 header length, u32 offset and size of the flatbuffer, u32 offset of the
/// constants ...
void read_vulkan(Bytes blob, Node& node) {
  if (!has_magic(blob, "VH00")) return;
  const std::size_t offset = number<std::uint32_t>(blob, 10), size = number<std::uint32_t>(blob, 14);
  if (offset > blob.size() || size > blob.size() - offset) return;
  constexpr std::uint8_t vk_tensor = 5;  // place in the union GraphTypes, NONE counted
  const FlatVector values = FlatTable::root(blob.subspan(offset, size)).vector(2);
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const FlatTable value = values.table(i);
    if (value.number<std::uint8_t>(0) != vk_tensor) continue;
    const FlatTable tensor = value.table(1);
    if (tensor.number<std::int32_t>(2, 0) >= 0)
      largest = std::max(largest, static_cast<std::int64_t>(tensor.vector(1).size()));
  }
  node.attrs.set("largest_constant_rank", largest);
}

/// 4 bytes of padding, "MLX0", u64 offset and size of the data; the flatbuffer begins at 24.
void read_mlx(Bytes blob, Node& node) {
  if (!has_magic(blob, "MLX0") || blob.size() < 24) return;
  const auto end = number<std::uint64_t>(blob, 8);
  const FlatTable graph =
      FlatTable::root(blob.subspan(24, (end > 24 && end <= blob.size() ? end : blob.size()) - 24));
  const auto constants = graph.number<std::uint32_t>(1);
  constexpr int chains_field = 7, named_slots_field = 13, slice_update_op = 51;
  std::set<std::uint32_t> named;
  const FlatVector slots = graph.vector(named_slots_field);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (const FlatTable slot = slots.table(i).table(1); slot.number<std::uint8_t>(1) == 0)
      named.insert(slot.number<std::uint32_t>(0));
  std::int64_t unnamed = 0;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(constants, 1u << 20); ++i) unnamed += !named.count(i);
  node.attrs.set("unnamed_constants", unnamed);
  bool updates = false;
  const FlatVector chains = graph.vector(chains_field);
  for (std::size_t c = 0; c < chains.size(); ++c) {
    const FlatVector instructions = chains.table(c).vector(0);
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const FlatTable instruction = instructions.table(i);
      if (instruction.number<std::uint8_t>(0) == slice_update_op)
        updates = updates || instruction.table(1).number<std::uint32_t>(0) < constants;
    }
  }
  node.attrs.set("updates_constant", updates);
}

/// The exported blob names its version: "...;ov=2026.4.1;...".
void read_openvino(Bytes blob, Node& node) {
  constexpr std::size_t header = 4096;
  const std::string_view text(reinterpret_cast<const char*>(blob.data()), std::min(blob.size(), header));
  const std::size_t at = text.find("ov=");
  if (at == std::string_view::npos) return;
  const std::string_view version =
      text.substr(at + 3, text.find_first_not_of("0123456789.", at + 3) - at - 3);
  node.attrs.set("compiler", std::string(version));
  const auto parsed = Version::parse(version);
  // 2026.4 is the first release that keeps a pointer into an imported blob.
  node.attrs.set("keeps_blob", parsed && *parsed >= Version{{2026, 4, 0}});
}

}  // namespace

void read_delegate_blob(Bytes blob, Node& node) {
  node.attrs.set("blob_bytes", static_cast<std::int64_t>(blob.size()));
  if (node.custom == "VulkanBackend") read_vulkan(blob, node);
  if (node.custom == "MLXBackend") read_mlx(blob, node);
  if (node.custom == "OpenvinoBackend") read_openvino(blob, node);
}

}  // namespace md
