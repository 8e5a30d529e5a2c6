// The .tflite document: the reader's view and the writer behind one interface.
#include <fmt/format.h>

#include "lib/edit/changes.h"
#include "lib/format/tflite/dialect.h"
#include "lib/format/tflite/reader.h"
#include "lib/format/tflite/writer.h"
#include "lib/graph/document.h"

namespace md {
namespace {

class TfliteDocument : public Document {
 public:
  explicit TfliteDocument(tfl::TfliteFile parts) : Document(parts.file), parts_(std::move(parts)) {}
  const Model& model() const override { return parts_.model; }
  WriteCapability capability() const override { return tfl::write_capability(parts_); }
  Status write(const Model& edited, ByteSink& sink) const override {
    if (list_changes(parts_.model, edited).empty())
      return sink.append_range(*file_, 0, file_->bytes().size());
    return tfl::rewrite(parts_, edited, {}, sink);
  }

 private:
  tfl::TfliteFile parts_;
};

}  // namespace

Result<std::unique_ptr<Document>> open_tflite(std::shared_ptr<const MappedFile> file) {
  auto parts = tfl::read_tflite(std::move(file));
  if (!parts) return tl::make_unexpected(parts.error());
  return std::make_unique<TfliteDocument>(std::move(*parts));
}

}  // namespace md
