// Dependencies point one way: the #includes of the source tree against the table of the design.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"

namespace md {
namespace {

namespace fs = std::filesystem;

/// Folder -> what it may include; a name with a slash is one folder or header. A folder of a format or a
/// runtime is named with its parent: "format/tflite".
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {}},
    {"config", {"base"}},
    {"graph", {"base"}},
    {"op", {"base", "graph"}},
    {"edit", {"base", "graph", "op"}},
    {"log", {"base", "graph"}},
    {"eval", {"base", "graph", "op", "edit"}},
    {"fp16", {"base", "graph", "op", "edit", "eval"}},
    {"proof", {"base", "graph", "op", "edit", "eval", "fp16"}},
    {"target", {"base", "graph", "op", "log"}},
    {"rule", {"base", "graph", "op", "edit", "eval", "fp16", "proof", "log", "target", "rewrite"}},
    {"rewrite",
     {"base", "graph", "op", "edit", "eval", "fp16", "proof", "log", "target", "rule", "format/tflite",
      "format/torch", "format/onnx"}},
    {"verify", {"base", "graph", "op", "eval", "fp16", "proof"}},
    {"diagnose", {"base", "graph", "op", "edit", "eval", "fp16", "proof", "log", "target", "rule"}},
    {"fix",
     {"base", "graph", "op", "edit", "eval", "fp16", "proof", "log", "target", "rule", "verify", "diagnose",
      "report", "baseline"}},
    {"report", {"base", "op/dialect.h", "diagnose/diagnosis.h", "diagnose/ending.h"}},
    {"baseline", {"base", "diagnose/diagnosis.h", "diagnose/fingerprint.h", "report/report.h"}},
    {"format/tflite", {"base", "graph", "op", "edit", "eval"}},
    {"format/torch", {"base", "graph", "op", "edit", "eval"}},
    {"format/pte", {"base", "graph", "op", "edit", "eval"}},
    {"format/onnx", {"base", "graph", "op", "edit", "eval"}},
    {"runtime/litert", {"base", "graph", "op", "log", "target", "format/tflite"}},
    {"runtime/onnxruntime", {"base", "graph", "op", "log", "target"}},
    {"runtime/executorch", {"base", "graph", "op", "log", "target", "format/torch", "format/pte"}},
};

/// "graph" of lib/graph/x.h; "format/tflite" of lib/format/tflite/x.h.
std::string room_of(const std::string& below_lib) {
  const std::size_t first = below_lib.find('/');
  const std::string top = below_lib.substr(0, first);
  if (top != "format" && top != "runtime") return top;
  return below_lib.substr(0, below_lib.find('/', first + 1));
}

/// "lib/graph/graph.h" for every include of ours.
std::vector<std::string> includes_of(const fs::path& file) {
  std::vector<std::string> found;
  std::istringstream text(test::read_text(file.string()));
  for (std::string line; std::getline(text, line);) {
    const std::string start = "#include \"";
    if (line.starts_with(start))
      found.push_back(line.substr(start.size(), line.find('"', start.size()) - start.size()));
  }
  return found;
}

bool is_source(const fs::path& file) { return file.extension() == ".cpp" || file.extension() == ".h"; }

}  // namespace

TEST_CASE("every folder includes only what lies below it", "[layers]") {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + "/lib")) {
    if (!is_source(entry.path())) continue;
    const std::string folder = room_of(fs::relative(entry.path(), test::source_dir() + "/lib").string());
    INFO(entry.path().string());
    REQUIRE(kMayInclude.contains(folder));
    const std::set<std::string>& allowed = kMayInclude.at(folder);
    ++files;
    for (const std::string& header : includes_of(entry.path())) {
      INFO(entry.path().string() << " includes " << header);
      CHECK_FALSE(header.starts_with("app/"));
      if (!header.starts_with("lib/")) continue;
      const std::string below = header.substr(4), other = room_of(below);
      CHECK((other == folder || allowed.contains(other) || allowed.contains(below)));
    }
  }
  CHECK(files > 50);
}

// A room that nobody describes becomes the place for what fits nowhere else.
TEST_CASE("lib/README.md says what every folder is for", "[layers]") {
  const std::string readme = test::read_text(test::source_dir() + "/lib/README.md");
  std::size_t folders = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + "/lib")) {
    if (!entry.is_directory()) continue;
    const std::string folder = fs::relative(entry.path(), test::source_dir() + "/lib").string();
    const bool holds_sources = std::any_of(fs::directory_iterator(entry), fs::directory_iterator(),
                                           [](const auto& file) { return is_source(file.path()); });
    if (!holds_sources) continue;
    const std::string parent = folder.substr(0, folder.find('/'));
    const std::string row = parent == "format" || parent == "runtime" ? parent + "/NAME" : folder;
    INFO(folder);
    CHECK(readme.find("\n| `" + row + "/` |") != std::string::npos);
    ++folders;
  }
  CHECK(folders > 10);
}

TEST_CASE("JSON and command-line libraries stay out of headers and out of the library", "[layers]") {
  for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + "/lib")) {
    if (!is_source(entry.path())) continue;
    const std::string text = test::read_text(entry.path().string());
    INFO(entry.path().string());
    CHECK(text.find("#include <CLI/") == std::string::npos);
    CHECK(text.find("#include <spdlog/") == std::string::npos);
    CHECK(text.find("#include <regex>") == std::string::npos);
    if (entry.path().extension() == ".h") CHECK(text.find("nlohmann/json.hpp") == std::string::npos);
  }
}

// Two types of one name in one namespace are one type to the linker: it keeps one destructor for both.
TEST_CASE("no two headers define a type of the same name in the same namespace", "[layers]") {
  std::map<std::string, std::string> seen;
  for (const char* folder : {"lib", "app", "rules", "test"})
    for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + "/" + folder)) {
      if (entry.path().extension() != ".h") continue;
      std::istringstream text(test::read_text(entry.path().string()));
      std::string space;
      for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        std::string kind, name, after;
        words >> kind >> name;
        if (kind == "namespace") space = name;
        if (kind == "enum" && name == "class") words >> name;
        if (line.starts_with(" ") || (kind != "struct" && kind != "class" && kind != "enum")) continue;
        if (line.ends_with(";") && line.find('{') == std::string::npos) continue;  // only declared
        const std::string key = space + "::" + name;
        INFO(key << " in " << entry.path().string() << " and " << seen[key]);
        CHECK(seen[key].empty());
        seen[key] = entry.path().string();
      }
    }
  CHECK(seen.size() > 100);
}

// ctest hands each name to the test program as an argument.
TEST_CASE("no test has a name that looks like an option", "[layers]") {
  std::size_t names = 0;
  for (const auto& entry : fs::directory_iterator(test::source_dir() + "/test")) {
    if (!is_source(entry.path())) continue;
    std::istringstream text(test::read_text(entry.path().string()));
    const std::string start = "TEST_CASE(\"";
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with(start)) continue;
      INFO(entry.path().string() << ": " << line);
      CHECK(line[start.size()] != '-');
      ++names;
    }
  }
  CHECK(names > 200);
}

}  // namespace md
