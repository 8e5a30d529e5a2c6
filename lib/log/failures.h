// One failure is one failure: which failing records of a run belong together, and which one leads.
#pragma once
#include <cstddef>
#include <vector>

#include "lib/log/record_builder.h"

namespace md {

/// Numbers the failing records of a load. Each refused operator is a failure of its own; lines that one tool
/// writes below each other while it gives up, and the exception that follows them, are one. The lines of what
/// only reports it again are listed with the record that leads.
void number_failures(std::vector<RecordBuilder::Entry>& entries, std::size_t load);

}  // namespace md
