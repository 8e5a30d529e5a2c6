#include "lib/log/text_decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/base/escape.h"

namespace md {
namespace {

constexpr char32_t replacement = 0xfffd;

std::string from_utf16(Bytes bytes, bool big_endian) {
  std::string out;
  out.reserve(bytes.size() / 2 + 16);
  const auto unit = [&](std::size_t at) -> char32_t {
    const char32_t first = bytes[at], second = bytes[at + 1];
    return big_endian ? first << 8 | second : second << 8 | first;
  };
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    const char32_t high = unit(at);
    if (high < 0xd800 || high > 0xdfff) {
      append_utf8(out, high);
      continue;
    }
    const char32_t low = at + 3 < bytes.size() ? unit(at + 2) : 0;
    if (high < 0xdc00 && low >= 0xdc00 && low <= 0xdfff) {
      append_utf8(out, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
      at += 2;
    } else {
      append_utf8(out, replacement);
    }
  }
  if (bytes.size() % 2 != 0) append_utf8(out, replacement);
  return out;
}

/// Length of the valid UTF-8 sequence at `at`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned lead = byte(at), next = byte(at + 1);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(at + 1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const bool overlong = lead == 0xe0 && next < 0xa0, surrogate = lead == 0xed && next > 0x9f;
    return tail(at + 1) && tail(at + 2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const bool overlong = lead == 0xf0 && next < 0x90, too_high = lead == 0xf4 && next > 0x8f;
    return tail(at + 1) && tail(at + 2) && tail(at + 3) && !overlong && !too_high ? 4 : 0;
  }
  return 0;
}

bool starts_with(Bytes bytes, std::initializer_list<int> mark) {
  if (bytes.size() < mark.size()) return false;
  std::size_t at = 0;
  for (const int byte : mark)
    if (bytes[at++] != byte) return false;
  return true;
}

enum class ByteOrder { none, little, big };

/// UTF-16 without a mark: of the first characters nearly all have a zero byte, always in the same place. What
/// has zero bytes in both places is binary.
ByteOrder unmarked_utf16(Bytes bytes) {
  const std::size_t looked_at = std::min<std::size_t>(bytes.size(), 4096) / 2;
  if (looked_at < 4) return ByteOrder::none;
  std::size_t first = 0, second = 0;
  for (std::size_t i = 0; i < looked_at; ++i) {
    if (bytes[2 * i] == 0 && bytes[2 * i + 1] == 0) return ByteOrder::none;
    first += bytes[2 * i] == 0 ? 1 : 0;
    second += bytes[2 * i + 1] == 0 ? 1 : 0;
  }
  const std::size_t nearly_all = looked_at - looked_at / 10;
  if (second >= nearly_all && first == 0) return ByteOrder::little;
  return first >= nearly_all && second == 0 ? ByteOrder::big : ByteOrder::none;
}

}  // namespace

Status decode_text(const std::string& path, Bytes bytes, DecodedText& result) {
  std::size_t skipped = 0;
  if (starts_with(bytes, {0xff, 0xfe}) || starts_with(bytes, {0xfe, 0xff})) {
    const bool big_endian = bytes[0] == 0xfe;
    result.storage = from_utf16(bytes.subspan(2), big_endian);
    result.text = result.storage;
    result.note = big_endian ? "the log is UTF-16, big endian" : "the log is UTF-16, little endian";
  } else if (const ByteOrder order = unmarked_utf16(bytes); order != ByteOrder::none) {
    result.storage = from_utf16(bytes, order == ByteOrder::big);
    result.text = result.storage;
    result.note = fmt::format("the log is UTF-16 without a mark, {} endian",
                              order == ByteOrder::big ? "big" : "little");
  } else {
    if (starts_with(bytes, {0xef, 0xbb, 0xbf})) skipped = 3;
    if (bytes.size() > skipped)
      result.text = {reinterpret_cast<const char*>(bytes.data()) + skipped, bytes.size() - skipped};
  }
  const void* zero = result.text.empty() ? nullptr : std::memchr(result.text.data(), 0, result.text.size());
  if (zero == nullptr) return {};
  std::size_t offset =
      static_cast<std::size_t>(static_cast<const char*>(zero) - result.text.data()) + skipped;
  std::string where = fmt::format("offset {}", offset);
  if (!result.storage.empty()) where = fmt::format("character {} of its UTF-16 text", offset);
  return input_error(fmt::format(
      "{}: zero byte at {}: this is a binary file, not a log; give the text that the failed step printed",
      path, where));
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) {
      append_utf8(out, replacement), ++at;
    } else {
      out.append(text, at, length), at += length;
    }
  }
  return out;
}

}  // namespace md
