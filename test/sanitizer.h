// What the tests need to know of a build under the sanitizers: everything takes ten times as long there, and
// memory cannot be limited, because the address sanitizer maps terabytes.
#pragma once
#include <cstddef>

namespace md::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif
/// Exhaustive damage is done at every place, under the sanitizers at every eleventh.
inline constexpr std::size_t damage_stride = under_sanitizer ? 11 : 1;

}  // namespace md::test
