// Predictions against what the real accelerator said of small models (fixtures/targets/verdicts.tsv,
// measured).
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "lib/graph/document.h"
#include "lib/target/target.h"
#include "test/catch.h"
#include "test/paths.h"

using namespace md;

namespace {

struct Measured {
  std::string model, verdict;
  std::vector<std::string> versions;
  std::set<std::string> lines;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.pop_back();
  return text;
}

std::vector<Measured> measured() {
  std::ifstream file(test::fixture("targets/verdicts.tsv"));
  std::vector<Measured> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> columns = split(line, '\t');
    Measured row{columns.at(0), columns.at(2), split(columns.at(1), ','), {}};
    for (std::size_t i = 3; i < columns.size(); ++i) row.lines.insert(trimmed(columns[i]));
    rows.push_back(row);
  }
  return rows;
}

/// Lines of the delegate's list; kernel failures and aborts are told in other words.
bool is_operator_line(const PredictedRecord& record) {
  return !record.hidden &&
         (record.text.rfind("CUSTOM ", 0) == 0 || record.text.find(": ") < record.text.find(' ')) &&
         record.text.rfind("INVALID_ARGUMENT", 0) != 0;
}

}  // namespace

TEST_CASE("predictions are what the real accelerator says", "[target]") {
  const std::vector<Measured> rows = measured();
  REQUIRE(rows.size() > 200);
  for (const Measured& row : rows) {
    auto document = open_document(test::fixture("targets/" + row.model + ".tflite"));
    REQUIRE(document);
    for (const std::string& version : row.versions) {
      INFO(row.model << " on " << version << ", really " << row.verdict);
      const auto target = open_target("litert-gpu@" + version);
      REQUIRE(target);
      const Prediction prediction = (*target)->predict((*document)->model());
      std::set<std::string> lines;
      for (const PredictedRecord& record : prediction.records)
        if (is_operator_line(record)) lines.insert(trimmed(record.text));
      CHECK((prediction.verdict == Prediction::Verdict::compiles) == (row.verdict == "compiles"));
      if (row.verdict != "crash") CHECK(lines == row.lines);
    }
  }
}

TEST_CASE("records name nodes, tensors and hidden faults", "[target]") {
  auto document = open_document(test::fixture("targets/probe_tr_TRANSPOSE_f32_r5.tflite"));
  REQUIRE(document);
  const Model& model = (*document)->model();
  const auto target = open_target("litert-gpu@2.3.0");
  REQUIRE(target);
  const Prediction prediction = (*target)->predict(model);
  REQUIRE(prediction.records.size() >= 2);
  CHECK(prediction.records[0].text == "TRANSPOSE: Permutation for transpose is invalid.");
  CHECK_FALSE(prediction.records[0].hidden);
  CHECK(prediction.records[0].node == 0);
  CHECK(std::all_of(prediction.records.begin() + 1, prediction.records.end(),
                    [](const auto& r) { return r.hidden; }));
  CHECK(prediction.records.back().value == model.graphs[0].node(0).inputs[0]);
  CHECK((*target)->predict_node(model, 0, 0).size() == prediction.records.size());
}

TEST_CASE("the line of fp16 constants is benign and comes only with a refusal", "[target]") {
  const auto target = open_target("litert-gpu@2.3.0");
  for (const auto& [name, lines] :
       std::map<std::string, int>{{"probe_dq_fc_f16", 0}, {"probe_dq_exp_f16", 1}}) {
    auto document = open_document(test::fixture("targets/" + name + ".tflite"));
    REQUIRE(document);
    const Prediction prediction = (*target)->predict((*document)->model());
    CHECK(std::count_if(prediction.records.begin(), prediction.records.end(),
                        [](const auto& r) { return r.benign && r.text == "DEQUANTIZE: "; }) == lines);
  }
}
