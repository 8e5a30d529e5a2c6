// Which models the accelerator computes wrong, as measured: the tables of fusions, ranks and channels that
// the silent rules hold, each pair with what the real runtime did.
#include <fmt/format.h>

#include "lib/rewrite/output_hazard.h"
#include "test/detector_check.h"

namespace md {
const auto LRT008 = [](const DetectContext& context) { return detector_check::by_rule("LRT008", context); };
const auto LRT013 = [](const DetectContext& context) { return detector_check::by_rule("LRT013", context); };
const auto LRT020 = [](const DetectContext& context) { return detector_check::by_rule("LRT020", context); };
const auto LRT023 = [](const DetectContext& context) { return detector_check::by_rule("LRT023", context); };
const auto LRT025 = [](const DetectContext& context) { return detector_check::by_rule("LRT025", context); };
const auto LRT026 = [](const DetectContext& context) { return detector_check::by_rule("LRT026", context); };
}  // namespace md

using namespace detector_check;

namespace {

bool fires(std::string_view text, Detector detect, const Target* target = nullptr) {
  const Model model = parse(text);
  const DetectContext context{model, 0, model.graphs[0], target};
  const auto found = detect(context);
  return std::any_of(found.begin(), found.end(),
                     [](const DetectResult& r) { return r.state == DetectResult::State::matched; });
}

/// The hazard of %t, which `producer` makes of %x and `reader` reads into %u: "", "merged", "reduced" or
/// "linked".
std::string hazard(const std::string& producer, const std::string& reader) {
  const std::string text =
      "input %x : f32[1, 8, 8, 4]\ninput %z : f32[1, 8, 8, 4]\nconst %one : f32[] = [1.0]\nconst %w : f32[4, "
      "1, 1, 4] = random(1)\n"
      "const %v : f32[4, 4] = random(2)\nconst %b : f32[4] = random(3)\nconst %f : f32[1, 8, 8, 4] = "
      "random(4)\nconst %axes : i32[1] = [3]\n"
      "const %to : i32[4] = [1, 8, 8, 4]\n%t = " +
      producer + "\n%u = " + reader + "\noutput %t\noutput %u\n";
  const Model model = parse(text);
  const Graph& graph = model.graphs[0];
  const auto found = output_hazard(graph, graph.outputs[0]);
  if (!found) return "";
  return found->kind == OutputHazard::Kind::merged_scale     ? "merged"
         : found->kind == OutputHazard::Kind::reduced_sum    ? "reduced"
         : found->kind == OutputHazard::Kind::merged_padding ? "padding"
                                                             : "linked";
}

const std::string conv =
    "CONV_2D(%x, %w, %b) { padding = SAME, stride_w = 1, stride_h = 1 } : f32[1, 8, 8, 4]";
const std::string relu_conv =
    "CONV_2D(%x, %w, %b) { padding = SAME, stride_w = 1, stride_h = 1, fused_activation_function = RELU } : "
    "f32[1, 8, 8, 4]";
const std::string sum = "ADD(%x, %z) : f32[1, 8, 8, 4]";

}  // namespace

TEST_CASE("outputs that vanish in a fusion", "[silent]") {
  const std::string scaled = "MUL(%t, %one) : f32[1, 8, 8, 4]", doubled = "ADD(%t, %t) : f32[1, 8, 8, 4]",
                    tanh = "TANH(%t) : f32[1, 8, 8, 4]";
  const std::string mean = "MEAN(%t, %axes) { keep_dims = true } : f32[1, 8, 8, 1]",
                    softmax = "SOFTMAX(%t) : f32[1, 8, 8, 4]";
  const std::string read_by_conv =
      "CONV_2D(%t, %w, %b) { padding = SAME, stride_w = 1, stride_h = 1 } : f32[1, 8, 8, 4]";
  struct Row {
    std::string producer, reader, expected;
  };
  const Row rows[] = {
      {conv, scaled, "merged"},
      {conv, "MUL(%b, %t) : f32[1, 8, 8, 4]", "merged"},
      {conv, doubled, "merged"},
      {conv, "MUL(%t, %t) : f32[1, 8, 8, 4]", "linked"},
      {conv, "MUL(%t, %f) : f32[1, 8, 8, 4]", "linked"},
      {conv, tanh, "linked"},
      {conv, read_by_conv, ""},
      {relu_conv, scaled, "linked"},
      {"FULLY_CONNECTED(%x, %v, %b) { keep_num_dims = true } : f32[1, 8, 8, 4]", scaled, "merged"},
      {"BATCH_MATMUL(%x, %v) : f32[1, 8, 8, 4]", scaled, "merged"},
      {"MUL(%x, %b) : f32[1, 8, 8, 4]", read_by_conv, "merged"},
      {"MUL(%x, %f) : f32[1, 8, 8, 4]", read_by_conv, ""},
      {"ADD(%x, %b) : f32[1, 8, 8, 4]", read_by_conv, "merged"},
      {"SUB(%x, %one) : f32[1, 8, 8, 4]", read_by_conv, ""},
      {sum, mean, "reduced"},
      {sum, tanh, "linked"},
      {sum, softmax, ""},
      {sum, read_by_conv, ""},
      {"SUB(%x, %z) : f32[1, 8, 8, 4]", mean, ""},
      {"RELU(%x) : f32[1, 8, 8, 4]", "SUB(%t, %z) : f32[1, 8, 8, 4]", "linked"},
      {"RELU(%x) : f32[1, 8, 8, 4]", "SUB(%z, %t) : f32[1, 8, 8, 4]", ""},
      {"RELU(%x) : f32[1, 8, 8, 4]", "ADD(%z, %t) : f32[1, 8, 8, 4]", "linked"},
      {"RESHAPE(%x, %to) : f32[1, 8, 8, 4]", tanh, ""},
  };
  for (const Row& row : rows) {
    INFO(row.producer << " -> " << row.reader);
    CHECK(hazard(row.producer, row.reader) == row.expected);
  }
}

TEST_CASE("padding that is an output and merged into its reader", "[silent]") {
  const std::string conv =
      "CONV_2D(%t, %w, %b) { padding = SAME, stride_w = 1, stride_h = 1 } : f32[1, 8, 8, 4]";
  struct Row {
    const char* widths;
    std::string reader;
    bool lost;
  };
  const Row rows[] = {
      {"0, 0, 1, 1, 1, 1, 0, 0", conv, true},
      {"0, 0, 2, 0, 2, 0, 0, 0", conv, true},
      {"0, 0, 1, 1, 1, 1, 0, 0", "FULLY_CONNECTED(%t, %v, %b) { keep_num_dims = true } : f32[1, 8, 8, 4]",
       true},
      {"0, 0, 1, 1, 1, 1, 0, 0",
       "MAX_POOL_2D(%t) { padding = SAME, stride_w = 1, stride_h = 1, filter_width = 3, filter_height = 3 } "
       ": "
       "f32[1, 8, 8, 4]",
       true},
      {"0, 0, 1, 1, 1, 1, 0, 0", "ADD(%t, %z) : f32[1, 8, 8, 4]", false},
      {"0, 0, 1, 1, 1, 1, 0, 0", "RELU(%t) : f32[1, 8, 8, 4]", false},
      {"0, 0, 2, 0, 2, 0, 0, 2", conv, false},
      {"0, 0, 2, 0, 2, 0, 0, 2", "ADD(%t, %z) : f32[1, 8, 8, 4]", false},
      {"0, 0, 0, 0, 0, 0, 0, 2", conv, false},
      {"0, 0, 0, 0, 0, 0, 0, 2", "ADD(%z, %t) : f32[1, 8, 8, 4]", true},
      {"0, 0, 0, 0, 0, 0, 2, 0", "ADD(%z, %t) : f32[1, 8, 8, 4]", false},
      {"0, 0, 0, 0, 0, 0, 0, 2", "ADD(%t, %b) : f32[1, 8, 8, 4]", false},
  };
  for (const Row& row : rows) {
    INFO(row.widths << " -> " << row.reader);
    const std::string widths = row.widths;
    const bool channels = widths.ends_with("2") || widths.ends_with("2, 0"),
               places = widths.find("1, 1") != widths.npos || widths.find("0, 0, 2, 0") == 0;
    const std::string input = fmt::format("f32[1, {0}, {0}, {1}]", places ? 6 : 8, channels ? 2 : 4);
    const Model model =
        parse(fmt::format("input %x : {}\ninput %z : f32[1, 8, 8, 4]\nconst %p : i32[4, 2] = [{}]\nconst %w "
                          ": f32[4, 1, 1, 4] = "
                          "random(1)\nconst %v : f32[4, 4] = random(2)\nconst %b : f32[4] = random(3)\n%t = "
                          "PAD(%x, %p) : f32[1, 8, 8, "
                          "4]\n%u = {}\noutput %t\noutput %u",
                          input, widths, row.reader));
    const auto found = output_hazard(model.graphs[0], model.graphs[0].outputs[0]);
    const bool lost = found && found->kind == OutputHazard::Kind::merged_padding;
    CHECK(lost == row.lost);
  }
}

TEST_CASE("a second reader keeps an output alive", "[silent]") {
  const Model model = parse(R"(input %x : f32[1, 4]
input %z : f32[1, 4]
%t = ADD(%x, %z) : f32[1, 4]
%u = TANH(%t) : f32[1, 4]
%v = RELU(%t) : f32[1, 4]
output %t
output %u
output %v)");
  CHECK_FALSE(output_hazard(model.graphs[0], model.graphs[0].outputs[0]));
}

TEST_CASE("two computed operands of different rank, before 2.2.0", "[silent]") {
  struct Row {
    const char *a, *b, *out;
    bool wrong;
  };
  const Row rows[] = {
      {"4, 8, 8", "1, 1, 8, 8", "1, 4, 8, 8", true},  {"1, 1, 8, 8", "4, 8, 8", "1, 4, 8, 8", true},
      {"4, 8, 8", "1, 4, 8, 8", "1, 4, 8, 8", false}, {"1, 8, 8", "1, 4, 8, 8", "1, 4, 8, 8", true},
      {"1, 4, 8, 8", "1, 8, 8", "1, 4, 8, 8", false}, {"8, 8", "1, 8, 8", "1, 8, 8", false},
      {"8, 8", "1, 1, 8", "1, 8, 8", true},           {"1, 1, 8, 8", "8, 8", "1, 1, 8, 8", false},
      {"1, 8", "1, 4, 8", "1, 4, 8", true},           {"1, 4, 8", "1, 8", "1, 4, 8", false},
      {"4, 1, 8", "1, 1, 4, 8", "1, 4, 4, 8", true},  {"1, 1, 4, 8", "4, 1, 8", "1, 4, 4, 8", false},
      {"2, 1, 8, 8", "1, 8, 8", "2, 1, 8, 8", true},  {"4, 8, 8", "1, 1, 1, 8", "1, 4, 8, 8", false},
      {"4, 8, 1", "1, 1, 8, 8", "1, 4, 8, 8", false}, {"4, 8", "4, 1, 8", "4, 4, 8", true},
      {"1, 4, 1, 8", "4, 8, 8", "1, 4, 8, 8", false}, {"8", "1, 8", "1, 8", false}};
  auto old_runtime = open_target("litert-gpu@2.1.5"), new_runtime = open_target("litert-gpu@2.3.0");
  REQUIRE(old_runtime);
  REQUIRE(new_runtime);
  for (const Row& row : rows) {
    const std::string text =
        fmt::format("input %a : f32[{}]\ninput %b : f32[{}]\n%y = ADD(%a, %b) : f32[{}]\noutput %y\n", row.a,
                    row.b, row.out);
    INFO(text);
    CHECK(fires(text, LRT013, old_runtime->get()) == row.wrong);
    CHECK_FALSE(fires(text, LRT013, new_runtime->get()));
  }
}

TEST_CASE("grouped convolutions need fours on both sides", "[silent]") {
  const std::tuple<int, int, int, bool> rows[] = {
      {4, 2, 4, true},   {8, 2, 8, false},   {12, 3, 12, false}, {24, 2, 8, false}, {8, 2, 6, true},
      {16, 4, 12, true}, {32, 8, 32, false}, {10, 2, 4, true},   {4, 4, 8, true},   {3, 3, 6, true}};
  for (const auto& [channels, groups, outputs, wrong] : rows) {
    const std::string text = fmt::format(
        "input %x : f32[1, 6, 6, {0}]\nconst %w : f32[{1}, 3, 3, {2}] = random(1)\nconst %b : f32[{1}] = "
        "random(2)\n"
        "%y = CONV_2D(%x, %w, %b) {{ padding = SAME, stride_w = 1, stride_h = 1 }} : f32[1, 6, 6, "
        "{1}]\noutput %y\n",
        channels, outputs, channels / groups);
    INFO(text);
    CHECK(fires(text, LRT025) == wrong);
  }
}

TEST_CASE("transposed convolutions that are shifted", "[silent]") {
  // kernel, stride, input length: measured on the accelerator for every row
  const std::tuple<int, int, int, bool> rows[] = {{16, 8, 10, true}, {8, 4, 10, true},  {7, 3, 10, true},
                                                  {5, 3, 10, true},  {8, 4, 12, false}, {4, 2, 10, false},
                                                  {6, 2, 7, false}};
  for (const auto& [kernel, stride, length, wrong] : rows) {
    const std::string text = fmt::format(
        "input %x : f32[1, 1, {0}, 2]\nconst %s : i32[4] = [1, 1, {1}, 3]\nconst %w : f32[3, 1, {2}, 2] = "
        "random(1)\n"
        "%y = TRANSPOSE_CONV(%s, %w, %x) {{ padding = SAME, stride_w = {3}, stride_h = 1 }} : f32[1, 1, {1}, "
        "3]\noutput %y\n",
        length, length * stride, kernel, stride);
    INFO(text);
    CHECK(fires(text, LRT008) == wrong);
  }
}

TEST_CASE("matrix products that are not broadcast", "[silent]") {
  struct Row {
    const char *a, *b, *out;
    bool constant, transposed, wrong;
  };
  const Row rows[] = {{"1, 4, 8, 4", "1, 1, 4, 8", "1, 4, 8, 8", false, false, true},
                      {"1, 4, 8, 4", "1, 1, 8, 4", "1, 4, 8, 8", false, true, false},
                      {"1, 1, 8, 4", "1, 4, 8, 4", "1, 4, 8, 8", false, true, true},
                      {"4, 8, 4", "1, 4, 4, 8", "1, 4, 8, 8", false, false, false},
                      {"1, 4, 8, 4", "4, 8", "1, 4, 8, 8", true, false, false},
                      {"1, 4, 8, 4", "8, 4", "1, 4, 8, 8", true, true, true},
                      {"1, 4, 8, 4", "1, 4, 8", "1, 4, 8, 8", true, false, true},
                      {"2, 4, 8, 4", "1, 4, 4, 8", "2, 4, 8, 8", false, false, true},
                      {"1, 8, 4", "4, 8", "1, 8, 8", false, false, false}};
  for (const Row& row : rows) {
    const std::string right = row.constant ? fmt::format("const %b : f32[{}] = random(1)", row.b)
                                           : fmt::format("input %b : f32[{}]", row.b);
    const std::string text = fmt::format(
        "input %a : f32[{}]\n{}\n%y = BATCH_MATMUL(%a, %b) {{ adj_y = {} }} : f32[{}]\noutput %y\n", row.a,
        right, row.transposed, row.out);
    INFO(text);
    CHECK(fires(text, LRT023) == row.wrong);
  }
}

TEST_CASE("padding that the accelerator misreads", "[silent]") {
  struct Row {
    const char *in, *pads, *out;
    bool wrong;
  };
  const Row rows[] = {{"1, 4, 4, 4", "1, 1, 0, 0, 0, 0, 0, 0", "3, 4, 4, 4", true},
                      {"2, 4, 4, 4", "2, 1, 0, 0, 0, 0, 0, 0", "5, 4, 4, 4", false},
                      {"3, 4, 4", "0, 0, 0, 1, 0, 0", "3, 5, 4", true},
                      {"1, 4, 4", "0, 0, 0, 1, 0, 0", "1, 5, 4", false},
                      {"3, 4, 4, 4", "0, 0, 1, 1, 0, 0, 0, 0", "3, 6, 4, 4", false}};
  for (const Row& row : rows) {
    const auto rank = std::count(row.in, row.in + std::string_view(row.in).size(), ',') + 1;
    const std::string text = fmt::format(
        "input %x : f32[{}]\nconst %p : i32[{}, 2] = [{}]\n%y = PAD(%x, %p) : f32[{}]\noutput %y\n", row.in,
        rank, row.pads, row.out);
    INFO(text);
    CHECK(fires(text, LRT026) == row.wrong);
  }
}

TEST_CASE("repairs compute the same", "[silent]") {
  const auto same = [](std::string_view text, Detector detect) {
    const Model before = parse(text);
    const Model after = mended(before, detect);
    const auto inputs = inputs_of(before.graphs[0]);
    CHECK(outputs_of(before, inputs) == outputs_of(after, inputs));
  };
  same(
      "input %x : f32[1, 3, 4, 2]\nconst %p : i32[4, 2] = [1, 2, 1, 0, 0, 2, 0, 1]\n%y = PAD(%x, %p) : "
      "f32[4, 4, 6, 3]\noutput %y\n",
      LRT026);
  same(
      "input %x : f32[1, 5, 5, 2]\nconst %p : i32[4, 2] = [0, 0, 1, 1, 1, 1, 0, 0]\n%t = PAD(%x, %p) : "
      "f32[1, 7, 7, 2]\n"
      "%y = MAX_POOL_2D(%t) { padding = VALID, stride_w = 2, stride_h = 2, filter_width = 3, filter_height = "
      "3 } : f32[1, 3, 3, 2]\noutput %y\n",
      LRT020);
  same(
      "input %a : f32[2, 1, 3, 4]\ninput %b : f32[1, 3, 4, 2]\n%y = BATCH_MATMUL(%a, %b) : f32[2, 3, 3, "
      "2]\noutput %y\n",
      LRT023);
}
