// A document that is written as text in a test: graphs without a file format.
#pragma once
#include <string>

#include "lib/graph/document.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"

namespace md::test {

class TextDocument : public Document {
 public:
  TextDocument(const std::string& text, const Dialect& dialect)
      : Document(MappedFile::from_bytes("model.txt", text)) {
    auto parsed = parse_model("model.txt", 1, text, dialect);
    if (parsed)
      model_ = std::move(*parsed);
    else
      error = parsed.error().message;
  }
  const Model& model() const override { return model_; }
  WriteCapability capability() const override { return {true, ""}; }
  Status write(const Model& edited, ByteSink& sink) const override {
    const std::string text = print(edited);
    return sink.append(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  std::string error;  ///< of the text; tests require it to be empty

 private:
  Model model_;
};

}  // namespace md::test
