// One index: what a rule says of a text is the same for `explain` and `log`.
#include <algorithm>

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

}  // namespace

TEST_CASE("a log finds every rule in the messages of its page", "[log][rules]") {
  const RuleIndex index(book());
  for (const Rule& rule : book().rules())
    for (const LogExample& example : rule.log_examples) {
      if (!example.fires) continue;
      INFO(rule.path << ":" << example.line << ": " << example.text);
      const std::vector<const Rule*> known = rules_of_text(example.text, index);
      CHECK(std::find(known.begin(), known.end(), &rule) != known.end());
    }
}

TEST_CASE("what a page says of a log's operator has no open word", "[log][rules]") {
  const RuleIndex index(book());
  for (const Rule& rule : book().rules())
    for (const LogExample& example : rule.log_examples)
      for (const RuleHit& hit : index.hits_with_words(example.text)) {
        const LogWords words = words_from_log(*hit.rule, hit.captures);
        INFO(rule.path << ":" << example.line);
        for (const std::string& text : {words.message, words.reason})
          CHECK(text.find('{') == std::string::npos);
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
