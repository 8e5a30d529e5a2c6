#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/format/torch/dialect.h"
#include "lib/format/torch/json.h"
#include "lib/format/torch/splice.h"
#include "lib/format/torch/zip.h"
#include "lib/graph/document.h"
#include "test/catch.h"
#include "test/paths.h"

using namespace md;

namespace {

struct Collect : ByteSink {
  std::string bytes;
  Status append(Bytes b) override {
    return bytes.append(reinterpret_cast<const char*>(b.data()), b.size()), Status{};
  }
  Status append_range(const MappedFile& file, std::uint64_t offset, std::uint64_t length) override {
    return append(file.bytes().subspan(offset, length));
  }
};

std::vector<std::string> programs() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::fixture("")))
    if (entry.path().extension() == ".pt2") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::unique_ptr<Document> must_open(const std::string& path) {
  auto file = MappedFile::open(path);
  REQUIRE(file);
  auto document = open_pt2(*file);
  INFO(path << ": " << (document ? "" : document.error().message));
  REQUIRE(document);
  return std::move(*document);
}

Result<std::unique_ptr<Document>> open_bytes(std::string bytes) {
  return open_pt2(MappedFile::from_bytes("test.pt2", std::move(bytes)));
}

const std::string attention = "TRT003-decomposed-attention-view/before.pt2";

}  // namespace

TEST_CASE("an unchanged program is written byte for byte", "[pt2]") {
  REQUIRE(programs().size() > 40);
  for (const std::string& path : programs()) {
    const auto document = must_open(path);
    Collect out;
    REQUIRE(document->write(document->model(), out));
    INFO(path);
    REQUIRE(out.bytes == read_file(path));
  }
}

TEST_CASE("the view names operators, arguments, source and module path", "[pt2]") {
  const auto document = must_open(test::fixture("LTC001-amax-no-layout-rewriter/before.pt2"));
  const Graph& g = document->model().graphs[0];
  REQUIRE(g.order.size() == 3);
  const Node& conv = g.node(0);
  REQUIRE(conv.op == "aten.conv2d.default");
  REQUIRE(conv.input_names == std::vector<std::string>{"input", "weight", "bias"});
  REQUIRE(g.value(conv.inputs[1]).is_constant());
  REQUIRE(g.value(conv.inputs[1]).shape == Shape{8, 3, 3, 3});
  REQUIRE(*conv.attrs.integers("padding") == std::vector<std::int64_t>{1, 1});
  REQUIRE(conv.layer == "self.c");
  REQUIRE(conv.source.front().file.ends_with("model.py"));
  REQUIRE(conv.source.front().line == 4);
  REQUIRE(conv.source.front().function == "forward");
  REQUIRE(g.inputs.size() == 1);
  REQUIRE(g.value(g.inputs[0]).name == "x");
}

TEST_CASE("the end of a slice is kept as an integer", "[pt2]") {
  const auto document = must_open(test::fixture("TRT001-slice-bounds-out-of-range/before.pt2"));
  const Node& slice = document->model().graphs[0].node(0);
  REQUIRE(slice.op == "aten.slice.Tensor");
  REQUIRE(slice.attrs.integer("end") == 9223372036854775807LL);
  REQUIRE(slice.attrs.integer("start") == -15);
}

TEST_CASE("inner graphs are graphs of their own", "[pt2]") {
  const auto document = must_open(test::fixture("TRT004-complex-in-cond/before.pt2"));
  const Model& model = document->model();
  REQUIRE(model.graphs.size() == 3);
  REQUIRE(model.graphs[0].node(0).op == "higher_order.cond");
  REQUIRE(model.graphs[0].node(0).subgraphs == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("symbolic sizes have names", "[pt2]") {
  const auto document = must_open(test::fixture("TRT008-shape-input-freed/before.pt2"));
  const Graph& g = document->model().graphs[0];
  REQUIRE(g.value(g.inputs[0]).shape == Shape{dynamic_dim, 2});
  REQUIRE(g.value(g.inputs[0]).dim_names.front() == "s97");
}

TEST_CASE("an edited program keeps what was not edited", "[pt2]") {
  const auto document = must_open(test::fixture(attention));
  Model edited = document->model();
  Graph& g = edited.graphs[0];
  Value copy = g.value(g.outputs[0]);
  copy.name = "copy", copy.origin = none_id;
  Node clone;
  clone.op = "aten.clone.default", clone.inputs = {g.outputs[0]},
  clone.outputs = {static_cast<ValueId>(g.values.size())}, clone.origins = {0};
  g.values.push_back(copy);
  g.outputs[0] = clone.outputs[0];
  g.order.push_back(static_cast<NodeId>(g.nodes.size()));
  g.nodes.push_back(clone);
  g.index();
  Collect out;
  REQUIRE(document->write(edited, out));
  auto again = open_bytes(out.bytes);
  REQUIRE(again);
  const Graph& h = (*again)->model().graphs[0];
  REQUIRE(h.order.size() == document->model().graphs[0].order.size() + 1);
  REQUIRE(h.node(h.order.back()).op == "aten.clone.default");
  REQUIRE(h.value(h.outputs[0]).name == "copy");
  const auto before = ZipArchive::open(MappedFile::from_bytes("a", read_file(test::fixture(attention)))),
             after = ZipArchive::open(MappedFile::from_bytes("b", out.bytes));
  REQUIRE(before);
  REQUIRE(after);
  REQUIRE(before->members().size() == after->members().size());
  for (std::size_t i = 0; i < before->members().size(); ++i) {
    const ZipMember &a = before->members()[i], &b = after->members()[i];
    REQUIRE(a.name == b.name);
    REQUIRE(b.payload_offset % 64 == 0);
    if (!a.name.ends_with("model.json")) REQUIRE(a.crc == b.crc);
  }
}

TEST_CASE("JSON keeps ranges, big integers and non-finite numbers", "[pt2]") {
  const std::string text = R"({"a": [1, 9223372036854775807, 1.10, "NaN"], "b\u00e9": {"c": null}})";
  const auto json = JsonText::parse(text, "t");
  REQUIRE(json);
  const Json list = json->root().at("a");
  REQUIRE(list.count() == 4);
  REQUIRE(list.first().next().integer() == 9223372036854775807LL);
  REQUIRE(list.first().next().next().raw() == "1.10");
  REQUIRE(std::isnan(*list.first().next().next().next().number()));
  REQUIRE(json->root().at("b\xc3\xa9").at("c").kind() == Json::Kind::null);
  Splices s(text);
  s.replace(list.first().span(), "7");
  REQUIRE(s.whole() == R"({"a": [7, 9223372036854775807, 1.10, "NaN"], "b\u00e9": {"c": null}})");
  for (const char* bad : {"", "{", "[1,", "{\"a\" 1}", "\"x", "[1 2]", "nul", "[1]x"})
    REQUIRE_FALSE(JsonText::parse(bad, "t"));
  REQUIRE_FALSE(JsonText::parse(std::string(100000, '['), "t"));
}

TEST_CASE("damaged archives give an error that names the place", "[pt2]") {
  const std::string good = read_file(test::fixture(attention));
  const auto message = [](std::string bytes) {
    const auto document = open_bytes(std::move(bytes));
    REQUIRE_FALSE(document);
    return document.error().message;
  };
  REQUIRE(message(good.substr(0, good.size() / 2)).find("truncated") != std::string::npos);
  REQUIRE(message(good.substr(0, 10)).find("truncated") != std::string::npos);
  std::string damaged = good;
  damaged[good.find("torch.ops.aten.view") + 3] ^= 1;
  REQUIRE(message(damaged).find("CRC") != std::string::npos);
  std::string counts = good;
  const std::size_t end64 = good.rfind("PK\x06\x06");
  REQUIRE(end64 != std::string::npos);
  counts[end64 + 32 + 5] = '\x7f';
  REQUIRE(message(counts).find("entries do not fit") != std::string::npos);
  std::string far = good;
  far[end64 + 48 + 5] = '\x7f';
  REQUIRE(message(far).find("outside the file") != std::string::npos);
  for (std::size_t cut = 0; cut < good.size(); cut += 97) REQUIRE_FALSE(open_bytes(good.substr(0, cut)));
}

TEST_CASE("no single damaged byte crashes the reader", "[pt2]") {
  const std::string good = read_file(test::fixture("ETX003-autocast-region-names/before.pt2"));
  for (std::size_t i = 0; i < good.size(); i += 3) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
    (void)open_bytes(std::move(bytes));
  }
}
