#include "lib/format/pte/delegate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "lib/base/version.h"
#include "lib/format/pte/flat.h"

namespace md {
namespace {

template <class T>
T number(Bytes bytes, std::size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof(T)) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

bool has_magic(Bytes blob, std::size_t at, std::string_view magic) {
  return blob.size() >= at + magic.size() && std::memcmp(blob.data() + at, magic.data(), magic.size()) == 0;
}

std::string damage_of(const FlatDamage& damage, std::size_t base) {
  return damage.seen ? fmt::format("byte {} of it: expected {}", base + damage.at, damage.expected)
                     : std::string();
}

/// The flatbuffer behind a header of 4 zero bytes, a mark, u16 header length, u32 offset and u32 size; a blob
/// without the mark is the flatbuffer alone. Empty, with `problem` set, when it is neither.
struct Framed {
  Bytes graph;
  std::size_t at = 0;
};
Framed framed(Bytes blob, std::string_view mark, std::string_view identifier, std::string& problem) {
  Framed out{blob, 0};
  if (has_magic(blob, 4, mark)) {
    const std::size_t offset = number<std::uint32_t>(blob, 10), size = number<std::uint32_t>(blob, 14);
    if (offset > blob.size() || size > blob.size() - offset) {
      problem = fmt::format("its graph is said to be {} bytes at {} of {}", size, offset, blob.size());
      return {};
    }
    out = {blob.subspan(offset, size), offset};
  }
  if (has_magic(out.graph, 4, identifier)) return out;
  problem = fmt::format("it does not begin as this backend's blobs do ('{}')", mark);
  return {};
}

void read_vulkan(Bytes blob, Node& node, std::string& problem) {
  const Framed graph = framed(blob, "VH00", "VK", problem);
  if (!problem.empty()) return;
  constexpr std::uint8_t vk_tensor = 5;  // place in the union GraphTypes, NONE counted
  FlatDamage damage;
  const FlatVector values = FlatTable::root(graph.graph, &damage).vector(2, 4);
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < values.size() && !damage.seen; ++i) {
    const FlatTable value = values.table(i);
    if (value.number<std::uint8_t>(0) != vk_tensor) continue;
    const FlatTable tensor = value.table(1);
    if (tensor.number<std::int32_t>(2, 0) >= 0)
      largest = std::max(largest, static_cast<std::int64_t>(tensor.vector(1, 4).size()));
  }
  problem = damage_of(damage, graph.at);
  node.attrs.set("largest_constant_rank", largest);
}

/// XNNPACK's constants lie behind its graph, or under names in the program.
void read_xnnpack(Bytes blob, Node&, std::string& problem) {
  const Framed graph = framed(blob, "XH00", "XN", problem);
  if (!problem.empty()) return;
  FlatDamage damage;
  FlatTable::root(graph.graph, &damage).vector(1, 4);
  problem = damage_of(damage, graph.at);
}

/// 4 bytes of padding, "MLX0", u64 offset and size of the data; the flatbuffer begins at 24.
void read_mlx(Bytes blob, Node& node, std::string& problem) {
  constexpr std::size_t graph_at = 24;
  if (!has_magic(blob, 4, "MLX0") || blob.size() < graph_at) {
    problem = "it does not begin as this backend's blobs do ('MLX0')";
    return;
  }
  const auto end = number<std::uint64_t>(blob, 8);
  FlatDamage damage;
  const FlatTable graph = FlatTable::root(
      blob.subspan(graph_at, (end > graph_at && end <= blob.size() ? end : blob.size()) - graph_at), &damage);
  const auto constants = graph.number<std::uint32_t>(1);
  constexpr int chains_field = 7, named_slots_field = 13, slice_update_op = 51;
  std::set<std::uint32_t> named;
  const FlatVector slots = graph.vector(named_slots_field, 4);
  for (std::size_t i = 0; i < slots.size() && !damage.seen; ++i)
    if (const FlatTable slot = slots.table(i).table(1); slot.number<std::uint8_t>(1) == 0)
      named.insert(slot.number<std::uint32_t>(0));
  const auto known = static_cast<std::uint32_t>(std::distance(named.begin(), named.lower_bound(constants)));
  node.attrs.set("unnamed_constants", static_cast<std::int64_t>(constants) - known);
  bool updates = false;
  std::size_t left = blob.size() / 4;  // instructions that a blob of this size can hold
  const FlatVector chains = graph.vector(chains_field, 4);
  for (std::size_t c = 0; c < chains.size() && left > 0 && !damage.seen; ++c) {
    const FlatVector instructions = chains.table(c).vector(0, 4);
    for (std::size_t i = 0; i < instructions.size() && left > 0 && !damage.seen; ++i, --left) {
      const FlatTable instruction = instructions.table(i);
      if (instruction.number<std::uint8_t>(0) == slice_update_op)
        updates = updates || instruction.table(1).number<std::uint32_t>(0) < constants;
    }
  }
  problem = damage_of(damage, graph_at);
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
  // Backends that keep everything under names in the program (AOTInductor's CUDA and Metal) have empty blobs.
  constexpr std::string_view with_data[] = {"CoreMLBackend", "MLXBackend", "OpenvinoBackend", "VulkanBackend",
                                            "XnnpackBackend"};
  std::string problem;
  if (blob.empty()) {
    if (std::find(std::begin(with_data), std::end(with_data), node.custom) != std::end(with_data))
      problem = "it is empty";
  } else {
    if (node.custom == "VulkanBackend") read_vulkan(blob, node, problem);
    if (node.custom == "XnnpackBackend") read_xnnpack(blob, node, problem);
    if (node.custom == "MLXBackend") read_mlx(blob, node, problem);
    if (node.custom == "OpenvinoBackend") read_openvino(blob, node);
  }
  if (!problem.empty()) node.attrs.set("blob_damage", problem);
}

}  // namespace md
