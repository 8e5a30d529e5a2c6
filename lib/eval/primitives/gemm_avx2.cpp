// The float product compiled for AVX2 and FMA: four times the width and work of the baseline, chosen at run
// time.
//
// Everything of Eigen that is compiled here lives in a namespace of its own, and the standard library is
// included before the instruction set is raised: no function of this file can replace one that an older
// processor runs.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iosfwd>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#pragma GCC target("avx2,fma")
// The compiler does not define these for the pragma (it has read the file by then), and Eigen goes by them.
#ifndef __AVX2__
#define __SSE3__ 1
#define __SSSE3__ 1
#define __SSE4_1__ 1
#define __SSE4_2__ 1
#define __AVX__ 1
#define __AVX2__ 1
#define __FMA__ 1
#endif
#define Eigen eigen_for_avx2
#include <Eigen/Core>

namespace md::avx2 {
namespace {
#include "lib/eval/primitives/gemm_product.h"
}  // namespace

void multiply(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k, bool transposed);
void multiply(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k, bool transposed) {
  product(a, lda, b, ldb, c, ldc, m, n, k, transposed);
}

}  // namespace md::avx2
#endif
