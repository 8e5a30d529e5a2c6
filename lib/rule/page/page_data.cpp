#include "lib/rule/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "lib/base/nearest.h"
#include "lib/op/dialect.h"
#include "lib/target/target.h"

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
    const std::vector<std::string> known = rule_data_keys();
    for (const auto& [key, value] : json.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        complain(key, fmt::format("unknown key \"{}\"{}", key, did_you_mean(key, known)));
        break;
      }
      field(key)->read(*this, key, value, rule);
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
  using Reader = void (*)(DataReader&, const std::string&, const Json&, Rule&);
  struct Field {
    std::string_view key;
    Reader read;
  };

  template <std::string Rule::*member>
  static void read_text(DataReader& r, const std::string& key, const Json& value, Rule& rule) {
    rule.*member = r.text(key, value);
  }
  template <std::vector<std::string> Rule::*member>
  static void read_texts(DataReader& r, const std::string& key, const Json& value, Rule& rule) {
    rule.*member = r.texts(key, value);
  }
  template <bool Rule::*member>
  static void read_flag(DataReader& r, const std::string& key, const Json& value, Rule& rule) {
    rule.*member = r.flag(key, value);
  }
  template <void (DataReader::*method)(const std::string&, const Json&, Rule&)>
  static void read_by(DataReader& r, const std::string& key, const Json& value, Rule& rule) {
    (r.*method)(key, value, rule);
  }

 public:
  /// The keys of the block; the schema (page_schema.cpp) describes each of them.
  static std::span<const Field> fields() {
    static constexpr Field table[] = {
        {"id", &read_text<&Rule::id>},
        {"severity", &read_by<&DataReader::severity>},
        {"fault", &read_by<&DataReader::fault>},
        {"log", &read_by<&DataReader::signatures>},
        {"graph", &read_flag<&Rule::graph>},
        {"symptom", &read_by<&DataReader::symptom>},
        {"runtimes", &read_by<&DataReader::runtimes>},
        {"stops_fallback", &read_flag<&Rule::stops_fallback>},
        {"applicability", &read_by<&DataReader::applicability>},
        {"exactness", &read_by<&DataReader::exactness>},
        {"judge", &read_by<&DataReader::judge>},
        {"assumes", &read_text<&Rule::assumes>},
        {"drops_checks", &read_text<&Rule::drops_checks>},
        {"references", &read_texts<&Rule::references>},
        {"aliases", &read_texts<&Rule::aliases>},
        {"docs", &read_texts<&Rule::docs>},
        {"fixed_by", &read_text<&Rule::fixed_by>},
        {"setting", &read_text<&Rule::setting>},
        {"formats", &read_by<&DataReader::formats>},
        {"summary", &read_text<&Rule::summary>},
        {"message", &read_text<&Rule::message>},
        {"reason", &read_text<&Rule::reason>},
        {"at_source", &read_text<&Rule::at_source>},
        {"rows", &read_by<&DataReader::rows>},
        {"detector", &read_flag<&Rule::needs_detector>},
        {"roots", &read_by<&DataReader::roots>},
        {"scans", &read_flag<&Rule::scans>},
        {"no_model_example", &read_text<&Rule::no_model_example>},
    };
    return table;
  }

 private:
  static const Field* field(std::string_view key) {
    for (const Field& f : fields())
      if (f.key == key) return &f;
    return nullptr;
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
  void severity(const std::string& key, const Json& value, Rule& rule) {
    const std::string said = one_of(key, value, {"note", "perf", "silent", "fatal"});
    rule.severity = from_word<Severity>(said).value_or(rule.severity);
  }
  void fault(const std::string& key, const Json& value, Rule& rule) {
    const std::string said = one_of(key, value, {"model", "usage", "environment", "versions", "tool-bug"});
    rule.fault = from_word<Blame>(said).value_or(rule.fault);
  }
  void symptom(const std::string& key, const Json& value, Rule& rule) {
    rule.symptom = one_of(key, value, {"zeros", "nan", "wrong", "first-token-right", "degrades", "state"});
  }
  void applicability(const std::string& key, const Json& value, Rule& rule) {
    const std::string said = one_of(key, value, {"safe", "unsafe", "manual"});
    rule.applicability = from_word<Applicability>(said).value_or(rule.applicability);
  }
  void judge(const std::string& key, const Json& value, Rule& rule) {
    rule.judge = one_of(key, value, {"equality", "fp16"}) == "fp16" ? Judge::fp16 : Judge::equality;
  }
  /// One word, or a list where a detector says which it is.
  void exactness(const std::string& key, const Json& value, Rule& rule) {
    const Json words = value.is_array() ? value : Json::array({value});
    rule.exactness.clear();
    for (const Json& item : words) {
      const std::string word = one_of(key, item, {"exact", "rounding", "bounded"});
      rule.exactness.push_back(word == "bounded"    ? Exactness::bounded
                               : word == "rounding" ? Exactness::rounding
                                                    : Exactness::exact);
    }
    if (rule.exactness.empty()) complain(key, "\"exactness\" lists nothing");
  }
  /// Operators, with a did-you-mean where the rule's format has a table of them.
  void roots(const std::string& key, const Json& value, Rule& rule) {
    rule.roots = texts(key, value);
    if (!error_ && rule.roots.empty()) complain(key, "\"roots\" lists nothing");
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
          if (const auto known = target_names();
              std::find(known.begin(), known.end(), range.target) == known.end())
            return complain(
                key, fmt::format("unknown target \"{}\"{}", range.target, did_you_mean(range.target, known)));
        } else if (field == "case") {
          range.part = text(key, content);
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
              fmt::format("unknown key \"{}\" in \"runtimes\"; it has \"target\", \"fails\" and \"case\"",
                          field));
        }
        if (error_) return;
      }
      if (range.target.empty()) return complain(key, "each of \"runtimes\" needs a \"target\"");
      rule.runtimes.push_back(std::move(range));
    }
  }
  void rows(const std::string& key, const Json& value, Rule& rule) {
    if (!value.is_object()) return complain(key, "\"rows\" must be { \"by\": word, \"table\": { ... } }");
    for (const auto& [part, content] : value.items()) {
      if (part == "by")
        rule.rows.by = text(part, content);
      else if (part == "table")
        table(content, rule.rows);
      else
        complain(part, fmt::format("unknown key \"{}\" in \"rows\"; it has \"by\" and \"table\"", part));
      if (error_) return;
    }
    if (rule.rows.by.empty() || rule.rows.table.empty())
      complain(key, "\"rows\" needs \"by\" (the word that is the key) and \"table\"");
  }
  void table(const Json& value, Rows& rows) {
    if (!value.is_object())
      return complain("table", "the \"table\" of \"rows\" must be { key: { word: text }, ... }");
    for (const auto& [key, row] : value.items()) {
      if (!row.is_object()) return complain(key, fmt::format("the row \"{}\" must be {{ word: text }}", key));
      for (const auto& [word, content] : row.items()) rows.table[key][word] = text(word, content);
    }
  }
  void formats(const std::string& key, const Json& value, Rule& rule) {
    for (const std::string& word : texts(key, value)) {
      if (error_) return;
      const Dialect* format = find_dialect(word);
      if (!format)
        return complain(key, fmt::format("\"{}\" is no format; known are {}", word, dialect_names()));
      rule.formats.push_back(format);
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

std::vector<std::string> rule_data_keys() {
  std::vector<std::string> keys;
  for (const auto& field : DataReader::fields()) keys.emplace_back(field.key);
  return keys;
}

Status read_rule_data(const std::string& path, int line, std::string_view json, Rule& rule) {
  return DataReader(path, line, json).read(rule);
}

}  // namespace md
