#include "lib/format/pte/dialect.h"

#include <cstring>

namespace md {
namespace {

bool recognizes(Bytes file) { return file.size() >= 8 && std::memcmp(file.data() + 4, "ET12", 4) == 0; }

}  // namespace

constinit const Dialect dialect_pte = {
    .name = "pte",
    .extension = ".pte",
    .recognizes = recognizes,
    .open = open_pte,
    .lowered = true,
    .numbered_names = true,
};

}  // namespace md
