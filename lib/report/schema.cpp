// The JSON Schema of a diagnosis, by the fields of fields.h.
#include <nlohmann/json.hpp>
#include <type_traits>

#include "lib/report/fields.h"

namespace md {
namespace {

using namespace reporters;
using Json = nlohmann::json;

Json defined_as(std::string_view name) { return {{"$ref", "#/$defs/" + std::string(name)}}; }
Json or_null(Json schema) { return {{"anyOf", Json::array({{{"type", "null"}}, std::move(schema)})}}; }

/// Collects the definitions of every struct that is met.
class Definitions {
 public:
  template <class T>
  Json of(const T& value, How how);
  template <class T>
  Json of(const std::optional<T>&, How how) {
    return or_null(of(T{}, how));
  }
  template <class T>
  Json of(const std::vector<T>&, How how) {
    return {{"type", "array"}, {"items", of(T{}, how)}};
  }
  Json of(const std::string&, How) { return {{"type", "string"}}; }
  Json of(const bool&, How) { return {{"type", "boolean"}}; }
  Json of(const double&, How) { return defined_as("number"); }
  Json of(const SeverityCounts&, How) { return defined_as("counts"); }
  Json& all() { return all_; }

 private:
  Json all_ = Json::object();
};

class SchemaMaker {
 public:
  template <class T>
  using Of = const T;

  explicit SchemaMaker(Definitions& definitions) : definitions_(definitions) {}
  template <class T>
  void field(std::string_view name, const T& value, How how = kPlain, std::string_view about = "") {
    Json schema = definitions_.of(value, how);
    if (how & (kNullIfEmpty | kNullIfBelow)) schema = or_null(std::move(schema));
    add(name, std::move(schema), !(how & (kOmitIfEmpty | kNewer)), about);
  }
  void constant(std::string_view name, std::string_view text, std::string_view about = "") {
    // Versions differ from program to program: of the schema's own the first number counts.
    Json schema = {{"type", "string"}};
    if (name == "schema_version") schema["pattern"] = "^1\\.";
    if (name == "name") schema = {{"const", text}};
    add(name, std::move(schema), true, about);
  }
  template <class T>
  void nullable(std::string_view name, const T& value, bool, std::string_view about = "") {
    add(name, or_null(definitions_.of(value, kPlain)), true, about);
  }
  /// `present` says of an empty diagnosis whether the field is there.
  template <class T, class Set>
  void computed(std::string_view name, bool present, const T& value, const Set&,
                std::string_view about = "") {
    Json schema = definitions_.of(value, std::is_same_v<T, int> ? kCount : kPlain);
    if constexpr (std::is_same_v<T, SeverityCounts>)
      schema = {{"type", "object"}, {"additionalProperties", defined_as("count")}};
    add(name, std::move(schema), present, about);
  }
  template <class Fields>
  void object(std::string_view name, How how, bool, const Fields& nested) {
    SchemaMaker inner(definitions_);
    nested(inner);
    Json schema = how & kNullIfEmpty ? or_null(inner.take()) : inner.take();
    add(name, std::move(schema), !(how & kOmitIfEmpty), "");
  }
  Json take() {
    return {{"type", "object"},
            {"additionalProperties", false},
            {"required", std::move(required_)},
            {"properties", std::move(properties_)}};
  }

 private:
  void add(std::string_view name, Json schema, bool required, std::string_view about) {
    if (!about.empty()) schema["description"] = about;
    if (required) required_.push_back(name);
    properties_[std::string(name)] = std::move(schema);
  }
  Definitions& definitions_;
  Json properties_ = Json::object(), required_ = Json::array();
};

template <class T>
Json Definitions::of(const T& value, How how) {
  if constexpr (std::is_enum_v<T>) {
    Json words = Json::array();
    for (const auto& known : kWords<T>) words.push_back(known.text);
    return {{"enum", std::move(words)}};
  } else if constexpr (std::is_integral_v<T>) {
    if (how & kExitCodes) return {{"enum", {0, 1, 2, 3, 4}}};
    if ((how & (kCount | kNullIfBelow)) || std::is_unsigned_v<T>) return defined_as("count");
    Json schema = {{"type", "integer"}};
    if (how & kFromOne) schema["minimum"] = 1;
    return schema;
  } else {
    const std::string name(kDefinition<T>);
    if (!all_.contains(name)) {
      all_[name] = nullptr;  // so that a struct may hold others of its kind
      SchemaMaker maker(*this);
      fields(maker, value);
      all_[name] = maker.take();
    }
    return defined_as(name);
  }
}

std::string make_schema() {
  Definitions definitions;
  const Json diagnosis = definitions.of(Diagnosis{}, kPlain);
  Json counts = Json::object(), severities = Json::array();
  for (const auto& severity : kWords<Severity>) {
    counts[std::string(severity.text)] = defined_as("count");
    severities.push_back(severity.text);
  }
  definitions.all()["count"] = {{"type", "integer"}, {"minimum", 0}};
  definitions.all()["number"] = {
      {"description", "JSON has no infinities: those are strings"},
      {"anyOf", Json::array({{{"type", "number"}}, {{"enum", {"inf", "-inf", "nan"}}}})}};
  definitions.all()["counts"] = {{"type", "object"},
                                 {"description", "open findings by severity"},
                                 {"required", std::move(severities)},
                                 {"additionalProperties", false},
                                 {"properties", std::move(counts)}};
  const Json several = {{"type", "object"},
                        {"required", {"runs"}},
                        {"additionalProperties", false},
                        {"properties", {{"runs", {{"type", "array"}, {"items", diagnosis}}}}}};
  const Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"$id", "modeldoctor-diagnosis-1.0"},
      {"title", "A diagnosis by modeldoctor"},
      {"description", "One run over one model or log. Several runs: {\"runs\": [...]}, or one a line."},
      {"oneOf", Json::array({diagnosis, several})},
      {"$defs", definitions.all()}};
  return schema.dump(2) + "\n";
}

}  // namespace

std::string_view diagnosis_schema() {
  static const std::string schema = make_schema();
  return schema;
}

}  // namespace md
