#include "lib/eval/gemm.h"

#include <Eigen/Core>

namespace md {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using In = Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using Out = Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>;

template <class T>
In<T> view(const T* p, std::size_t rows, std::size_t columns, std::size_t ld) {
  return {p, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns), Eigen::OuterStride<>(static_cast<Eigen::Index>(ld))};
}

template <class T>
void product(const T* a, std::size_t lda, const T* b, std::size_t ldb, T* c, std::size_t ldc, std::size_t m, std::size_t n, std::size_t k, bool transposed) {
  Out<T> out(c, static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(n), Eigen::OuterStride<>(static_cast<Eigen::Index>(ldc)));
  if (k == 0) out.setZero();
  else if (transposed) out.noalias() = view(a, m, k, lda) * view(b, n, k, ldb).transpose();
  else out.noalias() = view(a, m, k, lda) * view(b, k, n, ldb);
}

}  // namespace

void multiply_transposed(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc, std::size_t m, std::size_t n, std::size_t k) {
  product(a, lda, b, ldb, c, ldc, m, n, k, true);
}
void multiply_transposed(const double* a, std::size_t lda, const double* b, std::size_t ldb, double* c, std::size_t ldc, std::size_t m, std::size_t n, std::size_t k) {
  product(a, lda, b, ldb, c, ldc, m, n, k, true);
}
void multiply(const float* a, std::size_t lda, const float* b, std::size_t ldb, float* c, std::size_t ldc, std::size_t m, std::size_t n, std::size_t k) {
  product(a, lda, b, ldb, c, ldc, m, n, k, false);
}
void multiply(const double* a, std::size_t lda, const double* b, std::size_t ldb, double* c, std::size_t ldc, std::size_t m, std::size_t n, std::size_t k) {
  product(a, lda, b, ldb, c, ldc, m, n, k, false);
}

}  // namespace md
