#include "lib/rule/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/nearest.h"

namespace md {
namespace {

using Json = nlohmann::json;

/// Reads one JSON block key by key and remembers the first error.
class DataReader {
 public:
  DataReader(const std::string& path, int line, std::string_view text)
      : path_(path), line_(line), text_(text) {}

  Status read(Rule& rule) {
    Json json;
    try {
      json = Json::parse(text_);
    } catch (const Json::parse_error& error) {  // the only way to learn where; it stays in this function
      return input_error(fmt::format("{}:{}: this JSON cannot be read: {}", path_, line_at(error.byte),
                                     reason(error.what())));
    }
    if (!json.is_object())
      return input_error(fmt::format("{}:{}: expected a JSON object {{ ... }}", path_, line_));
    const std::vector<std::string> known = {
        "id",       "severity",        "log",       "graph",      "symptom",
        "runtimes", "applicability",   "exactness", "references", "aliases",
        "docs",     "fixed_by",        "setting",   "formats",    "summary",
        "detector", "no_model_example"};
    for (const auto& [key, value] : json.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        complain(key, fmt::format("unknown key \"{}\"{}", key, did_you_mean(key, known)));
        break;
      }
      read_field(key, value, rule);
      if (error_) break;
    }
    if (error_) return tl::make_unexpected(*error_);
    for (const char* key : {"id", "severity", "references"})
      if (!json.contains(key))
        return input_error(fmt::format("{}:{}: the rule has no \"{}\"", path_, line_, key));
    if (rule.references.empty())
      return input_error(
          fmt::format("{}:{}: \"references\" needs at least one address", path_, line_of("references")));
    return {};
  }

 private:
  void read_field(const std::string& key, const Json& value, Rule& rule) {
    if (key == "id")
      rule.id = text(key, value);
    else if (key == "severity")
      rule.severity = severity(key, value);
    else if (key == "log")
      signatures(key, value, rule);
    else if (key == "graph")
      rule.graph = flag(key, value);
    else if (key == "symptom")
      rule.symptom = one_of(key, value, {"zeros", "nan", "wrong", "first-token-right", "degrades", "state"});
    else if (key == "runtimes")
      runtimes(key, value, rule);
    else if (key == "applicability")
      rule.applicability = one_of(key, value, {"safe", "unsafe", "manual"});
    else if (key == "exactness")
      rule.exactness = exactness(key, value);
    else if (key == "references")
      rule.references = texts(key, value);
    else if (key == "aliases")
      rule.aliases = texts(key, value);
    else if (key == "docs")
      rule.docs = texts(key, value);
    else if (key == "fixed_by")
      rule.fixed_by = text(key, value);
    else if (key == "setting")
      rule.setting = text(key, value);
    else if (key == "formats")
      formats(key, value, rule);
    else if (key == "summary")
      rule.summary = text(key, value);
    else if (key == "detector")
      rule.needs_detector = flag(key, value);
    else if (key == "no_model_example")
      rule.no_model_example = text(key, value);
  }

  std::string text(const std::string& key, const Json& value) {
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value.get<std::string>();
    complain(key, fmt::format("\"{}\" must be a text", key));
    return {};
  }
  bool flag(const std::string& key, const Json& value) {
    if (value.is_boolean()) return value.get<bool>();
    complain(key, fmt::format("\"{}\" must be true or false", key));
    return false;
  }
  std::vector<std::string> texts(const std::string& key, const Json& value) {
    std::vector<std::string> out;
    if (value.is_array())
      for (const Json& item : value) out.push_back(text(key, item));
    else
      complain(key, fmt::format("\"{}\" must be a list of texts", key));
    return out;
  }
  std::string one_of(const std::string& key, const Json& value, const std::vector<std::string>& words) {
    const std::string word = text(key, value);
    if (!error_ && std::find(words.begin(), words.end(), word) == words.end())
      complain(key, fmt::format("\"{}\" must be one of {}, not \"{}\"", key, fmt::join(words, ", "), word));
    return word;
  }
  Severity severity(const std::string& key, const Json& value) {
    const std::string word = one_of(key, value, {"note", "perf", "silent", "fatal"});
    for (const Severity s : {Severity::note, Severity::perf, Severity::silent, Severity::fatal})
      if (name(s) == word) return s;
    return Severity::fatal;
  }
  Exactness exactness(const std::string& key, const Json& value) {
    const std::string word = one_of(key, value, {"exact", "rounding", "bounded"});
    return word == "bounded"    ? Exactness::bounded
           : word == "rounding" ? Exactness::rounding
                                : Exactness::exact;
  }
  void signatures(const std::string& key, const Json& value, Rule& rule) {
    for (const std::string& template_text : texts(key, value)) {
      if (error_) return;
      auto signature = Signature::compile(template_text);
      if (!signature)
        return complain(key, fmt::format("signature \"{}\": {}", template_text, signature.error().message));
      rule.log.push_back(std::move(*signature));
    }
  }
  void runtimes(const std::string& key, const Json& value, Rule& rule) {
    if (!value.is_array())
      return complain(key, "\"runtimes\" must be a list of { \"target\": ..., \"fails\": ... }");
    for (const Json& item : value) {
      if (!item.is_object())
        return complain(key, "each of \"runtimes\" must be { \"target\": ..., \"fails\": ... }");
      RuntimeRange range;
      for (const auto& [field, content] : item.items()) {
        if (field == "target") {
          range.target = text(key, content);
        } else if (field == "fails") {
          const std::string versions = text(key, content);
          const auto parsed = VersionRange::parse(versions);
          if (!parsed)
            return complain(
                key,
                fmt::format(
                    "\"fails\": \"{}\" is no version range; write \">=2.1.5 <2.3\", \"==2.1.3\" or \"*\"",
                    versions));
          range.fails = *parsed;
        } else {
          return complain(
              field,
              fmt::format("unknown key \"{}\" in \"runtimes\"; it has \"target\" and \"fails\"", field));
        }
        if (error_) return;
      }
      if (range.target.empty()) return complain(key, "each of \"runtimes\" needs a \"target\"");
      rule.runtimes.push_back(std::move(range));
    }
  }
  void formats(const std::string& key, const Json& value, Rule& rule) {
    for (const std::string& word : texts(key, value)) {
      if (error_) return;
      const auto format = format_from_name(word);
      if (!format)
        return complain(key, fmt::format("\"{}\" is no format; known are tflite, onnx, pt2, pte", word));
      rule.formats.push_back(*format);
    }
  }

  int line_at(std::size_t byte) const {
    return line_ + static_cast<int>(std::count(text_.begin(),
                                               text_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                   byte ? byte - 1 : 0, text_.size())),
                                               '\n'));
  }
  int line_of(const std::string& key) const {
    const std::size_t at = text_.find("\"" + key + "\"");
    return at == std::string_view::npos ? line_ : line_at(at + 1);
  }
  void complain(const std::string& key, std::string what) {
    if (!error_) error_ = Error{Error::Kind::input, fmt::format("{}:{}: {}", path_, line_of(key), what)};
  }
  /// nlohmann's text without its "[json.exception...] parse error at line 1, column 2:" prefix.
  static std::string reason(std::string_view what) {
    const std::size_t colon = what.find(": ");
    return std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
  }

  const std::string& path_;
  int line_;
  std::string_view text_;
  std::optional<Error> error_;
};

}  // namespace

Status read_rule_data(const std::string& path, int line, std::string_view json, Rule& rule) {
  return DataReader(path, line, json).read(rule);
}

}  // namespace md
