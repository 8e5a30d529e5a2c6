// Files past 2 GB: only the front part is a flatbuffer, and the cost follows the graph. The file is sparse on
// disk.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/edit/changes.h"
#include "test/catch.h"
#include "test/tflite_models.h"
#include "tflite_generated.h"

using namespace md;
using namespace md::test;

namespace {

constexpr std::uint64_t weights = 3'000'000'000;

/// Keeps what was written, of ranges only where they lie.
struct Ledger : ByteSink {
  std::string bytes;
  std::uint64_t total = 0, longest_range = 0;
  Status append(Bytes more) override {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
    total += more.size();
    return {};
  }
  Status append_range(const MappedFile& file, std::uint64_t offset, std::uint64_t length) override {
    longest_range = std::max(longest_range, length);
    if (length < 100'000) return append(file.bytes().subspan(offset, length));
    total += length;
    return {};
  }
};

struct LargeFile {
  std::string path = (std::filesystem::temp_directory_path() / "modeldoctor-large-XXXXXX").string();
  std::uint64_t size = 0;
  LargeFile() {
    Recipe recipe;
    recipe.out_of_line = true;
    std::string bytes = make_tflite(recipe);
    flatbuffers::GetMutableRoot<tflite::Model>(bytes.data())
        ->mutable_buffers()
        ->GetMutableObject(1)
        ->mutate_size(weights);
    const int fd = ::mkstemp(path.data());
    REQUIRE(fd >= 0);
    REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    size = bytes.size() - 16 + weights;
    REQUIRE(::ftruncate(fd, static_cast<off_t>(size)) == 0);
    ::close(fd);
  }
  ~LargeFile() { std::filesystem::remove(path); }
};

long page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

}  // namespace

TEST_CASE("a file of 3 GB opens at once, and its weights move by reference", "[tflite]") {
  const LargeFile large;
  const long before = page_faults();
  const auto document = open_document(large.path);
  REQUIRE(document);
  CHECK(page_faults() - before < 5000);  // reading the weights would touch 700,000 pages
  const Value& c = (*document)->model().graphs[0].value(1);
  REQUIRE(c.constant->bytes.size() == weights);
  Model edited = (*document)->model();
  edited.graphs[0].nodes[0].attrs.set("fused_activation_function", EnumValue{1, "RELU"});
  Ledger ledger;
  REQUIRE((*document)->write(edited, ledger));
  const auto front = ledger.total - large.size;
  REQUIRE(front < 1000);
  REQUIRE(front % 64 == 0);
  REQUIRE(ledger.longest_range > weights);
  const auto* model = flatbuffers::GetRoot<tflite::Model>(ledger.bytes.data());
  const auto old_offset =
      static_cast<std::uint64_t>(c.constant->bytes.data() - (*document)->file().bytes().data());
  REQUIRE(model->buffers()->Get(1)->offset() == old_offset + front);
}
