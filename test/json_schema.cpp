#include "test/json_schema.h"

namespace md::test {
namespace {

using Json = nlohmann::json;

class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  void check(const Json& schema, const Json& value, const std::string& at) {
    if (schema.contains("$ref"))
      return check(root_.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, at);
    if (schema.contains("type") && !has_type(schema["type"], value))
      return complain(at, "has another type than " + schema["type"].dump());
    if (schema.contains("enum") && !contains(schema["enum"], value))
      return complain(at, value.dump() + " is none of " + schema["enum"].dump());
    if (schema.contains("const") && schema["const"] != value)
      return complain(at, "is not " + schema["const"].dump());
    if (schema.contains("minimum") && value.is_number() && value < schema["minimum"])
      complain(at, "is too small");
    if (schema.contains("pattern") && value.is_string())
      check_prefix(schema["pattern"].get<std::string>(), value.get<std::string>(), at);
    if (schema.contains("anyOf") && matching(schema["anyOf"], value) == 0)
      complain(at, "matches none of anyOf");
    if (schema.contains("oneOf") && matching(schema["oneOf"], value) != 1)
      complain(at, "does not match exactly one of oneOf");
    if (value.is_object()) check_object(schema, value, at);
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        check(schema["items"], value[i], at + "/" + std::to_string(i));
  }
  std::vector<std::string> violations;

 private:
  void complain(const std::string& at, const std::string& what) {
    violations.push_back((at.empty() ? "/" : at) + ": " + what);
  }

  static bool contains(const Json& list, const Json& value) {
    for (const Json& item : list)
      if (item == value) return true;
    return false;
  }
  static bool has_type(const Json& type, const Json& value) {
    if (type.is_array()) {
      for (const Json& one : type)
        if (has_type(one, value)) return true;
      return false;
    }
    const std::string name = type.get<std::string>();
    return (name == "object" && value.is_object()) || (name == "array" && value.is_array()) ||
           (name == "string" && value.is_string()) || (name == "integer" && value.is_number_integer()) ||
           (name == "number" && value.is_number()) || (name == "boolean" && value.is_boolean()) ||
           (name == "null" && value.is_null());
  }
  void check_prefix(std::string pattern, const std::string& text, const std::string& at) {
    std::erase(pattern, '\\');
    if (!pattern.starts_with("^") || !text.starts_with(pattern.substr(1)))
      complain(at, "does not match " + pattern);
  }
  int matching(const Json& schemas, const Json& value) {
    int count = 0;
    for (const Json& schema : schemas) {
      Validator inner(root_);
      inner.check(schema, value, "");
      count += inner.violations.empty() ? 1 : 0;
    }
    return count;
  }
  void check_object(const Json& schema, const Json& value, const std::string& at) {
    const Json properties = schema.value("properties", Json::object());
    for (const Json& key : schema.value("required", Json::array()))
      if (!value.contains(key.get<std::string>())) complain(at, "lacks " + key.dump());
    for (const auto& [key, item] : value.items()) {
      if (properties.contains(key))
        check(properties[key], item, at + "/" + key);
      else if (schema.contains("additionalProperties") && schema["additionalProperties"] == false)
        complain(at, "has the unknown field " + key);
    }
  }
  const Json& root_;
};

}  // namespace

std::vector<std::string> schema_violations(const Json& schema, const Json& value) {
  Validator validator(schema);
  validator.check(schema, value, "");
  return validator.violations;
}

}  // namespace md::test
