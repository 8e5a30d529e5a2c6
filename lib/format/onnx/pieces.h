// Bytes to be written: ranges of the input file and text made anew, in their order, with a known length.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "lib/format/onnx/wire.h"
#include "lib/graph/document.h"

namespace md::onnx {

class Pieces {
 public:
  void add(Bytes range) {
    size_ += range.size();
    if (range.empty()) return;
    if (!list_.empty())
      if (auto* last = std::get_if<Bytes>(&list_.back());
          last && last->data() + last->size() == range.data()) {
        *last = {last->data(), last->size() + range.size()};
        return;
      }
    list_.emplace_back(range);
  }
  void add(std::string text) {
    size_ += text.size();
    if (!text.empty()) list_.emplace_back(std::move(text));
  }
  void add(Pieces other) {
    for (auto& piece : other.list_) {
      if (const auto* range = std::get_if<Bytes>(&piece))
        add(*range);
      else
        add(std::move(std::get<std::string>(piece)));
    }
  }
  /// A length-delimited field with this content.
  void add_field(std::uint32_t number, Pieces content) {
    std::string head;
    put_tag(head, number, Wire::bytes);
    put_varint(head, content.size());
    add(std::move(head));
    add(std::move(content));
  }
  void add_field(std::uint32_t number, std::string_view content) {
    std::string field;
    put_bytes(field, number, content);
    add(std::move(field));
  }
  std::uint64_t size() const { return size_; }

  Status write(const MappedFile& file, ByteSink& sink) const {
    for (const auto& piece : list_) {
      Status done;
      if (const auto* range = std::get_if<Bytes>(&piece))
        done = sink.append_range(file, static_cast<std::uint64_t>(range->data() - file.bytes().data()),
                                 range->size());
      else
        done = sink.append({reinterpret_cast<const std::uint8_t*>(std::get<std::string>(piece).data()),
                            std::get<std::string>(piece).size()});
      if (!done) return done;
    }
    return {};
  }

 private:
  std::vector<std::variant<Bytes, std::string>> list_;
  std::uint64_t size_ = 0;
};

}  // namespace md::onnx
