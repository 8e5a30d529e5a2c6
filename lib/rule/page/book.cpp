// All rules together: the embedded pages and those of the user's directories.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/embedded.h"
#include "lib/base/mapped_file.h"
#include "lib/base/nearest.h"
#include "lib/rule/page/page_files.h"
#include "lib/rule/page/rule.h"
#include "lib/rule/page/specificity.h"

namespace md {
namespace {

bool is_page(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return file.ends_with(".md") && file != "README.md" && file != "INDEX.md";
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// FNV-1a: a fingerprint of the pages, not a defence.
std::uint64_t fingerprint(const std::vector<Rule>& rules) {
  std::uint64_t hash = 1469598103934665603u;
  for (const Rule& rule : rules)
    for (const char c : rule.markdown) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

Result<std::vector<std::string>> rule_page_files(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> paths;
  std::filesystem::recursive_directory_iterator it(directory, error), end;
  for (; !error && it != end; it.increment(error))
    if (it->is_regular_file(error) && is_page(it->path().string())) paths.push_back(it->path().string());
  if (error)
    return usage_error(fmt::format("{}: cannot read this rules directory: {}", directory, error.message()));
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<RuleBook> RuleBook::load(const std::vector<std::string>& user_directories) {
  RuleBook book;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!is_page(file.path)) continue;
    auto rule = parse_rule(std::string(file.path), file.text);
    if (!rule) return tl::make_unexpected(rule.error());
    book.rules_.push_back(std::move(*rule));
  }
  for (const std::string& directory : user_directories) {
    auto paths = rule_page_files(directory);
    if (!paths) return tl::make_unexpected(paths.error());
    for (const std::string& path : *paths) {
      auto file = MappedFile::open(path);
      if (!file) return tl::make_unexpected(file.error());
      const Bytes bytes = (*file)->bytes();
      auto rule = parse_rule(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      if (!rule) return tl::make_unexpected(rule.error());
      book.rules_.push_back(std::move(*rule));
    }
  }
  std::stable_sort(book.rules_.begin(), book.rules_.end(),
                   [](const Rule& a, const Rule& b) { return a.id < b.id; });
  std::map<std::string, const Rule*> names;
  for (const Rule& rule : book.rules_) {
    std::vector<std::string> own = {rule.id, rule.name};
    own.insert(own.end(), rule.aliases.begin(), rule.aliases.end());
    for (const std::string& word : own) {
      const auto [known, is_new] = names.emplace(lower(word), &rule);
      if (!is_new && known->second != &rule)
        return input_error(
            fmt::format("{}:1: \"{}\" is taken: {} has it already", rule.path, word, known->second->path));
    }
  }
  return book;
}

const Rule* RuleBook::find(std::string_view text) const {
  const std::string wanted = lower(text);
  for (const Rule& rule : rules_) {
    if (lower(rule.id) == wanted || lower(rule.name) == wanted) return &rule;
    for (const std::string& alias : rule.aliases)
      if (lower(alias) == wanted) return &rule;
  }
  return nullptr;
}

Error RuleBook::unknown_rule(std::string_view text) const {
  std::vector<std::string> known;
  for (const Rule& rule : rules_) {
    known.push_back(rule.id);
    known.push_back(rule.name);
    known.insert(known.end(), rule.aliases.begin(), rule.aliases.end());
  }
  return {Error::Kind::usage, fmt::format("there is no rule \"{}\"{}; `modeldoctor rules` lists them", text,
                                          did_you_mean(text, known))};
}

std::vector<const Rule*> RuleBook::explain(std::string_view message) const {
  std::vector<SignatureOwner> hits;
  for (const Rule& rule : rules_)
    for (const Signature& signature : rule.log)
      if (signature.match(message)) hits.push_back({&rule, &signature});
  return most_specific(std::move(hits));
}

std::string RuleBook::version() const { return fmt::format("{:016x}", fingerprint(rules_)); }

std::vector<std::string> overlapping_signatures(const std::vector<Rule>& rules) {
  std::vector<std::string> overlaps;
  for (const Rule& rule : rules)
    for (const Rule& other : rules) {
      if (&rule == &other) continue;
      for (const LogExample& example : other.log_examples) {
        if (!example.fires) continue;
        // Two causes of one message (GATHER_ND has four rules) both claim it: then the graph decides between
        // them.
        const bool shared =
            std::any_of(rule.log_examples.begin(), rule.log_examples.end(),
                        [&](const LogExample& own) { return own.fires && own.text == example.text; });
        // A page of its own for a case that another page knows in general speaks alone.
        const auto narrowed = [&](const Signature& wider) {
          return std::any_of(other.log.begin(), other.log.end(), [&](const Signature& own) {
            return narrows(own, wider) && own.match(example.text);
          });
        };
        for (const Signature& signature : rule.log)
          if (!shared && signature.match(example.text) && !narrowed(signature))
            overlaps.push_back(
                fmt::format("{}:1: the signature \"{}\" also hits the log example of {} ({}:{}); narrow it, "
                            "or claim the message with the same ```log fires block",
                            rule.path, signature.text(), other.id, other.path, example.line));
      }
    }
  return overlaps;
}

}  // namespace md
