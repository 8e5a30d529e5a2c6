// The one way this program asks Eigen for a product. Included inside a namespace, once for each set of vector
// instructions.
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// c[m x n] = a[m x k] * b, where b is [k x n], or [n x k] when `transposed`.
template <class T>
void product(const T* a, std::size_t lda, const T* b, std::size_t ldb, T* c, std::size_t ldc, std::size_t m,
             std::size_t n, std::size_t k, bool transposed) {
  using In = Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>;
  using Index = Eigen::Index;
  const auto view = [](const T* p, std::size_t rows, std::size_t columns, std::size_t ld) {
    return In(p, static_cast<Index>(rows), static_cast<Index>(columns),
              Eigen::OuterStride<>(static_cast<Index>(ld)));
  };
  Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>> out(c, static_cast<Index>(m), static_cast<Index>(n),
                                                     Eigen::OuterStride<>(static_cast<Index>(ldc)));
  if (k == 0)
    out.setZero();
  else if (transposed)
    out.noalias() = view(a, m, k, lda) * view(b, n, k, ldb).transpose();
  else
    out.noalias() = view(a, m, k, lda) * view(b, k, n, ldb);
}
