// Which file is mapped where, for a handler of SIGBUS: fixed tables without locks.
#pragma once
#include <cstddef>
#include <string>

namespace md {

/// Notes a mapping; of more than a few hundred at a time some are not noted.
void remember_mapping(const std::string& path, const void* begin, std::size_t size);
void forget_mapping(const void* begin);
/// The file that is mapped at an address, its control characters replaced; null when none is known.
/// Async-signal-safe.
const char* mapped_path_at(const void* address) noexcept;

}  // namespace md
