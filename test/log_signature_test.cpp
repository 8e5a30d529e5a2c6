
#include "lib/log/literal_set.h"
#include "lib/log/signature.h"
#include "lib/log/signature_set.h"
#include "lib/log/window_set.h"
#include "test/catch.h"

using namespace md;

namespace {

Signature compile(std::string_view text) {
  auto signature = Signature::compile(text);
  INFO((signature ? "" : signature.error().message));
  REQUIRE(signature);
  return *signature;
}

std::string capture(std::string_view signature, std::string_view message, std::string_view name) {
  const auto hit = compile(signature).match(message);
  if (!hit) return "(no match)";
  const auto found = hit->captures.find(name);
  return found == hit->captures.end() ? "(no capture)" : found->second;
}

}  // namespace

TEST_CASE("captures of every kind", "[log][signature]") {
  CHECK(capture("RELU_0_TO_1: {why:text}", "RELU_0_TO_1: Not supported op RELU_0_TO_1", "why") ==
        "Not supported op RELU_0_TO_1");
  CHECK(capture("Tensor type({t:word}) is not supported. {v:text}",
                "CAST: Tensor type(INT64) is not supported. a;b/c", "t") == "INT64");
  CHECK(capture("Tensor type({t:word}) is not supported. {v:text}",
                "CAST: Tensor type(INT64) is not supported. a;b/c", "v") == "a;b/c");
  CHECK(capture("Max version supported: {m:int}. Requested version {r:int}.",
                "ADD: Max version supported: 2. Requested version 4.", "r") == "4");
  CHECK(capture("bad input dims size: {n:int}", "RESHAPE: Tensor \"r5\" has bad input dims size: 5.", "n") ==
        "5");
  CHECK(capture("Shape mismatch: {a:text} vs {b:text}", "Shape mismatch: {bhwc, {1, 2}} vs {x}", "a") ==
        "{bhwc, {1, 2}}");
  CHECK(capture("a tensor of shape {s:shape} here", "a tensor of shape [1, -1, 3] here", "s") ==
        "[1, -1, 3]");
  CHECK(capture("{op=SUB|DIV|FLOOR_DIV}: No support of few", "FLOOR_DIV: No support of few identical",
                "op") == "FLOOR_DIV");
  CHECK(capture("{op=SUB|DIV}: No support of few", "FLOOR_DIV: No support of few identical", "op") ==
        "(no match)");
  CHECK(capture("{op:word} is not supported by the GPU", "the FILL is not supported by the GPU", "op") ==
        "FILL");
  CHECK(capture("Unsupported nodes: {{'x': {n:text}}}", "Unsupported nodes: {'x': aten}", "n") == "aten");
  CHECK(capture("Lowering not found: {op:word}",
                "RuntimeError: Lowering not found: aten.complex.default\nTraceback",
                "op") == "aten.complex.default");
}

TEST_CASE("literals match whole words and wrapped lines", "[log][signature]") {
  CHECK_FALSE(compile("DIV: No support of few").match("FLOOR_DIV: No support of few"));
  CHECK(compile("not supported by the target").match("x is not\nsupported by\tthe target"));
  CHECK_FALSE(compile("Not Supported op").match("Not supported op"));
}

TEST_CASE("a closing full stop may be missing where the message is quoted", "[log][signature]") {
  const Signature signature = compile("GATHER_ND: Operation is not supported.");
  CHECK(signature.match("GATHER_ND: Operation is not supported."));
  CHECK(signature.match("we get \"GATHER_ND: Operation is not supported\" on the phone"));
  CHECK_FALSE(signature.match("GATHER_ND: Operation is not"));
  CHECK_FALSE(compile("version {v:int}. Then more.").match("version 3 Then more"));  // only the closing one
}

TEST_CASE("a capture gives up its first choice when the rest does not fit", "[log][signature]") {
  CHECK(capture("kernel '{op:word}' not found", "kernel 'a' b' kernel 'aten::x.out' not found", "op") ==
        "aten::x.out");
  CHECK(capture("node {a:text} of type {b:text} failed", "node x of type y of type z failed", "a") == "x");
}

TEST_CASE("load-time errors", "[log][signature]") {
  for (const auto& [text, part] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"short", "at least 8 characters"},
           {"{x:text} ab", "at least 8 characters"},
           {"long enough {x:number}", "unknown kind \"number\""},
           {"long enough {x", "without a closing one"},
           {"long enough }", "without an opening one"},
           {"long enough {x:int}{y:int}", "two captures without text"},
           {"long enough {x:int}, {x:int}", "used twice"},
           {"long enough {x=A||B}", "empty word"},
           {"long enough {}", "expected"}}) {
    const auto signature = Signature::compile(text);
    INFO(text);
    REQUIRE_FALSE(signature);
    CHECK(signature.error().message.find(part) != std::string::npos);
  }
}

TEST_CASE("hostile messages take linear time", "[log][signature]") {
  const Signature signature = compile("{a:text}abababab{b:text}abababab{c:text}abababac");
  std::string message;
  for (int i = 0; i < 500'000; ++i) message += "ab";
  CHECK_FALSE(signature.match(message));  // with backtracking: days, and the test's time is up
}

TEST_CASE("a set finds what its signatures find one by one", "[log][signature]") {
  const Signature first = compile("Operation is not supported"), second = compile("GATHER_ND: {why:text}"),
                  third = compile("not supported. {t:word}");
  const SignatureSet set({&first, &second, &third});
  const auto hits = set.match("GATHER_ND: Operation is not supported.");
  REQUIRE(hits.size() == 2);
  CHECK(hits[0].signature == 0);
  CHECK(hits[1].signature == 1);
  CHECK(hits[1].hit.captures.at("why") == "Operation is not supported.");
  CHECK(set.match("nothing of that").empty());
}

TEST_CASE("literals that are parts of each other are all found", "[log]") {
  const std::vector<std::string_view> words = {"he", "she", "hers", "his", "s h"};
  std::vector<std::uint32_t> found;
  LiteralSet(words).scan("ushers\nhis", [&](std::uint32_t id) { found.push_back(id); });
  CHECK(found == std::vector<std::uint32_t>{1, 0, 2, 4, 3});
}

TEST_CASE("windows of literals find every text that holds one, and few others", "[log]") {
  const std::vector<std::string_view> words = {"Operation is not supported", "Operation is not known",
                                               "short", "not supported at all"};
  const WindowSet set(words);
  const auto found = [&](std::string_view text) { return set.candidates(text); };
  CHECK(found("GATHER: Operation\nis not\tsupported.") == std::vector<std::uint32_t>{0, 2});
  CHECK(found("Operation is not known, Operation is not known") == std::vector<std::uint32_t>{1, 2});
  // The first literal shares windows with this text: it may be a candidate, and the last one must be.
  CHECK(found("it is not supported at all").back() == 3);
  CHECK(found("Operation") == std::vector<std::uint32_t>{2});
  CHECK(found("") == std::vector<std::uint32_t>{2});
}
