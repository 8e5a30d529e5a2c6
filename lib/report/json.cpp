// The JSON diagnosis: the fields of fields.h. Keys are sorted, numbers that JSON lacks are strings.
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "lib/report/fields.h"

namespace md::reporters {
namespace {

using Json = nlohmann::json;

template <class T>
Json object_json(const T& value);

Json value_json(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

template <class T>
Json value_json(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return word(value);
  else if constexpr (!kDefinition<T>.empty())
    return object_json(value);
  else
    return value;
}

template <class T>
Json value_json(const std::optional<T>& value) {
  return value ? value_json(*value) : Json(nullptr);
}

template <class T>
Json value_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(value_json(value));
  return list;
}

Json value_json(const SeverityCounts& counts) {
  Json json = Json::object();
  for (const auto& [severity, number] : counts) json[std::string(word(severity))] = number;
  return json;
}

bool is_empty(const std::string& text) { return text.empty(); }
bool is_empty(bool value) { return !value; }
bool is_empty(int value) { return value == 0; }
template <class T>
bool is_empty(const std::vector<T>& list) {
  return list.empty();
}
template <class E>
requires std::is_enum_v<E>
bool is_empty(E value) { return word(value).empty(); }
template <class T>
requires(!std::is_enum_v<T>) bool is_empty(const T&) { return false; }

class Writer {
 public:
  template <class T>
  using Of = const T;

  template <class T>
  void field(std::string_view name, const T& value, How how = kPlain, std::string_view = "") {
    const bool empty = is_empty(value);
    if ((how & kOmitIfEmpty) && empty) return;
    if ((how & kNullIfEmpty) && empty) return put(name, nullptr);
    if constexpr (std::is_arithmetic_v<T>)
      if ((how & kNullIfBelow) && value < T{}) return put(name, nullptr);
    put(name, value_json(value));
  }
  void constant(std::string_view name, std::string_view text, std::string_view = "") { put(name, text); }
  template <class T>
  void nullable(std::string_view name, const T& value, bool present, std::string_view = "") {
    put(name, present ? value_json(value) : Json(nullptr));
  }
  template <class T, class Set>
  void computed(std::string_view name, bool present, const T& value, const Set&, std::string_view = "") {
    if (present) put(name, value_json(value));
  }
  template <class Fields>
  void object(std::string_view name, How how, bool present, const Fields& nested) {
    if (!present && (how & kOmitIfEmpty)) return;
    if (!present) return put(name, nullptr);
    Writer inner;
    nested(inner);
    put(name, std::move(inner.json_));
  }
  Json take() { return std::move(json_); }

 private:
  void put(std::string_view name, Json value) { json_[std::string(name)] = std::move(value); }
  Json json_ = Json::object();
};

template <class T>
Json object_json(const T& value) {
  Writer writer;
  fields(writer, value);
  return writer.take();
}

/// Names in files need not be UTF-8; bytes that are not become U+FFFD.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json(Runs runs) {
  if (runs.size() == 1) return dump(object_json(runs.front()), 2) + "\n";
  Json all = {{"runs", Json::array()}};
  for (const Diagnosis& run : runs) all["runs"].push_back(object_json(run));
  return dump(all, 2) + "\n";
}

std::string json_lines(Runs runs) {
  std::string lines;
  for (const Diagnosis& run : runs) lines += dump(object_json(run), -1) + "\n";
  return lines;
}

}  // namespace md::reporters
