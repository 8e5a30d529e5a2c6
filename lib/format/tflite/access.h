// Small reads of verified flatbuffer fields that may be absent.
#pragma once
#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace md::tfl {

inline std::string_view text(const flatbuffers::String* s) {
  return s ? std::string_view(s->c_str(), s->size()) : std::string_view();
}

template <class T>
std::size_t length(const flatbuffers::Vector<T>* v) {
  return v ? v->size() : 0;
}

/// Copies with memcpy: the elements of 64-bit vectors may lie at any multiple of 4.
template <class To, class From>
std::vector<To> numbers(const flatbuffers::Vector<From>* v) {
  std::vector<To> out(length(v));
  for (std::size_t i = 0; i < out.size(); ++i) {
    From n;
    std::memcpy(&n, v->Data() + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(n);
  }
  return out;
}

}  // namespace md::tfl
