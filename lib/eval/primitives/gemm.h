// Matrix products, row-major, through Eigen; in the widest vector code that this machine has.
#pragma once
#include <cstddef>

namespace md {

/// c[m x n] = a[m x k] * transposed(b[n x k]). Rows are ld* elements apart.
void multiply_transposed(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c,
                         std::size_t ldc, std::size_t m, std::size_t n, std::size_t k);
void multiply_transposed(const double* a, std::size_t lda, const double* b, std::size_t ldb, double* c,
                         std::size_t ldc, std::size_t m, std::size_t n, std::size_t k);
/// c[m x n] = a[m x k] * b[k x n].
void multiply(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k);
void multiply(const double* a, std::size_t lda, const double* b, std::size_t ldb, double* c, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k);

}  // namespace md
