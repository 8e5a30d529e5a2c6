#include "lib/format/pte/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace md {
namespace {

constexpr std::size_t header_at = 8, header_size = 24, longest_rank = 64;
constexpr std::size_t most_items = std::size_t{1} << 22;
constexpr std::string_view advice =
    "; the file is damaged: copy it again, or lower the .pt2 again (modeldoctor explain ETX117)";

/// c10::ScalarType, the numbering of the runtime (not that of a .pt2).
DType runtime_type(int number) {
  constexpr std::pair<int, DType> types[] = {
      {0, DType::u8},      {1, DType::i8},        {2, DType::i16},  {3, DType::i32},      {4, DType::i64},
      {5, DType::f16},     {6, DType::f32},       {7, DType::f64},  {11, DType::boolean}, {15, DType::bf16},
      {23, DType::f8e5m2}, {24, DType::f8e4m3fn}, {27, DType::u16}, {28, DType::u32},     {29, DType::u64}};
  for (const auto& [known, type] : types)
    if (known == number) return type;
  return DType::unknown;
}

/// Bytes of a tensor; nullopt when its type or a size is not known, or the product is past any file.
std::optional<std::uint64_t> byte_size(const Value& value) {
  const auto count = element_count(value.shape);
  const int bits = value.dtype == DType::boolean ? 8 : bit_width(value.dtype);
  std::uint64_t bytes = 0;
  if (!count || bits < 8 ||
      __builtin_mul_overflow(static_cast<std::uint64_t>(*count), static_cast<std::uint64_t>(bits / 8),
                             &bytes))
    return std::nullopt;
  return bytes;
}

tl::unexpected<Error> wrong(std::string what) { return input_error(std::move(what)); }

}  // namespace

PteKind pte_kind(FlatTable value) {
  const auto kind = value.number<std::uint8_t>(0);
  return kind > static_cast<std::uint8_t>(PteKind::optional_tensor_list) ? PteKind::absent
                                                                         : static_cast<PteKind>(kind);
}

Result<std::unique_ptr<PteProgram>> PteProgram::open(std::shared_ptr<const MappedFile> file) {
  std::unique_ptr<PteProgram> program(new PteProgram(std::move(file)));
  program->bytes_ = program->file_->bytes();
  if (auto ok = program->read_header(); !ok) return tl::make_unexpected(ok.error());
  program->root_ = FlatTable::root(program->program_, &program->damage_);
  if (auto ok = program->read_segments(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = program->read_constants(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = program->undamaged(); !ok) return tl::make_unexpected(ok.error());
  return program;
}

tl::unexpected<Error> PteProgram::damaged(const std::string& what) const {
  return input_error(fmt::format("{}: {}{}", file_->path(), what, advice));
}

Status PteProgram::undamaged() const {
  if (!damage_.seen) return {};
  return damaged(fmt::format("offset {}: expected {}", damage_.at, damage_.expected));
}

bool PteProgram::spend(std::size_t items) {
  spent_ += items;
  return spent_ <= std::min<std::uint64_t>(program_.size() / 4, most_items);
}

Status PteProgram::read_header() {
  const auto number = [&](std::size_t at, auto value) {
    if (at <= bytes_.size() && bytes_.size() - at >= sizeof value)
      std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  };
  if (bytes_.size() < header_at)
    return damaged(fmt::format("{} bytes are too few for an ExecuTorch program", bytes_.size()));
  std::string identifier(reinterpret_cast<const char*>(bytes_.data()) + 4, 4);
  for (char& c : identifier)
    if (c < ' ' || c > '~') c = '?';
  if (identifier != "ET12")
    return input_error(fmt::format(
        "{}: offset 4: program identifier '{}', expected 'ET12': a program of another format version; lower "
        "the .pt2 with the ExecuTorch release that the runtime has (modeldoctor explain ETX117)",
        file_->path(), identifier));
  program_ = bytes_;
  if (bytes_.size() < header_at + header_size || std::memcmp(bytes_.data() + header_at, "eh00", 4) != 0)
    return {};
  const auto length = number(12, std::uint32_t{0});
  if (length < header_size || length > bytes_.size() - header_at)
    return damaged(
        fmt::format("offset 12: the extended header is said to be {} bytes long, expected 24 or 32", length));
  const auto size = number(16, std::uint64_t{0}), base = number(24, std::uint64_t{0}),
             data = length >= 32 ? number(32, std::uint64_t{0}) : 0;
  if (base == 0 && data != 0)
    return damaged(
        fmt::format("offset 24: the header places no segments, but says that they hold {} bytes", data));
  std::uint64_t expected = size;
  if (base != 0 && __builtin_add_overflow(base, data, &expected)) expected = ~std::uint64_t{0};
  if (size > bytes_.size() || base > bytes_.size() || expected > bytes_.size())
    return input_error(
        fmt::format("{}: offset 16: the header expects a file of {} bytes, it has {}: the file is truncated; "
                    "copy it again, or lower the .pt2 again (modeldoctor explain ETX117)",
                    file_->path(), std::max({expected, size, base}), bytes_.size()));
  if (base != 0 && base < size)
    return damaged(fmt::format(
        "offset 24: the segments are said to begin at {}, inside the program of {} bytes", base, size));
  if (size < header_at + length)
    return damaged(fmt::format(
        "offset 16: the program is said to be {} bytes long, which is less than its header", size));
  program_ = bytes_.first(size);
  segments_at_ = base;
  return {};
}

Status PteProgram::read_segments() {
  const FlatVector segments = root_.vector(4, 4);
  if (!spend(segments.size())) return damaged("the program lists more segments than it can hold");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const FlatTable s = segments.table(i);
    const auto offset = s.number<std::uint64_t>(0), size = s.number<std::uint64_t>(1);
    if (auto ok = undamaged(); !ok) return ok;
    if (size > 0 && segments_at_ == 0)
      return damaged(fmt::format(
          "offset 24: the header places no segments, but segment {} is said to hold {} bytes", i, size));
    if (offset > bytes_.size() - segments_at_ || size > bytes_.size() - segments_at_ - offset)
      return damaged(fmt::format(
          "offset {}: segment {} is said to hold {} bytes at {} behind {}, outside the file of {} bytes",
          s.place(), i, size, offset, segments_at_, bytes_.size()));
    segments_.push_back(bytes_.subspan(segments_at_ + offset, size));
    if (size > 0) ranges.emplace_back(offset, size);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i - 1].first + ranges[i - 1].second > ranges[i].first)
      return damaged(fmt::format("the segments at {} and {} behind offset {} overlap", ranges[i - 1].first,
                                 ranges[i].first, segments_at_));
  return {};
}

Status PteProgram::read_constants() {
  const FlatTable where = root_.table(5);
  constant_at_ = where.vector(1, 8);
  if (constant_at_.size() == 0) return {};
  const std::size_t index = where.number<std::uint32_t>(0);
  if (constant_at_.size() == 1 && segments_.empty()) return {};  // the placeholder for "no data"
  if (index >= segments_.size())
    return damaged(fmt::format("offset {}: the constants are said to be in segment {}, but there are {}",
                               where.place(), index, segments_.size()));
  constants_ = segments_[index];
  for (std::size_t i = 0; i < constant_at_.size(); ++i)
    if (constant_at_.number<std::uint64_t>(i) > constants_.size())
      return damaged(fmt::format("offset {}: constant {} begins at {} of a segment of {} bytes",
                                 where.place(), i, constant_at_.number<std::uint64_t>(i), constants_.size()));
  return {};
}

/// A tensor without planned memory keeps its bytes in the segment of constants, or in the older list of
/// buffers.
Status PteProgram::read_constant(std::size_t index, Value& value) const {
  const auto needed = byte_size(value);
  Bytes bytes;
  if (constant_at_.size() > 0) {
    if (index >= constant_at_.size())
      return wrong(
          fmt::format("{} is constant {}, but there are {}", value.name, index, constant_at_.size()));
    bytes = constants_.subspan(constant_at_.number<std::uint64_t>(index));
  } else {
    const FlatVector buffers = root_.vector(2, 4);
    if (index >= buffers.size())
      return wrong(fmt::format("{} is buffer {}, but there are {}", value.name, index, buffers.size()));
    bytes = buffers.table(index).vector(0, 1).bytes();
  }
  if (!needed) return {};
  if (*needed > bytes.size())
    return wrong(fmt::format("{} needs {} bytes of constant {}, which has {}", value.name, *needed, index,
                             bytes.size()));
  value.constant = Constant{bytes.first(*needed), file_};
  return {};
}

Status PteProgram::read_value(FlatTable entry, std::size_t index, const FlatVector& arenas,
                              Value& value) const {
  value.name = fmt::format("v{}", index);
  value.origin = static_cast<std::int32_t>(index);
  const PteKind kind = pte_kind(entry);
  if (entry && kind == PteKind::absent)
    return wrong(
        fmt::format("value {} is of kind {}, expected 1 to 11", index, entry.number<std::uint8_t>(0)));
  if (kind == PteKind::integer) value.dtype = DType::symint;
  if (kind == PteKind::boolean) value.dtype = DType::symbool;
  if (kind == PteKind::number) value.dtype = DType::symfloat;
  if (kind == PteKind::text) value.dtype = DType::string;
  if (kind != PteKind::tensor) return {};
  const FlatTable tensor = entry.table(1), extra = tensor.table(9), planned = tensor.table(6);
  value.dtype = runtime_type(tensor.number<std::int8_t>(0));
  if (const std::string name = extra.text(1); !name.empty()) value.name = name;
  const FlatVector sizes = tensor.vector(2, 4), order = tensor.vector(3, 1);
  if (sizes.size() > longest_rank)
    return wrong(
        fmt::format("{} has {} dimensions, at most {} are expected", value.name, sizes.size(), longest_rank));
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const auto size = sizes.number<std::int32_t>(d);
    if (size < 0) return wrong(fmt::format("dimension {} of {} is {}", d, value.name, size));
    value.shape.push_back(size);
  }
  if (!element_count(value.shape))
    return wrong(fmt::format("{} has sizes {}, more elements than can be counted", value.name,
                             shape_text(value.shape)));
  if (order.size() != 0 && order.size() != sizes.size())
    return wrong(
        fmt::format("{} has {} dimensions, but an order of {}", value.name, sizes.size(), order.size()));
  std::uint64_t seen = 0;
  for (const std::uint8_t d : order.bytes()) {
    if (d >= order.size() || (seen >> d & 1))
      return wrong(fmt::format("the dimensions of {} are said to be stored in the order {}", value.name,
                               fmt::join(order.bytes(), " ")));
    seen |= std::uint64_t{1} << d;
  }
  if (planned) {
    const std::size_t arena = planned.number<std::uint32_t>(0);
    const std::uint64_t at =
        planned.number<std::uint32_t>(1) | static_cast<std::uint64_t>(planned.number<std::uint32_t>(2)) << 32;
    const auto needed = byte_size(value);
    if (arena == 0 || arena >= arenas.size())
      return wrong(fmt::format("{} is planned in memory {}, but there are {}", value.name, arena,
                               arenas.size() ? arenas.size() - 1 : 0));
    const std::int64_t room = arenas.number<std::int64_t>(arena);
    if (room < 0 || at > static_cast<std::uint64_t>(room) ||
        (needed && *needed > static_cast<std::uint64_t>(room) - at))
      return wrong(fmt::format("{} takes {} bytes at {} of memory {}, which has {}", value.name,
                               needed.value_or(0), at, arena, room));
    return {};
  }
  constexpr std::int8_t external = 1;
  const std::size_t buffer = tensor.number<std::uint32_t>(5);
  return buffer == 0 || extra.number<std::int8_t>(2) == external ? Status{} : read_constant(buffer, value);
}

PteProgram::Order PteProgram::order(FlatTable entry) {
  constexpr std::size_t lowest_rank = 3;  // channels last is an order of images and volumes
  if (pte_kind(entry) != PteKind::tensor) return Order::none;
  const FlatVector dims = entry.table(1).vector(3, 1);
  if (dims.size() < lowest_rank) return Order::none;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims.number<std::uint8_t>(d) != d) return Order::other;
  return Order::plain;
}

std::string PteProgram::contract(FlatTable entry, const Value& value) const {
  if (pte_kind(entry) != PteKind::tensor) return {};
  const FlatTable tensor = entry.table(1);
  const FlatVector order = tensor.vector(3, 1);
  std::string text = fmt::format("{}[{}]", name(value.dtype), fmt::join(value.shape, ", "));
  constexpr std::int8_t bounded = 1, unbounded = 2;
  const auto dynamism = tensor.number<std::int8_t>(8);
  if (dynamism == bounded) text += " at most";
  if (dynamism == unbounded) text += " or larger";
  for (std::size_t d = 0; d < order.size(); ++d)
    if (order.number<std::uint8_t>(d) != d)
      return text + fmt::format(", dimensions stored in the order {}", fmt::join(order.bytes(), " "));
  return text;
}

}  // namespace md
