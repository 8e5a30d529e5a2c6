// Recurrent cells with float weights: LSTM, plain RNN, SVDF, one step or a whole sequence. State that a file
// keeps in variable tensors is read here and starts at zero; one run of a model leaves it as it was.
#include <array>

#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

template <class T>
using Numbers = std::span<const T>;

/// All present operands are floats of one type: weights of eight bits are not computed here.
Status check_floats(const KernelCall& call, Store store) {
  for (std::size_t i = 0; i < call.count(); ++i)
    if (call.has(i) && call.in(i).store() != store) return call.unsupported("with quantized weights");
  return {};
}

/// A recurrent network's input as steps of rows: element (step, row) begins at `step * step_stride + row *
/// row_stride`.
struct Sequence {
  std::int64_t steps = 1, rows = 1, width = 0, step_stride = 0, row_stride = 0;
};
std::optional<Sequence> sequence_of(const Shape& shape, bool whole, bool time_major) {
  if (shape.size() != (whole ? 3u : 2u)) return std::nullopt;
  Sequence s;
  s.width = shape.back();
  if (!whole) {
    s.rows = shape[0], s.row_stride = s.width;
  } else if (time_major) {
    s.steps = shape[0], s.rows = shape[1], s.row_stride = s.width, s.step_stride = s.rows * s.width;
  } else {
    s.rows = shape[0], s.steps = shape[1], s.step_stride = s.width, s.row_stride = s.steps * s.width;
  }
  return s;
}

bool is_matrix(const Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  return tensor.shape.size() == 2 && tensor.shape[0] == rows && tensor.shape[1] == columns;
}

/// out[i] += matrix[i, :] . x
template <class T>
void add_product(const Tensor& matrix, const T* x, std::span<T> out) {
  const auto m = matrix.data<T>();
  const auto columns = static_cast<std::size_t>(matrix.shape[1]);
  for (std::size_t i = 0; i < out.size(); ++i) {
    T sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += m[i * columns + k] * x[k];
    out[i] += sum;
  }
}

template <class T>
T logistic(T v) {
  return T(1) / (T(1) + std::exp(-v));
}

template <class T>
void clip(std::span<T> values, double limit) {
  if (limit > 0)
    for (T& v : values) v = std::clamp(v, static_cast<T>(-limit), static_cast<T>(limit));
}

/// The operands of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM.
enum Operand : std::size_t {
  input = 0,
  to_gate = 1,
  recurrent = 5,
  peephole = 9,
  bias = 12,
  projection = 16
};
enum Operand2 : std::size_t { projection_bias = 17, hidden_state = 18, cell_state = 19, norm = 20 };

template <class T>
class Lstm {
 public:
  explicit Lstm(KernelCall& call) : call_(call) {}

  Status run(bool whole) {
    if (call_.count() < 20 || !call_.has(input) || !call_.has(hidden_state) || !call_.has(cell_state))
      return call_.bad("takes 20 or 24 operands");
    if (auto ok = check_floats(call_, call_.in(input).store()); !ok) return ok;
    const auto sequence = sequence_of(call_.in(input).shape, whole, call_.attrs().flag("time_major"));
    if (!sequence) return call_.bad("the input's rank does not fit");
    cells_ = call_.in(cell_state).shape.empty() ? 0 : call_.in(cell_state).shape.back();
    outputs_ = call_.in(hidden_state).shape.empty() ? 0 : call_.in(hidden_state).shape.back();
    if (auto ok = check_shapes(*sequence); !ok) return ok;
    const auto activation = fused_activation(call_.attrs());
    if (!activation) return call_.unsupported("with that activation");
    Shape shape = call_.in(input).shape;
    shape.back() = outputs_;
    auto out = call_.make_output(0, shape);
    if (!out) return tl::make_unexpected(out.error());
    const auto x = call_.in(input).template data<T>();
    auto y = out->template mutable_data<T>();
    const std::int64_t out_row = sequence->row_stride / std::max<std::int64_t>(sequence->width, 1) * outputs_;
    const std::int64_t out_step =
        sequence->step_stride / std::max<std::int64_t>(sequence->width, 1) * outputs_;
    for (std::int64_t r = 0; r < sequence->rows; ++r) {
      const auto first = [&](std::size_t operand, std::int64_t width) {
        const auto all = call_.in(operand).template data<T>().subspan(static_cast<std::size_t>(r * width));
        return std::vector<T>(all.begin(), all.begin() + width);
      };
      std::vector<T> h = first(hidden_state, outputs_), c = first(cell_state, cells_);
      for (std::int64_t t = 0; t < sequence->steps; ++t) {
        step(&x[static_cast<std::size_t>(t * sequence->step_stride + r * sequence->row_stride)], h, c,
             *activation);
        std::copy(h.begin(), h.end(), y.begin() + static_cast<std::ptrdiff_t>(t * out_step + r * out_row));
      }
    }
    call_.outputs[0] = std::move(*out);
    return {};
  }

 private:
  Status check_shapes(const Sequence& s) {
    for (std::size_t g = 0; g < 4; ++g) {
      if (g == 0 && !call_.has(to_gate)) continue;  // the input gate may be 1 - forget gate
      if (!call_.has(to_gate + g) || !is_matrix(call_.in(to_gate + g), cells_, s.width) ||
          !call_.has(recurrent + g) || !is_matrix(call_.in(recurrent + g), cells_, outputs_))
        return call_.bad("the weights do not fit the input and the state");
      for (const std::size_t at : {bias + g, norm + g})
        if (call_.has(at) && static_cast<std::int64_t>(call_.in(at).size()) != cells_)
          return call_.bad("a gate's bias does not fit the state");
    }
    for (std::size_t p = 0; p < 3; ++p)
      if (call_.has(peephole + p) && static_cast<std::int64_t>(call_.in(peephole + p).size()) != cells_)
        return call_.bad("a peephole does not fit the state");
    if (call_.has(projection) ? !is_matrix(call_.in(projection), outputs_, cells_) : outputs_ != cells_)
      return call_.bad("the projection does not fit the state");
    const auto rows = static_cast<std::size_t>(s.rows);
    if (call_.in(hidden_state).size() < rows * static_cast<std::size_t>(outputs_) ||
        call_.in(cell_state).size() < rows * static_cast<std::size_t>(cells_))
      return call_.bad("the state does not fit the input");
    return {};
  }

  /// Gate 0 input, 1 forget, 2 cell, 3 output, before its activation.
  std::vector<T> gate(std::size_t g, const T* x, const std::vector<T>& h, const std::vector<T>& c) const {
    std::vector<T> v(static_cast<std::size_t>(cells_), T(0));
    add_product<T>(call_.in(to_gate + g), x, v);
    add_product<T>(call_.in(recurrent + g), h.data(), v);
    const std::size_t peep = peephole + (g == 3 ? 2 : g);
    if (g != 2 && call_.has(peep)) {
      const auto p = call_.in(peep).template data<T>();
      for (std::size_t i = 0; i < v.size(); ++i) v[i] += p[i] * c[i];
    }
    if (call_.has(norm + g)) {
      T mean = 0, square = 0;
      for (const T a : v) mean += a;
      mean /= static_cast<T>(v.size());
      for (const T a : v) square += (a - mean) * (a - mean);
      const T scale = T(1) / std::sqrt(square / static_cast<T>(v.size()) + T(1e-8));
      const auto factors = call_.in(norm + g).template data<T>();
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = (v[i] - mean) * scale * factors[i];
    }
    if (call_.has(bias + g)) {
      const auto b = call_.in(bias + g).template data<T>();
      for (std::size_t i = 0; i < v.size(); ++i) v[i] += b[i];
    }
    return v;
  }

  void step(const T* x, std::vector<T>& h, std::vector<T>& c, Activation activation) const {
    std::vector<T> forget = gate(1, x, h, c), fresh = gate(2, x, h, c);
    std::vector<T> keep = call_.has(to_gate) ? gate(0, x, h, c) : std::vector<T>();
    activate<T>(activation, fresh);
    for (std::size_t i = 0; i < c.size(); ++i) {
      const T f = logistic(forget[i]);
      c[i] = f * c[i] + (keep.empty() ? T(1) - f : logistic(keep[i])) * fresh[i];
    }
    clip<T>(c, call_.attrs().number("cell_clip"));
    std::vector<T> open = gate(3, x, h, c), seen = c;
    activate<T>(activation, seen);
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] *= logistic(open[i]);
    if (!call_.has(projection)) {
      h = std::move(seen);
      return;
    }
    std::fill(h.begin(), h.end(), T(0));
    add_product<T>(call_.in(projection), seen.data(), h);
    if (call_.has(projection_bias)) {
      const auto b = call_.in(projection_bias).template data<T>();
      for (std::size_t i = 0; i < h.size() && i < b.size(); ++i) h[i] += b[i];
    }
    clip<T>(h, call_.attrs().number("proj_clip"));
  }

  KernelCall& call_;
  std::int64_t cells_ = 0, outputs_ = 0;
};

/// The five-operand LSTM: x, last output, weights [4n, x + n] of the gates input, cell, forget, output, bias,
/// cell.
template <class T>
Status basic_lstm(KernelCall& call) {
  if (auto ok = call.need(5); !ok) return ok;
  if (auto ok = check_floats(call, call.in(0).store()); !ok) return ok;
  const Tensor &x = call.in(0), &last = call.in(1), &weights = call.in(2), &bias = call.in(3),
               &cell = call.in(4);
  if (x.shape.size() != 2 || last.shape.size() != 2 || cell.shape != last.shape ||
      x.shape[0] != last.shape[0] || !is_matrix(weights, 4 * last.shape[1], x.shape[1] + last.shape[1]) ||
      static_cast<std::int64_t>(bias.size()) != 4 * last.shape[1] || call.outputs.size() < 4)
    return call.bad("the operands do not fit each other");
  const auto rows = static_cast<std::size_t>(x.shape[0]), n = static_cast<std::size_t>(last.shape[1]),
             width = static_cast<std::size_t>(x.shape[1]);
  std::array<Result<Tensor>, 4> out = {call.make_output(0, last.shape), call.make_output(1, last.shape),
                                       call.make_output(2, {x.shape[0], x.shape[1] + last.shape[1]}),
                                       call.make_output(3, {x.shape[0], 4 * last.shape[1]})};
  for (auto& tensor : out)
    if (!tensor) return tl::make_unexpected(tensor.error());
  for (std::size_t r = 0; r < rows; ++r) {
    const auto joined = out[2]->template mutable_data<T>().subspan(r * (width + n), width + n);
    const auto xs = x.data<T>().subspan(r * width, width), hs = last.data<T>().subspan(r * n, n);
    std::copy(hs.begin(), hs.end(), std::copy(xs.begin(), xs.end(), joined.begin()));
    const auto gates = out[3]->template mutable_data<T>().subspan(r * 4 * n, 4 * n);
    std::copy_n(bias.data<T>().begin(), 4 * n, gates.begin());
    add_product<T>(weights, joined.data(), gates);
    for (std::size_t i = 0; i < n; ++i) {
      const T c = logistic(gates[2 * n + i]) * cell.data<T>()[r * n + i] +
                  logistic(gates[i]) * std::tanh(gates[n + i]);
      out[1]->template mutable_data<T>()[r * n + i] = c;
      out[0]->template mutable_data<T>()[r * n + i] = logistic(gates[3 * n + i]) * std::tanh(c);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) call.outputs[i] = std::move(*out[i]);
  return {};
}

/// h = activation(W x + R h + b)
template <class T>
Status plain_rnn(KernelCall& call, bool whole) {
  if (auto ok = call.need(5); !ok) return ok;
  if (auto ok = check_floats(call, call.in(0).store()); !ok) return ok;
  const auto sequence = sequence_of(call.in(0).shape, whole, call.attrs().flag("time_major"));
  const std::int64_t units = call.in(1).shape.empty() ? 0 : call.in(1).shape[0];
  if (!sequence || !is_matrix(call.in(1), units, sequence->width) || !is_matrix(call.in(2), units, units) ||
      static_cast<std::int64_t>(call.in(3).size()) != units ||
      static_cast<std::int64_t>(call.in(4).size()) < sequence->rows * units)
    return call.bad("the operands do not fit each other");
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with that activation");
  Shape shape = call.in(0).shape;
  shape.back() = units;
  auto out = call.make_output(0, shape);
  if (!out) return tl::make_unexpected(out.error());
  const auto n = static_cast<std::size_t>(units);
  const auto x = call.in(0).data<T>(), state = call.in(4).data<T>(), bias = call.in(3).data<T>();
  auto y = out->template mutable_data<T>();
  for (std::int64_t r = 0; r < sequence->rows; ++r) {
    std::vector<T> h(state.begin() + r * units, state.begin() + (r + 1) * units);
    for (std::int64_t t = 0; t < sequence->steps; ++t) {
      const auto from = static_cast<std::size_t>(t * sequence->step_stride + r * sequence->row_stride);
      std::vector<T> next(bias.begin(), bias.end());
      add_product<T>(call.in(1), &x[from], next);
      add_product<T>(call.in(2), h.data(), next);
      activate<T>(*activation, next);
      h = std::move(next);
      std::copy(
          h.begin(), h.end(),
          y.begin() + static_cast<std::ptrdiff_t>(from / static_cast<std::size_t>(sequence->width) * n));
    }
  }
  call.outputs[0] = std::move(*out);
  return {};
}

/// A bank of filters over features and time, with its memory in the state.
template <class T>
Status svdf(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  if (!call.has(4)) return call.bad("operand 4 is missing");
  if (auto ok = check_floats(call, call.in(0).store()); !ok) return ok;
  const Tensor &x = call.in(0), &features = call.in(1), &times = call.in(2), &state = call.in(4);
  const std::int64_t rank = std::max<std::int64_t>(1, call.attrs().integer("rank"));
  if (x.shape.size() != 2 || features.shape.size() != 2 || times.shape.size() != 2 ||
      features.shape[1] != x.shape[1] || times.shape[0] != features.shape[0] ||
      features.shape[0] % rank != 0 ||
      static_cast<std::int64_t>(state.size()) != x.shape[0] * features.shape[0] * times.shape[1])
    return call.bad("the operands do not fit each other");
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with that activation");
  const std::int64_t units = features.shape[0] / rank;
  auto out = call.make_output(0, {x.shape[0], units});
  if (!out) return tl::make_unexpected(out.error());
  const auto filters = static_cast<std::size_t>(features.shape[0]),
             memory = static_cast<std::size_t>(times.shape[1]);
  const auto w = times.data<T>(), kept = state.data<T>();
  auto y = out->template mutable_data<T>();
  for (std::size_t r = 0; r < static_cast<std::size_t>(x.shape[0]); ++r) {
    std::vector<T> newest(filters, T(0));
    add_product<T>(features, &x.data<T>()[r * static_cast<std::size_t>(x.shape[1])], newest);
    for (std::size_t u = 0; u < static_cast<std::size_t>(units); ++u) {
      T sum = call.has(3) ? call.in(3).data<T>()[u] : T(0);
      for (std::size_t f = u * static_cast<std::size_t>(rank); f < (u + 1) * static_cast<std::size_t>(rank);
           ++f)
        for (std::size_t m = 0; m < memory; ++m)
          sum += w[f * memory + m] * (m + 1 < memory ? kept[(r * filters + f) * memory + m + 1] : newest[f]);
      y[r * static_cast<std::size_t>(units) + u] = sum;
    }
  }
  activate<T>(*activation, y);
  call.outputs[0] = std::move(*out);
  return {};
}

/// Calls the float or the double version.
template <class F>
Status by_type(KernelCall& call, F&& f) {
  if (auto ok = call.need(1); !ok) return ok;
  if (call.in(0).store() == Store::f32) return f(float{});
  if (call.in(0).store() == Store::f64) return f(double{});
  return call.unsupported(fmt::format("on {}", name(call.in(0).dtype)));
}

Status lstm_sequence(KernelCall& call) {
  return by_type(call, [&](auto zero) { return Lstm<decltype(zero)>(call).run(true); });
}
Status lstm(KernelCall& call) {
  return by_type(call, [&](auto zero) {
    using T = decltype(zero);
    return call.attrs().text("kernel_type") == "BASIC" ? basic_lstm<T>(call) : Lstm<T>(call).run(false);
  });
}
Status rnn_sequence(KernelCall& call) {
  return by_type(call, [&](auto zero) { return plain_rnn<decltype(zero)>(call, true); });
}
Status rnn(KernelCall& call) {
  return by_type(call, [&](auto zero) { return plain_rnn<decltype(zero)>(call, false); });
}
Status svdf_any(KernelCall& call) {
  return by_type(call, [&](auto zero) { return svdf<decltype(zero)>(call); });
}

}  // namespace

std::span<const KernelEntry> recurrent_kernels() {
  static const std::array rows = {
      KernelEntry{"UNIDIRECTIONAL_SEQUENCE_LSTM", lstm_sequence},
      KernelEntry{"LSTM", lstm},
      KernelEntry{"UNIDIRECTIONAL_SEQUENCE_RNN", rnn_sequence},
      KernelEntry{"RNN", rnn},
      KernelEntry{"SVDF", svdf_any},
  };
  return rows;
}

}  // namespace md
