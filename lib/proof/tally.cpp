#include "lib/proof/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/kernel.h"

namespace md {
namespace {

void note_difference(WorstDifference& worst, const Difference& d) {
  worst.max_abs = std::max(worst.max_abs, d.max_abs);
  worst.max_rel = std::max(worst.max_rel, d.max_rel);
}

/// Of an output or of all: both keep the worst the same way.
template <typename Result>
void keep_worst(Result& result, const Difference& d, bool ordinary) {
  result.max_abs = std::max(result.max_abs, d.max_abs);
  result.max_rel = std::max(result.max_rel, d.max_rel);
  result.max_ulp = std::max(result.max_ulp, d.max_ulp);
  note_difference(ordinary ? result.ordinary : result.extreme, d);
}

std::string element_of(const Shape& shape, std::size_t element) {
  const auto strides = strides_of(shape);
  std::string text;
  for (std::size_t d = 0; d < shape.size(); ++d)
    text += fmt::format("{}{}", d ? "," : "",
                        strides[d] ? static_cast<std::int64_t>(element) / strides[d] % shape[d] : 0);
  return "[" + text + "]";
}

/// Rows with the same largest element, and rows.
std::pair<std::int64_t, std::int64_t> argmax_rows(const Tensor& a, const Tensor& b) {
  if (a.rank() < 2 || a.rank() > 3 || a.shape.back() < 2 || a.shape != b.shape ||
      (!a.is_float() && !a.quantization))
    return {0, 0};
  const auto x = a.numbers(), y = b.numbers();
  const auto n = static_cast<std::ptrdiff_t>(a.shape.back());
  std::int64_t same = 0, rows = 0;
  for (std::ptrdiff_t at = 0; at + n <= static_cast<std::ptrdiff_t>(x.size()); at += n, ++rows)
    same += std::max_element(x.begin() + at, x.begin() + at + n) - x.begin() ==
            std::max_element(y.begin() + at, y.begin() + at + n) - y.begin();
  return {same, rows};
}

Tolerance tolerance_of(const CompareOptions& options) {
  if (options.rtol || options.atol)
    return Tolerance::stated(options.rtol.value_or(0), options.atol.value_or(0));
  return Tolerance::of_model(options.exactness, options.max_error, options.nonfinite_stated);
}

/// Whether output k may be as it is; counts elements where A itself leaves the range of floats, and those
/// where the sums of B do, beside others where A's do: near the largest float any order may, and squares of
/// what is left where such sums cancel. Ordinary numbers have no such excuse.
bool acceptable(const Tolerance& tolerance, const ModelOutputs& o, std::size_t k, bool ordinary,
                std::int64_t& left_range) {
  if (o.a[k].shape != o.b[k].shape) return false;
  const Tensor* exact = k < o.exact.size() ? &o.exact[k] : nullptr;
  Yardstick yardstick = measure(o.a[k], exact, 0);
  const auto x = o.a[k].real_values(), y = o.b[k].real_values();
  const auto right = exact ? exact->real_values() : std::vector<double>{};
  yardstick.overflows =
      !ordinary && std::any_of(x.begin(), x.end(), [](double v) { return !std::isfinite(v); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Apart apart =
        tolerance.compare(x[i], y[i], exact ? std::optional(right[i]) : std::nullopt, yardstick);
    if (apart == Apart::beyond) return false;
    if (apart == Apart::overflow || (apart != Apart::same && !std::isfinite(x[i]))) ++left_range;
  }
  return true;
}

}  // namespace

Tally::Tally(ModelComparison& result, const CompareOptions& options)
    : result_(result), tolerance_(tolerance_of(options)), shown_(result.outputs.size(), -1) {}

bool Tally::add(const ModelOutputs& o, const std::string& text, bool ordinary) {
  result_.evaluated = true;
  ++result_.samples;
  ++(ordinary ? result_.ordinary : result_.extreme).samples;
  bool good = true;
  for (std::size_t k = 0; k < o.a.size(); ++k) {
    const bool fine = acceptable(tolerance_, o, k, ordinary, left_range_);
    result_.outputs[k].equal = result_.outputs[k].equal && fine;
    good = good && fine;
    count(k, o, fine, text, ordinary);
  }
  all_good_ = all_good_ && good;
  return good;
}

void Tally::count(std::size_t k, const ModelOutputs& o, bool fine, const std::string& text, bool ordinary) {
  const Tensor& x = o.a[k];
  const Tensor& y = o.b[k];
  OutputComparison& output = result_.outputs[k];
  output.shape = x.shape, output.dtype = x.dtype;
  ++(ordinary ? output.ordinary : output.extreme).samples;
  const Difference d = compare_tensors(x, y);
  // Where A's own rounding is that far from the exact result, being as far says nothing about B.
  const auto promised = tolerance_.relative();
  if (fine && promised && x.is_float() && d.max_rel > *promised) {
    ++ill_conditioned_;
    return;
  }
  if (d.differing && d.same_shape && d.worst < x.size() && tells_more(output, k, d, fine, ordinary))
    output.where =
        fmt::format("{}: {} in A, {} in B ({})", element_of(x.shape, d.worst),
                    short_number(x.real_values()[d.worst]), short_number(y.real_values()[d.worst]), text);
  if (!d.same_shape)
    output.where = fmt::format("shape {} in A, {} in B", shape_text(x.shape), shape_text(y.shape));
  output.nonfinite += d.nonfinite;
  keep_worst(output, d, ordinary);
  keep_worst(result_, d, ordinary);
  const auto [same, total] = argmax_rows(x, y);
  same_rows_ += same, rows_ += total;
}

void Tally::finish() {
  if (rows_ > 0) result_.argmax_agreement = static_cast<double>(same_rows_) / static_cast<double>(rows_);
  if (left_range_ > 0)
    result_.note = fmt::format("{} elements leave the range of floats in A on extreme inputs", left_range_);
  if (ill_conditioned_ > 0)
    result_.note += fmt::format(
        "{}on {} samples the first model's own rounding errors are as large as the differences, which are "
        "not counted",
        result_.note.empty() ? "" : "; ", ill_conditioned_);
  result_.equal = result_.evaluated && all_good_ && result_.interface_differences.empty();
}

bool Tally::tells_more(const OutputComparison& output, std::size_t k, const Difference& d, bool fine,
                       bool ordinary) {
  const int rank = (fine ? 0 : 2) + (ordinary ? 1 : 0);
  const double before = (ordinary ? output.ordinary : output.extreme).max_abs;
  if (rank < shown_[k] || (rank == shown_[k] && d.nonfinite == 0 && d.max_abs <= before)) return false;
  shown_[k] = rank;
  return true;
}

}  // namespace md
