// Proofs: what each method shows, what is refuted and with which counterexample.
#include "lib/edit/apply.h"
#include "lib/edit/builder.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "lib/proof/site.h"
#include "test/catch.h"

using namespace md;

namespace {

Model parse(const std::string& text) {
  auto model = parse_model("test", 1, text, dialect("tflite"));
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

/// `before` and a version whose nodes are all those of `after`; values are matched by name.
struct Versions {
  Model before, after;
  Versions(const std::string& first, const std::string& second) : before(parse(first)) {
    const Model other = parse(second);
    const Graph& g = before.graphs[0];
    const Graph& h = other.graphs[0];
    PatchBuilder builder(g, 0, "test");
    std::vector<ValueId> ids;
    for (const Value& value : h.values) {
      ValueId id = none_id;
      for (std::size_t v = 0; v < g.values.size(); ++v)
        if (g.values[v].name == value.name) id = static_cast<ValueId>(v);
      if (id == none_id) {
        id = builder.add_value(value.name, value.dtype, value.shape, value.quantization);
        builder.patch().new_values.back().constant = value.constant;
      }
      ids.push_back(id);
    }
    for (const NodeId n : g.order) builder.remove(n);
    for (const NodeId n : h.order) {
      Node node = h.node(n);
      for (ValueId& v : node.inputs) v = v == none_id ? v : ids[static_cast<std::size_t>(v)];
      for (ValueId& v : node.outputs) v = ids[static_cast<std::size_t>(v)];
      builder.add_node(std::move(node));
    }
    const std::vector<Patch> patches = {builder.take()};
    auto changed = apply_patches(before, patches);
    INFO((changed ? "" : changed.error().message));
    REQUIRE(changed);
    after = std::move(*changed);
  }
  Proof prove(Exactness exactness = Exactness::exact) const {
    ProofOptions options;
    options.exactness = exactness;
    return md::prove(before, after, 0, options);
  }
};

const std::string relu01 = R"(
input %x : f32[64]
%y = RELU_0_TO_1(%x) : f32[64]
output %y
)";

}  // namespace

TEST_CASE("RELU then MINIMUM is RELU_0_TO_1 for every number", "[proof]") {
  const Versions v(relu01, R"(
input %x : f32[64]
const %one : f32[1] = [1]
%a = RELU(%x) : f32[64]
%y = MINIMUM(%a, %one) : f32[64]
output %y
)");
  const Proof p = v.prove();
  INFO(p.counterexample << p.note);
  REQUIRE(p.equal);
  REQUIRE(p.method == ProofMethod::sampled);
  REQUIRE(p.note.find("fp16") != std::string::npos);
}

TEST_CASE("relu(x) - relu(x - 1) is refuted", "[proof]") {
  const std::string text = R"(
input %x : TYPE[64]
const %one : TYPE[1] = [1]
%a = RELU(%x) : TYPE[64]
%c = SUB(%x, %one) : TYPE[64]
%b = RELU(%c) : TYPE[64]
%y = SUB(%a, %b) : TYPE[64]
output %y
)";
  const auto with = [&](std::string t, const char* type) {
    for (std::size_t at = 0; (at = t.find("TYPE", at)) != std::string::npos;) t.replace(at, 4, type);
    return t;
  };
  std::string half = relu01;
  for (std::size_t at = 0; (at = half.find("f32", at)) != std::string::npos;) half.replace(at, 3, "f16");
  const Proof f32 = Versions(relu01, with(text, "f32")).prove();
  REQUIRE_FALSE(f32.equal);
  INFO(f32.counterexample);
  REQUIRE(f32.counterexample.find(" gives 1 before, ") != std::string::npos);
  // f16 values are tried one and all.
  const Proof f16 = Versions(half, with(text, "f16")).prove();
  REQUIRE(f16.method == ProofMethod::exhaustive);
  REQUIRE_FALSE(f16.equal);
}

TEST_CASE("v + (x - v) * m is not a selection", "[proof]") {
  const Versions v(R"(
input %x : f32[1, 8]
const %m : bool[1, 8] = [1, 0, 1, 0, 1, 0, 1, 0]
const %v : f32[1] = [-1e9]
%y = SELECT_V2(%m, %x, %v) : f32[1, 8]
output %y
)",
                   R"(
input %x : f32[1, 8]
const %mf : f32[1, 8] = [1, 0, 1, 0, 1, 0, 1, 0]
const %v : f32[1] = [-1e9]
%d = SUB(%x, %v) : f32[1, 8]
%p = MUL(%d, %mf) : f32[1, 8]
%y = ADD(%v, %p) : f32[1, 8]
output %y
)");
  for (const Exactness e : {Exactness::exact, Exactness::rounding}) {
    const Proof p = v.prove(e);
    REQUIRE_FALSE(p.equal);
    REQUIRE(p.counterexample.find(" gives ") != std::string::npos);
  }
}

TEST_CASE("moving data is proved on distinct index values", "[proof]") {
  const std::string before = R"(
input %x : f32[2, 3, 4]
const %p : i32[3] = [1, 0, 2]
%y = TRANSPOSE(%x, %p) : f32[3, 2, 4]
output %y
)";
  const std::string after = R"(
input %x : f32[2, 3, 4]
const %s : i32[3] = [1, 6, 4]
const %b0 : i32[3] = [0, 0, 0]
const %n : i32[3] = [2, 1, 4]
const %b1 : i32[3] = [0, 1, 0]
const %b2 : i32[3] = [0, THIRD, 0]
const %one : i32[3] = [1, 2, 4]
%s0 = SLICE(%x, %b0, %n) : f32[2, 1, 4]
%s1 = SLICE(%x, %b1, %n) : f32[2, 1, 4]
%s2 = SLICE(%x, %b2, %n) : f32[2, 1, 4]
%r0 = RESHAPE(%s0, %one) { new_shape = [1, 2, 4] } : f32[1, 2, 4]
%r1 = RESHAPE(%s1, %one) { new_shape = [1, 2, 4] } : f32[1, 2, 4]
%r2 = RESHAPE(%s2, %one) { new_shape = [1, 2, 4] } : f32[1, 2, 4]
%y = CONCATENATION(%r0, %r1, %r2) { axis = 0 } : f32[3, 2, 4]
output %y
)";
  const auto with = [&](const char* third) {
    std::string t = after;
    t.replace(t.find("THIRD"), 5, third);
    return t;
  };
  const Proof good = Versions(before, with("2")).prove();
  INFO(good.counterexample << good.note);
  REQUIRE(good.equal);
  REQUIRE(good.method == ProofMethod::movement);
  REQUIRE(good.samples == 24);
  const Proof mutated = Versions(before, with("1")).prove();
  REQUIRE_FALSE(mutated.equal);
  REQUIRE(mutated.counterexample == "\"y\"[2,0,0] is x[0,2,0] before, x[0,1,0] after");
}

TEST_CASE("indices that constants compute are folded, padding is told from data", "[proof]") {
  const std::string before = R"(
input %x : f32[1, 6]
const %i : i32[3, 1] = [-1, 1, 2]
const %zero : i32[1] = [0]
const %six : i32[1] = [6]
const %t : i32[2] = [1, 0]
%neg = LESS(%i, %zero) : bool[3, 1]
%up = ADD(%i, %six) : i32[3, 1]
%at = SELECT(%neg, %up, %i) : i32[3, 1]
%xt = TRANSPOSE(%x, %t) : f32[6, 1]
%g = GATHER_ND(%xt, %at) : f32[3, 1]
%y = TRANSPOSE(%g, %t) : f32[1, 3]
output %y
)";
  const Proof p = Versions(before, R"(
input %x : f32[1, 6]
const %j : i32[3] = [5, 1, 2]
%y = GATHER(%x, %j) { axis = 1 } : f32[1, 3]
output %y
)")
                      .prove();
  INFO(p.counterexample << p.note);
  REQUIRE(p.equal);
  REQUIRE(p.method == ProofMethod::movement);
  const Proof padded = Versions(R"(
input %x : f32[1, 2]
const %p : i32[2, 2] = [0, 0, 0, 1]
%y = PAD(%x, %p) : f32[1, 3]
output %y
)",
                                R"(
input %x : f32[1, 2]
const %c : f32[1, 1] = [1]
%y = CONCATENATION(%x, %c) { axis = 1 } : f32[1, 3]
output %y
)")
                           .prove();
  REQUIRE_FALSE(padded.equal);
  REQUIRE(padded.counterexample == "\"y\"[0,1] is a constant before, a constant after (inputs of shape 1x1)");
}

TEST_CASE("int8 sites are run on all 256 values", "[proof]") {
  const std::string before = R"(
input %x : i8[4] q(0.1, 0)
%y = RELU(%x) : i8[4] q(0.1, 0)
output %y
)";
  const auto maximum = [](const char* zero) {
    return std::string("input %x : i8[4] q(0.1, 0)\nconst %z : i8[1] q(0.1, 0) = [") + zero +
           "]\n%y = MAXIMUM(%x, %z) : i8[4] q(0.1, 0)\noutput %y\n";
  };
  const Proof p = Versions(before, maximum("0")).prove();
  INFO(p.counterexample << p.note);
  REQUIRE(p.equal);
  REQUIRE(p.method == ProofMethod::exhaustive);
  REQUIRE(p.samples == 256);
  const Proof mutated = Versions(before, maximum("1")).prove();
  REQUIRE_FALSE(mutated.equal);
}

TEST_CASE("another order of a sum is a rounding, not exact; another sum is neither", "[proof]") {
  const std::string before = R"(
input %x : f32[2, 48]
const %a : i32[1] = [1]
%y = SUM(%x, %a) { keep_dims = true } : f32[2, 1]
output %y
)";
  const auto product = [](const char* last) {
    std::string w;
    for (int i = 0; i < 47; ++i) w += "1, ";
    return "input %x : f32[2, 48]\nconst %w : f32[1, 48] = [" + w + last +
           "]\n%y = FULLY_CONNECTED(%x, %w, _) { keep_num_dims = true } : f32[2, 1]\noutput %y\n";
  };
  const Proof rounding = Versions(before, product("1")).prove(Exactness::rounding);
  INFO(rounding.counterexample << rounding.note);
  REQUIRE(rounding.equal);
  REQUIRE(rounding.max_abs > 0);
  REQUIRE_FALSE(Versions(before, product("1")).prove(Exactness::exact).equal);
  REQUIRE_FALSE(Versions(before, product("1.001")).prove(Exactness::rounding).equal);
  REQUIRE_FALSE(Versions(before, product("0")).prove(Exactness::bounded).equal);
}

TEST_CASE("a rewrite may rest on what is above the site", "[proof]") {
  const std::string ones = R"(
input %x : f32[4, 1]
const %a : i32[1] = [1]
const %one : f32[4, 1] = [1, 1, 1, 1]
const %shape : i32[2] = [4, 1]
%m = REDUCE_MAX(%x, %a) { keep_dims = true } : f32[4, 1]
%d = SUB(%x, %m) : f32[4, 1]
%t = EXP(%d) : f32[4, 1]
%y = REST : f32[4, 1]
output %y
)";
  const auto with = [&](const char* rest) {
    std::string t = ones;
    t.replace(t.find("REST"), 4, rest);
    return parse(t);
  };
  const Model before = with("DIV(%t, %t)"), after = with("RESHAPE(%one, %shape) { new_shape = [4, 1] }");
  const Proof p = prove(before, after, 0, {});
  INFO(p.counterexample << p.note);
  REQUIRE(p.equal);
  REQUIRE(p.note.find("nodes above the site") != std::string::npos);
  REQUIRE_FALSE(p.nonfinite.empty());
}

TEST_CASE("a difference on infinite inputs is stated", "[proof]") {
  const auto model = [](const char* last) {
    return parse(std::string("input %x : f32[3]\nconst %z : f32[3] = [0, 0, 0]\n%y = ") + last +
                 " : f32[3]\noutput %y\n");
  };
  // x * 0 is 0 for finite x only.
  const Proof p = prove(model("MUL(%x, %z)"), model("RESHAPE(%z, _) { new_shape = [3] }"), 0, {});
  INFO(p.counterexample << p.note);
  REQUIRE(p.equal);
  REQUIRE(p.nonfinite.find(" gives nan before, 0 after") != std::string::npos);
}

TEST_CASE("a site without a kernel is not proven", "[proof]") {
  const Model before = parse("input %x : f32[3]\n%y = CUSTOM \"Odd\"(%x) : f32[3]\noutput %y\n");
  const Model after = parse("input %x : f32[3]\n%y = CUSTOM \"Even\"(%x) : f32[3]\noutput %y\n");
  const Proof p = prove(before, after, 0, {});
  REQUIRE(p.method == ProofMethod::none);
  REQUIRE_FALSE(p.equal);
  REQUIRE(p.note == "no kernel for CUSTOM:Odd");
}

TEST_CASE("only what differs is the site", "[proof]") {
  const Versions same(relu01, relu01);
  const Model& m = same.before;
  const Site none = find_site(m, m, 0);
  REQUIRE(none.before.empty());
  REQUIRE(none.outputs.empty());
  REQUIRE(prove(m, m, 0, {}).equal);
}

TEST_CASE("a large product that reads one value twice is proven in front of it", "[proof]") {
  const Model before =
      parse("input %x : f32[768, 768]\n%y = BATCH_MATMUL(%x, %x) : f32[768, 768]\noutput %y\n");
  PatchBuilder builder(before.graphs[0], 0, "a copy for the second operand");
  const ValueId copy = builder.add_value("copy", DType::f32, {768, 768});
  const ValueId shape = builder.add_constant("shape", DType::i32, {2}, std::vector<double>{768, 768});
  builder.add_node("RESHAPE", {before.graphs[0].inputs[0], shape}, {copy});
  builder.rewire(0, 1, copy);
  const std::vector<Patch> patches = {builder.take()};
  const auto after = apply_patches(before, patches);
  REQUIRE(after);
  const auto narrow = find_narrow_site(before, *after, 0);
  REQUIRE(narrow);
  const auto added = static_cast<ValueId>(before.graphs[0].values.size());  // the copy, in the new version
  REQUIRE(narrow->outputs.size() == 1);
  CHECK(narrow->outputs[0] == std::pair(before.graphs[0].inputs[0], added));
  CHECK(unfit_site(before, *after, *narrow) == std::nullopt);
  const Proof proof = prove(before, *after, 0, {});
  INFO(proof.note << proof.counterexample);
  CHECK(proof.method == ProofMethod::movement);
  CHECK(proof.equal);
}

TEST_CASE("a site that names what is not there is not run", "[proof]") {
  const Versions same(relu01, relu01);
  const Model& m = same.before;
  const auto beyond = static_cast<ValueId>(m.graphs[0].values.size());
  Site site = find_site(m, m, 0);
  CHECK(unfit_site(m, m, site) == std::nullopt);
  site.outputs = {{0, beyond}};
  CHECK(unfit_site(m, m, site) != std::nullopt);
  site = find_site(m, m, 0);
  site.inputs = {beyond};
  CHECK(unfit_site(m, m, site) != std::nullopt);
  site = find_site(m, m, 0);
  site.before = {static_cast<NodeId>(m.graphs[0].nodes.size())};
  CHECK(unfit_site(m, m, site) != std::nullopt);
  site = find_site(m, m, 0);
  site.graph = 7;
  CHECK(unfit_site(m, m, site) != std::nullopt);
}
