#include "lib/verify/npy.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "lib/base/mapped_file.h"
#include "lib/eval/primitives/strided.h"
#include "lib/graph/encode.h"

namespace md {
namespace {

constexpr std::uint64_t member_limit = std::uint64_t{8}
                                       << 30;  // of one array in a zip: more is a damaged or hostile file
constexpr std::string_view npy_magic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran = false;
  Shape shape;
};

/// The value of a key in the header's Python dictionary: up to the next comma outside parentheses and quotes.
std::optional<std::string_view> dictionary_value(std::string_view text, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "'";
  auto at = text.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find(':', at + quoted.size());
  if (at == std::string_view::npos) return std::nullopt;
  int depth = 0;
  std::size_t end = ++at;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && (c == ',' || c == '}')) break;
  }
  while (at < end && text[at] == ' ') ++at;
  return text.substr(at, end - at);
}

std::optional<Header> parse_header(std::string_view text) {
  const auto descr = dictionary_value(text, "descr"), fortran = dictionary_value(text, "fortran_order"),
             shape = dictionary_value(text, "shape");
  if (!descr || !fortran || !shape || descr->size() < 3 || shape->size() < 2) return std::nullopt;
  Header header;
  header.descr = descr->substr(1, descr->size() - 2);
  header.fortran = fortran->substr(0, 4) == "True";
  std::string_view rest = shape->substr(1);
  while (!rest.empty() && rest[0] != ')') {
    if (rest[0] == ' ' || rest[0] == ',') {
      rest.remove_prefix(1);
      continue;
    }
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    if (error != std::errc{} || dim < 0) return std::nullopt;
    header.shape.push_back(dim);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (!rest.empty() && rest[0] == 'L') rest.remove_prefix(1);  // a long of Python 2
  }
  return header;
}

std::optional<DType> dtype_of(std::string_view descr) {
  static constexpr std::pair<std::string_view, DType> types[] = {
      {"f2", DType::f16}, {"f4", DType::f32},     {"f8", DType::f64}, {"i1", DType::i8},   {"i2", DType::i16},
      {"i4", DType::i32}, {"i8", DType::i64},     {"u1", DType::u8},  {"u2", DType::u16},  {"u4", DType::u32},
      {"u8", DType::u64}, {"b1", DType::boolean}, {"c8", DType::c64}, {"c16", DType::c128}};
  if (descr.empty() || descr[0] == '>') return std::nullopt;
  if (descr[0] == '<' || descr[0] == '|' || descr[0] == '=') descr.remove_prefix(1);
  for (const auto& [text, type] : types)
    if (descr == text) return type;
  return std::nullopt;
}

std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "<f2";
    case DType::f64:
      return "<f8";
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return "|i1";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::u8:
    case DType::u4:
      return "|u1";
    case DType::u16:
      return "<u2";
    case DType::u32:
      return "<u4";
    case DType::u64:
      return "<u8";
    case DType::boolean:
      return "|b1";
    case DType::c64:
      return "<c8";
    case DType::c128:
      return "<c16";
    default:
      return "<f4";
  }
}

struct ZipCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

Result<NamedTensors> read_npz(const std::string& path) {
  int code = 0;
  const std::unique_ptr<zip_t, ZipCloser> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) return input_error(fmt::format("{}: not a readable .npz (libzip error {})", path, code));
  NamedTensors arrays;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0 ||
        !(stat.valid & ZIP_STAT_SIZE) || !(stat.valid & ZIP_STAT_NAME))
      return input_error(fmt::format("{}: entry {} of the archive is damaged", path, i));
    if (stat.size > member_limit)
      return input_error(fmt::format("{}: array \"{}\" claims {} bytes", path, stat.name, stat.size));
    std::string name = stat.name;
    if (name.size() < 4 || name.substr(name.size() - 4) != ".npy") continue;
    std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
        zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0), zip_fclose);
    // Grown as the data come: the size in the directory is only a claim.
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint8_t> block(std::size_t{1} << 20);
    zip_int64_t got = file ? 0 : -1;
    while (file && (got = zip_fread(file.get(), block.data(), block.size())) > 0) {
      bytes.insert(bytes.end(), block.begin(), block.begin() + got);
      if (bytes.size() > stat.size) break;
    }
    if (got < 0 || bytes.size() != stat.size)
      return input_error(fmt::format("{}: array \"{}\" cannot be unpacked", path, name));
    auto tensor = parse_npy(path + ":" + name, bytes);
    if (!tensor) return tl::make_unexpected(tensor.error());
    arrays.emplace_back(name.substr(0, name.size() - 4), std::move(*tensor));
  }
  return arrays;
}

}  // namespace

Result<Tensor> parse_npy(const std::string& name, Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.size() < 10 || text.substr(0, npy_magic.size()) != npy_magic)
    return input_error(fmt::format("{}: not a .npy file (no NumPy magic)", name));
  const bool wide = bytes[6] >= 2;
  const std::size_t start = wide ? 12 : 10;
  if (bytes.size() < start) return input_error(fmt::format("{}: the header is cut off", name));
  std::size_t length = static_cast<std::size_t>(bytes[8]) | static_cast<std::size_t>(bytes[9]) << 8;
  if (wide) length |= static_cast<std::size_t>(bytes[10]) << 16 | static_cast<std::size_t>(bytes[11]) << 24;
  if (length > bytes.size() - start) return input_error(fmt::format("{}: the header is cut off", name));
  const auto header = parse_header(text.substr(start, length));
  if (!header) return input_error(fmt::format("{}: the header cannot be read", name));
  const auto dtype = dtype_of(header->descr);
  if (!dtype)
    return input_error(fmt::format("{}: elements of type '{}' are not supported; save little-endian numbers",
                                   name, header->descr));
  Value value;
  value.name = name;
  value.dtype = *dtype;
  value.shape = header->shape;
  if (header->fortran) std::reverse(value.shape.begin(), value.shape.end());
  const auto count = element_count(value.shape);
  const Bytes rest = bytes.subspan(start + length);
  if (!count || static_cast<std::uint64_t>(*count) > rest.size() ||
      storage_bytes(*dtype, *count) != rest.size())
    return input_error(fmt::format("{}: {} bytes of data do not fill shape {} of {}", name, rest.size(),
                                   shape_text(header->shape), md::name(*dtype)));
  value.constant = Constant::own({rest.begin(), rest.end()});
  auto tensor = Tensor::constant(value);
  if (!tensor || !header->fortran) return tensor;
  View view = whole(value.shape);
  std::reverse(view.dims.begin(), view.dims.end());
  std::reverse(view.steps.begin(), view.steps.end());
  Tensor ordered = Tensor::make(*dtype, header->shape);
  read_view(*tensor, view, ordered);
  return ordered;
}

Result<NamedTensors> read_numpy(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  const Bytes bytes = (*file)->bytes();
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0) return read_npz(path);
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x05\x06", 4) == 0) return NamedTensors{};
  auto tensor = parse_npy(path, bytes);
  if (!tensor) return input_error(fmt::format("{}; expected a .npy or .npz file", tensor.error().message));
  NamedTensors arrays;
  arrays.emplace_back(std::filesystem::path(path).stem().string(), std::move(*tensor));
  return arrays;
}

std::string npy_bytes(const Tensor& tensor) {
  std::string shape;
  for (const std::int64_t d : tensor.shape) shape += std::to_string(d) + ", ";
  if (tensor.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (tensor.shape.size() == 1)
    shape.pop_back();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(tensor.dtype), shape);
  // The data begin at a multiple of 64 bytes; the header ends in a line feed.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out(npy_magic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  // Packed types are written one element a byte, which NumPy has types for.
  const bool packed = bit_width(tensor.dtype) < 8 && tensor.dtype != DType::boolean;
  const auto bytes =
      tensor.dtype == DType::bf16 ? encode(DType::f32, tensor.shape, tensor.numbers())
      : packed ? encode(is_signed(tensor.dtype) ? DType::i8 : DType::u8, tensor.shape, tensor.numbers())
      : tensor.store() == Store::f64 && tensor.dtype != DType::f64 && tensor.lanes() == 1
          ? encode(tensor.dtype, tensor.shape, tensor.numbers())
          : constant_bytes(tensor);
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  const std::string bytes = npy_bytes(tensor);
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if ((file && std::fclose(file) != 0) || !written)  // what was buffered may fail only now
    return input_error(fmt::format("{}: cannot be written", path));
  return {};
}

}  // namespace md
