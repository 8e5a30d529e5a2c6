#include "lib/eval/primitives/gemm.h"

#include <Eigen/Core>

namespace md {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
namespace avx2 {
void multiply(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k, bool transposed);
}
#endif

namespace {

#include "lib/eval/primitives/gemm_product.h"

void product_f32(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc,
                 std::size_t m, std::size_t n, std::size_t k, bool transposed) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (wide) return avx2::multiply(a, lda, b, ldb, c, ldc, m, n, k, transposed);
#endif
  product(a, lda, b, ldb, c, ldc, m, n, k, transposed);
}

}  // namespace

void multiply_transposed(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c,
                         std::size_t ldc, std::size_t m, std::size_t n, std::size_t k) {
  product_f32(a, lda, b, ldb, c, ldc, m, n, k, true);
}
void multiply_transposed(const double* a, std::size_t lda, const double* b, std::size_t ldb, double* c,
                         std::size_t ldc, std::size_t m, std::size_t n, std::size_t k) {
  product(a, lda, b, ldb, c, ldc, m, n, k, true);
}
void multiply(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k) {
  product_f32(a, lda, b, ldb, c, ldc, m, n, k, false);
}
void multiply(const double* a, std::size_t lda, const double* b, std::size_t ldb, double* c, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k) {
  product(a, lda, b, ldb, c, ldc, m, n, k, false);
}

}  // namespace md
