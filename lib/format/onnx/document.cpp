// The .onnx document: the reader's view and the writer behind one interface.
#include "lib/edit/changes.h"
#include "lib/format/onnx/dialect.h"
#include "lib/format/onnx/reader.h"
#include "lib/format/onnx/writer.h"

namespace md {
namespace {

class OnnxDocument : public Document {
 public:
  explicit OnnxDocument(onnx::OnnxFile parts) : Document(parts.file), parts_(std::move(parts)) {}
  const Model& model() const override { return parts_.model; }
  WriteCapability capability() const override { return {.can_write = true, .reason = ""}; }
  Status write(const Model& edited, ByteSink& sink) const override {
    if (list_changes(parts_.model, edited).empty())
      return sink.append_range(*file_, 0, file_->bytes().size());
    return onnx::write_onnx(parts_, edited, sink);
  }

 private:
  onnx::OnnxFile parts_;
};

}  // namespace

Result<std::unique_ptr<Document>> open_onnx(std::shared_ptr<const MappedFile> file) {
  auto parts = onnx::read_onnx(std::move(file));
  if (!parts) return tl::make_unexpected(parts.error());
  return std::make_unique<OnnxDocument>(std::move(*parts));
}

}  // namespace md
