// The opener of a format whose reader is not part of this build yet.
#include "lib/format/document.h"

namespace md {

Result<std::unique_ptr<Document>> open_pte(std::shared_ptr<const MappedFile> file) {
  return fail(Error::Kind::unsupported, file->path() + ": is an ExecuTorch program; .pte is not supported by this build");
}

}  // namespace md
