#include "lib/format/torch/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "lib/base/escape.h"

namespace md {
namespace {
constexpr std::size_t most_values = std::size_t{1}
                                    << 25;  ///< a program of 300 000 nodes; more would take gigabytes
constexpr int deepest = 256;  ///< torch's own files nest below 30, and below 12 more for each inner graph

std::uint32_t hex4(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  if (at + 4 <= text.size()) std::from_chars(text.data() + at, text.data() + at + 4, value, 16);
  return value;
}

std::string unescape(std::string_view inner) {
  std::string out;
  out.reserve(inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\' || i + 1 == inner.size()) {
      out += inner[i];
      continue;
    }
    switch (inner[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u': {
        std::uint32_t code = hex4(inner, i + 1);
        i += 4;
        if (code >= 0xd800 && code < 0xdc00 && i + 6 < inner.size() && inner[i + 1] == '\\' &&
            inner[i + 2] == 'u') {
          code = 0x10000 + ((code - 0xd800) << 10) + (hex4(inner, i + 3) - 0xdc00);
          i += 6;
        }
        append_utf8(out, code);
        break;
      }
      default:
        out += inner[i];
    }
  }
  return out;
}
}  // namespace

class JsonParser {
 public:
  JsonParser(JsonText& out, std::string_view text, const std::string& where)
      : out_(out), text_(text), where_(where) {}

  Status run() {
    if (auto ok = value(0, {}); !ok) return ok;
    blanks();
    return at_ == text_.size() ? Status{} : error("end of the text");
  }

 private:
  Status error(std::string_view expected) const {
    return input_error(fmt::format("{}: byte {} of the JSON text: expected {}", where_, at_, expected));
  }
  void blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool string_token() {  // at_ is on the opening quote
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\')
        ++at_;
      else if (text_[at_] == '"')
        return ++at_, true;
      else if (static_cast<unsigned char>(text_[at_]) < 0x20)
        return false;
    }
    return false;
  }
  static std::uint32_t position(std::size_t at) { return static_cast<std::uint32_t>(at); }

  Status value(int depth, JsonSpan key) {
    blanks();
    if (depth > deepest) return error(fmt::format("at most {} levels of nesting", deepest));
    if (at_ >= text_.size()) return error("a value, found the end");
    if (out_.entries_.size() >= most_values) return error(fmt::format("at most {} values", most_values));
    const std::size_t index = out_.entries_.size();
    out_.entries_.emplace_back();
    out_.entries_[index].key = key;
    const std::size_t begin = at_;
    Json::Kind kind = Json::Kind::number;
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      kind = c == '{' ? Json::Kind::object : Json::Kind::array;
      if (auto ok = elements(depth, index, c == '{'); !ok) return ok;
    } else if (c == '"') {
      kind = Json::Kind::string;
      if (!string_token()) return error("a closing quote");
    } else if (!scalar(kind)) {
      return error("a value");
    }
    out_.entries_[index].kind = kind;
    out_.entries_[index].span = {position(begin), position(at_)};
    return {};
  }

  Status elements(int depth, std::size_t parent, bool object) {
    const char close = object ? '}' : ']';
    ++at_;
    if (take(close)) return {};
    std::size_t previous = 0;
    for (;;) {
      JsonSpan key;
      if (object) {
        blanks();
        const std::size_t begin = at_;
        if (at_ >= text_.size() || text_[at_] != '"' || !string_token())
          return error("a member name in quotes");
        key = {position(begin), position(at_)};
        if (!take(':')) return error("':' behind a member name");
      }
      const std::size_t child = out_.entries_.size();
      if (previous) out_.entries_[previous].next = position(child);
      previous = child;
      ++out_.entries_[parent].children;
      if (auto ok = value(depth + 1, key); !ok) return ok;
      if (take(close)) return {};
      if (!take(',')) return error(object ? "',' or '}'" : "',' or ']'");
    }
  }

  bool scalar(Json::Kind& kind) {
    for (const auto& [word, as] : {std::pair<std::string_view, Json::Kind>{"true", Json::Kind::boolean},
                                   {"false", Json::Kind::boolean},
                                   {"null", Json::Kind::null},
                                   {"NaN", Json::Kind::number},
                                   {"Infinity", Json::Kind::number},
                                   {"-Infinity", Json::Kind::number}})
      if (text_.substr(at_, word.size()) == word) return at_ += word.size(), kind = as, true;
    return digits_of_number();
  }

  /// -12.5e+3, and nothing that JSON forbids (+1, 01, .5, 1.).
  bool digits_of_number() {
    const auto digits = [&] {
      const std::size_t begin = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      return at_ - begin;
    };
    const auto skip = [&](std::string_view any) {
      return at_ < text_.size() && any.find(text_[at_]) != std::string_view::npos ? (++at_, true) : false;
    };
    skip("-");
    const std::size_t first = at_, whole = digits();
    if (whole == 0 || (whole > 1 && text_[first] == '0')) return false;
    if (skip(".") && digits() == 0) return false;
    if (!skip("eE")) return true;
    skip("+-");
    return digits() > 0;
  }

  JsonText& out_;
  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

Result<JsonText> JsonText::parse(std::string_view text, const std::string& where) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max())
    return fail(Error::Kind::unsupported,
                fmt::format("{}: a JSON text of {} bytes; at most 4 GiB are read", where, text.size()));
  JsonText out;
  out.text_ = text;
  if (auto ok = JsonParser(out, text, where).run(); !ok) return tl::make_unexpected(ok.error());
  return out;
}

Json::Kind Json::kind() const { return text_ ? text_->entries_[index_].kind : Kind::absent; }
JsonSpan Json::span() const { return text_ ? text_->entries_[index_].span : JsonSpan{}; }
JsonSpan Json::key_span() const { return text_ ? text_->entries_[index_].key : JsonSpan{}; }
std::uint32_t Json::count() const { return text_ ? text_->entries_[index_].children : 0; }
Json Json::first() const { return count() ? Json(text_, index_ + 1) : Json(); }
Json Json::next() const {
  if (!text_ || text_->entries_[index_].next == 0) return {};
  return Json(text_, text_->entries_[index_].next);
}

std::string_view Json::raw() const {
  if (!text_) return {};
  const JsonSpan s = span();
  return text_->text_.substr(s.begin, s.size());
}

std::string Json::key() const {
  const JsonSpan s = key_span();
  return s.size() < 2 ? std::string() : unescape(text_->text_.substr(s.begin + 1, s.size() - 2));
}

Json Json::at(std::string_view key) const {
  if (kind() != Kind::object) return {};
  Json found;
  for (Json child = first(); child; child = child.next()) {
    const JsonSpan s = child.key_span();
    const std::string_view inner = text_->text_.substr(s.begin + 1, s.size() - 2);
    if (inner == key || (inner.find('\\') != std::string_view::npos && child.key() == key)) found = child;
  }
  return found;
}

std::string Json::text() const {
  if (kind() != Kind::string) return {};
  const std::string_view r = raw();
  return unescape(r.substr(1, r.size() - 2));
}

bool Json::is_integer() const {
  if (kind() != Kind::number) return false;
  std::int64_t value = 0;
  const std::string_view r = raw();
  const auto [end, problem] = std::from_chars(r.data(), r.data() + r.size(), value);
  return problem == std::errc{} && end == r.data() + r.size();
}

std::int64_t Json::integer(std::int64_t otherwise) const {
  std::int64_t value = 0;
  const std::string_view r = raw();
  if (kind() != Kind::number) return otherwise;
  const auto [end, problem] = std::from_chars(r.data(), r.data() + r.size(), value);
  return problem == std::errc{} && end == r.data() + r.size() ? value : otherwise;
}

std::optional<double> Json::number() const {
  std::string_view r = raw();
  if (kind() == Kind::string)
    r = r.substr(1, r.size() - 2);
  else if (kind() != Kind::number)
    return std::nullopt;
  if (r == "Infinity") return std::numeric_limits<double>::infinity();
  if (r == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (r == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (kind() == Kind::string) return std::nullopt;
  double value = 0;
  std::from_chars(r.data(), r.data() + r.size(), value);
  return value;
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out += '"';
}

std::string json_float(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace md
