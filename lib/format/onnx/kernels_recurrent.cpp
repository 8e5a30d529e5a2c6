// Kernels of RNN, GRU and LSTM, one step and one row of the batch after the other.
#include <cmath>
#include <functional>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/sums.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;

template <class T>
using Function = std::function<T(T)>;

/// A gate's function by its name; null: there is none of this name.
template <class T>
Function<T> function_of(std::string name, std::optional<double> alpha, std::optional<double> beta) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto a = [&](double otherwise) { return static_cast<T>(alpha.value_or(otherwise)); };
  const T b = static_cast<T>(beta.value_or(name == "hardsigmoid" ? 0.5 : 1.0));
  if (name == "sigmoid") return [](T v) { return logistic(v); };
  if (name == "tanh") return [](T v) { return std::tanh(v); };
  if (name == "relu") return [](T v) { return v < T(0) ? T(0) : v; };
  if (name == "affine") return [k = a(1), c = static_cast<T>(beta.value_or(0))](T v) { return k * v + c; };
  if (name == "leakyrelu") return [k = a(0.01)](T v) { return v < T(0) ? k * v : v; };
  if (name == "thresholdedrelu") return [k = a(1)](T v) { return v >= k ? v : T(0); };
  if (name == "scaledtanh") return [k = a(1), b](T v) { return k * std::tanh(b * v); };
  if (name == "hardsigmoid") return [k = a(0.2), b](T v) { return clamped(k * v + b, T(0), T(1)); };
  if (name == "elu") return [k = a(1)](T v) { return v >= T(0) ? v : k * std::expm1(v); };
  if (name == "softsign") return [](T v) { return v / (T(1) + std::abs(v)); };
  if (name == "softplus") return [](T v) { return std::max(v, T(0)) + std::log1p(std::exp(-std::abs(v))); };
  return nullptr;
}

struct Sizes {
  std::size_t steps, batch, input, hidden, directions, gates;
  bool batch_first;
};

enum class Cell { rnn, gru, lstm };

/// The operands of one direction.
template <class T>
struct Weights {
  const T *w, *r, *bias, *peephole;  ///< bias and peephole may be null
};

template <class T>
class Recurrence {
 public:
  Recurrence(KernelCall& call, const Sizes& sizes, Cell cell)
      : call_(call),
        s_(sizes),
        cell_(cell),
        sums_(call.mode(), call.mode().sums_in_f16(), call.options.watch_sums) {
    clip_ = call.attrs().number("clip", 0);
    couples_ = call.attrs().flag("input_forget");
    linear_before_reset_ = call.attrs().flag("linear_before_reset");
  }
  ~Recurrence() { call_.watch(sums_.largest()); }

  /// f, g and h of the direction.
  bool set_functions(std::size_t direction) {
    const std::size_t each = cell_ == Cell::rnn ? 1 : cell_ == Cell::gru ? 2 : 3;
    static constexpr const char* usual[] = {"sigmoid", "tanh", "tanh"};
    const auto* names = onnx::texts(call_, "activations");
    const auto *alphas = onnx::reals(call_, "activation_alpha"),
               *betas = onnx::reals(call_, "activation_beta");
    functions_.clear();
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t k = direction * each + i;
      const std::string name = names && k < names->size() ? (*names)[k]
                               : cell_ == Cell::rnn       ? "tanh"
                                                          : usual[i];
      const auto pick = [&](const std::vector<double>* list) {
        return list && k < list->size() ? std::optional(static_cast<double>((*list)[k])) : std::nullopt;
      };
      functions_.push_back(function_of<T>(name, pick(alphas), pick(betas)));
      if (!functions_.back()) return false;
    }
    return true;
  }

  /// One step of one row: h and c are changed.
  void step(const Weights<T>& w, const T* x, T* h, T* c) {
    const std::size_t n = s_.hidden;
    const auto dot = [&](const T* row, const T* v, std::size_t k) {
      return sums_.template sum<T>(k, [&](std::size_t i) { return row[i] * v[i]; });
    };
    const auto input = [&](std::size_t gate, std::size_t j) {
      return dot(w.w + (gate * n + j) * s_.input, x, s_.input);
    };
    const auto recurrent = [&](std::size_t gate, std::size_t j, const T* v) {
      return dot(w.r + (gate * n + j) * n, v, n);
    };
    const auto wb = [&](std::size_t gate, std::size_t j) { return w.bias ? w.bias[gate * n + j] : T(0); };
    const auto rb = [&](std::size_t gate, std::size_t j) {
      return w.bias ? w.bias[(s_.gates + gate) * n + j] : T(0);
    };
    const auto clipped = [&](T v) {
      return clip_ > 0 ? clamped(v, static_cast<T>(-clip_), static_cast<T>(clip_)) : v;
    };
    const auto plain = [&](std::size_t gate, std::size_t j) {
      return input(gate, j) + recurrent(gate, j, h) + wb(gate, j) + rb(gate, j);
    };
    std::vector<T> next(n);
    if (cell_ == Cell::rnn) {
      for (std::size_t j = 0; j < n; ++j) next[j] = functions_[0](clipped(plain(0, j)));
    } else if (cell_ == Cell::gru) {  // gates z, r, h
      std::vector<T> z(n), reset(n), kept(n);
      for (std::size_t j = 0; j < n; ++j) {
        z[j] = functions_[0](clipped(plain(0, j))), reset[j] = functions_[0](clipped(plain(1, j)));
        kept[j] = reset[j] * h[j];
      }
      for (std::size_t j = 0; j < n; ++j) {
        const T old = linear_before_reset_ ? reset[j] * (recurrent(2, j, h) + rb(2, j))
                                           : recurrent(2, j, kept.data()) + rb(2, j);
        const T candidate = functions_[1](clipped(input(2, j) + old + wb(2, j)));
        next[j] = (T(1) - z[j]) * candidate + z[j] * h[j];
      }
    } else {  // gates i, o, f, c; peepholes i, o, f
      const auto peep = [&](std::size_t k, std::size_t j, T cell) {
        return w.peephole ? w.peephole[k * n + j] * cell : T(0);
      };
      for (std::size_t j = 0; j < n; ++j) {
        const T i = functions_[0](clipped(plain(0, j) + peep(0, j, c[j])));
        const T f = couples_ ? T(1) - i : functions_[0](clipped(plain(2, j) + peep(2, j, c[j])));
        const T candidate = functions_[1](clipped(plain(3, j)));
        const T cell = f * c[j] + i * candidate;
        const T o = functions_[0](clipped(plain(1, j) + peep(1, j, cell)));
        c[j] = cell, next[j] = o * functions_[2](cell);
      }
    }
    std::copy(next.begin(), next.end(), h);
  }

 private:
  KernelCall& call_;
  const Sizes& s_;
  Cell cell_;
  Summation sums_;
  double clip_ = 0;
  bool couples_ = false, linear_before_reset_ = false;
  std::vector<Function<T>> functions_;
};

Result<Sizes> sizes_of(KernelCall& call, Cell cell) {
  if (auto ok = call.need(3); !ok) return tl::make_unexpected(ok.error());
  const Tensor &x = call.in(0), &w = call.in(1), &r = call.in(2);
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3) return call.bad("expected operands of rank 3");
  Sizes s{};
  s.batch_first = call.attrs().flag("layout");
  s.gates = cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4;
  s.steps = at(x.shape[s.batch_first ? 1 : 0]), s.batch = at(x.shape[s.batch_first ? 0 : 1]),
  s.input = at(x.shape[2]);
  s.directions = at(w.shape[0]), s.hidden = at(r.shape[2]);
  const bool both = call.attrs().text("direction", "forward") == "bidirectional";
  if (s.directions != (both ? 2u : 1u) || w.shape[1] != static_cast<std::int64_t>(s.gates * s.hidden) ||
      at(w.shape[2]) != s.input || r.shape[1] != w.shape[1] || r.shape[0] != w.shape[0])
    return call.bad("weights that do not fit");
  const std::size_t state = s.directions * s.batch * s.hidden;
  const std::size_t wanted[] = {0,       0,     0,     2 * s.directions * s.gates * s.hidden,
                                s.batch, state, state, s.directions * 3 * s.hidden};
  for (std::size_t i = 3; i < 8; ++i)
    if (call.has(i) && call.in(i).size() != wanted[i])
      return call.bad(fmt::format("operand {} does not fit", i));
  const double each = static_cast<double>(s.gates * s.hidden) * static_cast<double>(s.input + s.hidden);
  if (auto fits = charge(call, each * static_cast<double>(s.steps * s.batch * s.directions)); !fits)
    return tl::make_unexpected(fits.error());
  return s;
}

Status recurrent(KernelCall& call, Cell cell) {
  const auto found = sizes_of(call, cell);
  if (!found) return tl::make_unexpected(found.error());
  const Sizes& s = *found;
  const bool backward = call.attrs().text("direction", "forward") == "reverse";
  const auto lengths = onnx::operand_numbers(call, 4);
  return with_floats(call, call.in(0).dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const As<T> x(call.in(0)), w(call.in(1)), r(call.in(2));
    std::optional<As<T>> bias, first_h, first_c, peephole;
    if (call.has(3)) bias.emplace(call.in(3));
    if (call.has(5)) first_h.emplace(call.in(5));
    if (call.has(6) && cell == Cell::lstm) first_c.emplace(call.in(6));
    if (call.has(7) && cell == Cell::lstm) peephole.emplace(call.in(7));
    const std::size_t n = s.hidden, state = s.directions * s.batch * n;
    std::vector<T> all(s.steps * state, T(0)), last_h(state, T(0)), last_c(state, T(0));
    // [directions, batch, hidden], or batch first.
    const auto place = [&](std::size_t d, std::size_t b) {
      return (s.batch_first ? b * s.directions + d : d * s.batch + b) * n;
    };
    Recurrence<T> cells(call, s, cell);
    for (std::size_t d = 0; d < s.directions; ++d) {
      if (!cells.set_functions(d)) return call.unsupported("with these activations");
      const Weights<T> weights{w.data() + d * s.gates * n * s.input, r.data() + d * s.gates * n * n,
                               bias ? bias->data() + d * 2 * s.gates * n : nullptr,
                               peephole ? peephole->data() + d * 3 * n : nullptr};
      for (std::size_t b = 0; b < s.batch; ++b) {
        std::vector<T> h(n, T(0)), c(n, T(0));
        if (first_h) std::copy_n(first_h->data() + place(d, b), n, h.begin());
        if (first_c) std::copy_n(first_c->data() + place(d, b), n, c.begin());
        const std::size_t length =
            lengths ? at(std::clamp<std::int64_t>((*lengths)[b], 0, static_cast<std::int64_t>(s.steps)))
                    : s.steps;
        for (std::size_t k = 0; k < length; ++k) {
          const std::size_t t = backward || d == 1 ? length - 1 - k : k;
          cells.step(weights, x.data() + (s.batch_first ? b * s.steps + t : t * s.batch + b) * s.input,
                     h.data(), c.data());
          const std::size_t to = s.batch_first ? ((b * s.steps + t) * s.directions + d) * n
                                               : ((t * s.directions + d) * s.batch + b) * n;
          std::copy(h.begin(), h.end(), all.begin() + static_cast<std::ptrdiff_t>(to));
        }
        std::copy(h.begin(), h.end(), last_h.begin() + static_cast<std::ptrdiff_t>(place(d, b)));
        std::copy(c.begin(), c.end(), last_c.begin() + static_cast<std::ptrdiff_t>(place(d, b)));
      }
    }
    const auto t = static_cast<std::int64_t>(s.steps), b = static_cast<std::int64_t>(s.batch),
               d = static_cast<std::int64_t>(s.directions), k = static_cast<std::int64_t>(n);
    const Shape shapes[] = {s.batch_first ? Shape{b, t, d, k} : Shape{t, d, b, k},
                            s.batch_first ? Shape{b, d, k} : Shape{d, b, k}};
    const std::vector<T>* results[] = {&all, &last_h, &last_c};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!onnx::wants(call, i)) continue;
      if (auto ok = give_numbers<T>(
              call, i, shapes[i == 0 ? 0 : 1],
              [&](std::span<T> to) { std::copy(results[i]->begin(), results[i]->end(), to.begin()); });
          !ok)
        return ok;
    }
    return {};
  });
}
Status rnn(KernelCall& call) { return recurrent(call, Cell::rnn); }
Status gru(KernelCall& call) { return recurrent(call, Cell::gru); }
Status lstm(KernelCall& call) { return recurrent(call, Cell::lstm); }

constexpr KernelEntry entries[] = {
    {"GRU", gru},
    {"LSTM", lstm},
    {"RNN", rnn},
};

}  // namespace

std::span<const KernelEntry> onnx_recurrent_kernels() { return entries; }

}  // namespace md
