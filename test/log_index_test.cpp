// One index: what a rule says of a text is the same for `explain` and `log`.
#include <algorithm>
#include <set>

#include "lib/diagnose/evidence.h"
#include "lib/diagnose/log_survey.h"
#include "lib/log/status_numbers.h"
#include "lib/rule/page/log_words.h"
#include "test/catch.h"

using namespace md;

namespace {

const RuleBook& book() {
  static const RuleBook loaded = [] {
    auto result = RuleBook::load();
    if (!result) throw std::runtime_error(result.error().message);
    return *std::move(result);
  }();
  return loaded;
}

Log parse(const std::string& text) {
  auto log = parse_log("err.txt", Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  REQUIRE(log);
  return *std::move(log);
}

/// "{word}" that nobody filled in; braces around numbers are the user's shapes.
bool has_open_word(std::string_view text) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > at + 1 && end < text.size() && text[end] == '}') return true;
  }
  return false;
}

}  // namespace

// A page's example is the message; a log tells it in its own order, so one that ends in a traceback is not
// read back from it. Lines that runs without a fault print too are known and no failure by themselves.
// The words of ETX151 lie in two records, the first of which is known in general (ETX128).
const std::set<std::string> kOnlyBesideAFailure = {"LRT109", "LRT117", "ORT123", "ETX151"};

TEST_CASE("a log finds every rule in the messages of its page", "[log][rules]") {
  const RuleIndex index(book());
  int read = 0;
  for (const Rule& rule : book().rules())
    for (const LogExample& example : rule.log_examples) {
      if (!example.fires) continue;
      INFO(rule.path << ":" << example.line << ": " << example.text);
      const std::vector<RuleHit> hits = index.hits_with_words(example.text);
      const auto own =
          std::find_if(hits.begin(), hits.end(), [&](const RuleHit& hit) { return hit.rule == &rule; });
      const bool narrowed = own == hits.end() || !own->speaks;  // another page speaks of this case
      const std::vector<const Rule*> known = rules_of_text(example.text, index);
      if (narrowed) CHECK_FALSE(hits.empty());
      if (narrowed || kOnlyBesideAFailure.contains(rule.id) ||
          example.text.find("\nTraceback (most recent call last)") != std::string::npos)
        continue;
      CHECK(std::find(known.begin(), known.end(), &rule) != known.end());
      ++read;
    }
  CHECK(read > 250);
}

TEST_CASE("what a page says of a log's operator has no open word", "[log][rules]") {
  const RuleIndex index(book());
  for (const Rule& rule : book().rules())
    for (const LogExample& example : rule.log_examples)
      for (const RuleHit& hit : index.hits_with_words(example.text)) {
        const LogWords words = words_from_log(*hit.rule, hit.captures);
        INFO(rule.path << ":" << example.line);
        for (const std::string& text : {words.message, words.reason}) CHECK_FALSE(has_open_word(text));
      }
}

TEST_CASE("a survey says how well each log is understood", "[log]") {
  const RuleIndex index(book());
  const auto known = survey(parse("BROADCAST_TO: Operation is not supported.\n"), index);
  CHECK(known.certainty == Certainty::known);
  const auto placed =
      survey(parse("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Frobnication went wrong\n"), index);
  CHECK(placed.certainty == Certainty::placed);
  CHECK(placed.tool == "onnxruntime");
  CHECK(survey(parse("RuntimeError: frobnication went wrong\n"), index).certainty == Certainty::unknown);
  CHECK(survey(parse("Model saved to out.pt\n"), index).certainty == Certainty::no_failure);
  const std::string table = survey_table({known, placed});
  CHECK(table.find("onnxruntime") != std::string::npos);
  CHECK(table.find("Frobnication went wrong") != std::string::npos);
}

TEST_CASE("status numbers and names are explained", "[log]") {
  CHECK(statuses_named("0x12").size() == 1);
  CHECK(statuses_named("INVALID_GRAPH").size() == 1);
  CHECK(statuses_named("RuntimeError").empty());
  CHECK(statuses_named("").empty());
}
