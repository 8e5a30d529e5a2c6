// What a page says of a line of a log is about the operator that the line names.
#include <algorithm>
#include <string>

#include "lib/rule/page/specificity.h"
#include "test/catch.h"

using namespace md;

namespace {

const RuleBook& all_pages() {
  static const RuleBook book = *RuleBook::load();
  return book;
}

Signature compiled(std::string_view text) { return *Signature::compile(text); }

/// "aten.dropout.*" -> "aten.dropout": what a sentence would call it.
std::string bare(std::string key) {
  while (key.ends_with('*') || key.ends_with('.') || key.ends_with(':')) key.pop_back();
  return key;
}

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

/// True when the sentence has the word, and not as a part of a longer one.
bool says(const std::string& sentence, const std::string& word) {
  for (std::size_t at = sentence.find(word); at != std::string::npos; at = sentence.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_name_letter(sentence[at - 1])) &&
        (end == sentence.size() || !is_name_letter(sentence[end])))
      return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a signature narrows the one that it writes out", "[rules]") {
  const Signature general = compiled("Lowering not found: {op:word}");
  CHECK(narrows(compiled("Lowering not found: aten.polar"), general));
  CHECK(narrows(compiled("Lowering not found: aten.{op=complex|polar}"), general));
  CHECK_FALSE(narrows(general, general));
  CHECK_FALSE(narrows(general, compiled("Lowering not found: aten.polar")));
  CHECK_FALSE(narrows(compiled("NHWC node rewriter not found: amax"), general));
}

TEST_CASE("a page that knows a message in general is silent where another knows the case", "[rules]") {
  const auto ids = [](std::string_view message) {
    std::vector<std::string> found;
    for (const Rule* rule : all_pages().explain(message)) found.push_back(rule->id);
    return found;
  };
  CHECK(ids("RuntimeError: Lowering not found: aten.polar.default") == std::vector<std::string>{"LTC003"});
  CHECK(ids("RuntimeError: Lowering not found: aten.histc.default") == std::vector<std::string>{"LTC104"});
  CHECK(ids("LOG_SOFTMAX: Operation is not supported.") == std::vector<std::string>{"LRT038"});
  CHECK(ids("SPLIT: Operation is not supported.") == std::vector<std::string>{"LRT105"});
}

TEST_CASE("the rows of a page are reached by what its signatures capture", "[rules]") {
  int pages = 0;
  for (const Rule& rule : all_pages().rules()) {
    if (rule.rows.by.empty() || rule.log.empty() || !rule.rewrites.empty() || rule.detector) continue;
    INFO(rule.id << " by " << rule.rows.by);
    ++pages;
    bool reached = false;
    for (const LogExample& example : rule.log_examples)
      for (const Signature& signature : rule.log) {
        const auto hit = example.fires ? signature.match(example.text) : std::nullopt;
        if (!hit || !hit->captures.contains(rule.rows.by)) continue;
        CHECK(rule.rows.find(hit->captures.find(rule.rows.by)->second));
        reached = true;
      }
    CHECK(reached);
    if (rule.rows.by == "op") CHECK(rule.rows.find("an operator of tomorrow"));
  }
  CHECK(pages >= 20);
}

TEST_CASE("a row names its own operator, no other row's", "[rules]") {
  for (const Rule& rule : all_pages().rules()) {
    if (rule.rows.by != "op") continue;
    for (const auto& [key, row] : rule.rows.table) {
      const auto message = row.find("message");
      if (message == row.end()) continue;
      for (const auto& [other, unused] : rule.rows.table) {
        if (other == key || other == "otherwise" || bare(key).find(bare(other)) != std::string::npos)
          continue;
        INFO(rule.id << ": the row of " << key << " speaks of " << other);
        CHECK_FALSE(says(message->second, bare(other)));
      }
    }
  }
}
