// An open model file. Owns the mapped bytes, gives the model, writes a changed copy. One reader and one
// writer a format.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/base/mapped_file.h"
#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md {

/// Where a writer puts its output. A range of the input file may be copied without reading it
/// (copy_file_range).
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status append(Bytes bytes) = 0;
  virtual Status append_range(const MappedFile& file, std::uint64_t offset, std::uint64_t length) = 0;
};

struct WriteCapability {
  bool can_write = false;
  std::string reason;  ///< why not, when it cannot
};

class Document {
 public:
  virtual ~Document() = default;
  virtual const Model& model() const = 0;
  virtual WriteCapability capability() const = 0;
  /// Writes `edited`, a changed copy of model() (its origin fields tell what each part was). With an
  /// unchanged copy the output is the input, byte for byte. What was not changed keeps its bytes.
  virtual Status write(const Model& edited, ByteSink& sink) const = 0;
  const MappedFile& file() const { return *file_; }

 protected:
  explicit Document(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  std::shared_ptr<const MappedFile> file_;
};

/// Recognizes the format by its magic bytes (never by the file name) and opens it. Errors name the file, the
/// offset and what was expected; a file of a known other kind is named ("is a PNG image").
Result<std::unique_ptr<Document>> open_document(const std::string& path);
Result<std::unique_ptr<Document>> open_document(std::shared_ptr<const MappedFile> file);

/// Collects the output in memory (tests, re-checks of small files).
class MemorySink : public ByteSink {
 public:
  Status append(Bytes bytes) override;
  Status append_range(const MappedFile& file, std::uint64_t offset, std::uint64_t length) override;
  std::string bytes;
};

/// Writes through a temporary file beside `path`: fsync, then rename on commit(). Without commit() nothing is
/// left.
class AtomicFileSink : public ByteSink {
 public:
  static Result<std::unique_ptr<AtomicFileSink>> create(const std::string& path);
  ~AtomicFileSink() override;
  Status append(Bytes bytes) override;
  Status append_range(const MappedFile& file, std::uint64_t offset, std::uint64_t length) override;
  const std::string& temporary_path() const { return temporary_; }
  Status flush();   ///< everything on disk, so that the temporary file can be opened and checked
  Status commit();  ///< rename to the final path

 private:
  AtomicFileSink() = default;
  std::string path_, temporary_;
  int fd_ = -1;
  bool committed_ = false;
};

}  // namespace md
