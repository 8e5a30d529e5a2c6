#include "lib/rewrite/aten/complex_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/complex_sites.h"
#include "lib/rewrite/aten/fourier.h"

namespace md {
namespace {

DType real_of(DType t) { return t == DType::c128 ? DType::f64 : t == DType::c32 ? DType::f16 : DType::f32; }

/// Rewrites the nodes of one region in execution order; every complex value gets its two parts.
class PairRewriter {
 public:
  PairRewriter(const DetectContext& context, ComplexRegion& out)
      : context_(context),
        graph_(context.graph),
        b_(context.graph, context.graph_index, "complex values as pairs (re, im)"),
        out_(out) {}

  void run() {
    for (const NodeId id : out_.nodes) {
      const Node& node = graph_.node(id);
      for (const auto* list : {&node.inputs, &node.outputs})
        for (const ValueId v : *list)
          if (v >= 0 && is_complex(graph_.value(v).dtype) &&
              ((graph_.is_input(v) && context_.graph_index == 0) || graph_.is_output(v)))
            out_.reason =
                fmt::format("{} is a complex input or output of the program: its type is the interface",
                            graph_.value(v).name);
      if (out_.reason.empty() && !rewrite(id, node) && out_.reason.empty())
        out_.reason = fmt::format("no rewrite for {} on complex values", node.op);
      if (!out_.reason.empty()) return;
    }
    out_.patch = b_.take();
  }

 private:
  bool complex(ValueId v) const { return v >= 0 && is_complex(graph_.value(v).dtype); }

  /// A real operand: what stands for it after rewrites of nodes before.
  ValueId real(ValueId v) const {
    const auto it = renamed_.find(v);
    return it == renamed_.end() ? v : it->second;
  }

  /// The parts of any operand; im none_id for a real one.
  RealPair parts(ValueId v) {
    if (!complex(v)) return {real(v), none_id};
    if (const auto it = parts_.find(v); it != parts_.end()) return it->second;
    const Value& value = graph_.value(v);
    if (!value.is_constant() && graph_.is_input(v) && context_.graph_index > 0)
      return parts_[v] = input_parts(v);
    if (!value.is_constant()) return {};
    out_.has_constant = true;
    return parts_[v] = constant_parts(value);
  }

  /// What a branch is given stays complex: its parts are read from it.
  RealPair input_parts(ValueId v) {
    Shape pair = b_.shape(v);
    const int last = static_cast<int>(pair.size());
    pair.push_back(2);
    const ValueId real_view =
        b_.make("aten.view_as_real.default", {{"self", v}}, {}, real_of(b_.dtype(v)), std::move(pair));
    return {b_.select(real_view, last, 0), b_.select(real_view, last, 1)};
  }

  /// An operator with a complex number as its second operand.
  RealPair with_number(const std::string& base, RealPair z, std::pair<double, double> w) {
    const auto by = [&](ValueId x, double factor) { return b_.scalar("aten.mul.Tensor", x, factor); };
    if (base == "aten.add" || base == "aten.sub") {
      const double sign = base == "aten.add" ? 1 : -1;
      return {b_.scalar("aten.add.Tensor", z.re, sign * w.first),
              b_.scalar("aten.add.Tensor", z.im == none_id ? zeros(z.re) : z.im, sign * w.second)};
    }
    if (base == "aten.div") {
      const double square = w.first * w.first + w.second * w.second;
      w = {w.first / square, -w.second / square};
    }
    if (z.im == none_id) return {by(z.re, w.first), by(z.re, w.second)};
    return {b_.binary("aten.sub.Tensor", by(z.re, w.first), by(z.im, w.second)),
            b_.binary("aten.add.Tensor", by(z.re, w.second), by(z.im, w.first))};
  }

  RealPair constant_parts(const Value& value) {
    const std::size_t width = static_cast<std::size_t>(bit_width(value.dtype)) / 16;
    const Bytes bytes = value.constant->bytes;
    std::vector<std::uint8_t> re(bytes.size() / 2), im(bytes.size() / 2);
    for (std::size_t i = 0; i + 2 * width <= bytes.size(); i += 2 * width) {
      std::memcpy(re.data() + i / 2, bytes.data() + i, width);
      std::memcpy(im.data() + i / 2, bytes.data() + i + width, width);
    }
    return {b_.add_constant(value.name + "_re", real_of(value.dtype), value.shape, std::move(re)),
            b_.add_constant(value.name + "_im", real_of(value.dtype), value.shape, std::move(im))};
  }

  bool give(const Node& node, RealPair pair) {
    if (pair.re == none_id || pair.im == none_id) return false;
    parts_[node.outputs[0]] = pair;
    return true;
  }

  /// A real result: readers of the node's output read `value`.
  bool hand_over(NodeId id, const Node& node, ValueId value) {
    b_.bypass(id, node.outputs[0], value);
    renamed_[node.outputs[0]] = value;
    return true;
  }

  bool rewrite(NodeId id, const Node& node) {
    if (aten_is_check(node.op)) return b_.remove(id), true;
    const auto stale = [&](ValueId v) { return stale_.count(v) != 0; };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), stale))
      return out_.reason = "a view of complex values is read after what it shows was written", false;
    const std::string base = aten_base(node.op);
    const bool list = base == "aten.split" || base == "aten.split_with_sizes" || base == "aten.chunk" ||
                      base == "aten.unbind";
    if ((node.outputs.size() != 1 && !list) || !node.subgraphs.empty()) return false;
    if (aten_in_place(node.op)) return written(id, node);
    if (rewrite_reflect_pad(b_, node)) return b_.remove(id), true;
    if (base == "aten.fft_fftshift" || base == "aten.fft_ifftshift") return shifted(id, node, base);
    if (is_fourier(node.op)) return fourier(id, node);
    if (base == "aten.real" || base == "aten.imag")
      return complex(node.inputs[0]) &&
             hand_over(id, node, base == "aten.real" ? parts(node.inputs[0]).re : parts(node.inputs[0]).im);
    const auto any = [&](const std::vector<ValueId>& values) {
      return std::any_of(values.begin(), values.end(), [&](ValueId v) { return complex(v); });
    };
    if (!any(node.inputs) && !any(node.outputs))
      return true;  // a padding of another kind in front of a transform
    b_.remove(id);
    if (base == "aten.view_as_complex") return view_as_complex(node);
    if (base == "aten.view_as_real") return view_as_real(node);
    if (base == "aten.complex")
      return give(node,
                  {real(aten_operand(node, "real") >= 0 ? aten_operand(node, "real") : node.inputs[0]),
                   real(aten_operand(node, "imag") >= 0 ? aten_operand(node, "imag") : node.inputs.back())});
    if (base == "aten.polar") return polar(node);
    if (base == "aten.mul" || base == "aten.div" || base == "aten.add" || base == "aten.sub")
      return arithmetic(node, base);
    if (base == "aten.matmul" || base == "aten.mm" || base == "aten.bmm") return product(node);
    if (base == "aten.einsum") return einsum(node);
    if (base == "aten.reciprocal") return give(node, inverse(parts(node.inputs[0])));
    if (base == "aten.square") return give(node, times(parts(node.inputs[0]), parts(node.inputs[0])));
    if (base == "aten.zeros" || base == "aten.zeros_like" || base == "aten.new_zeros") return nothing(node);
    if ((base == "aten.pad" && node.attrs.text("mode", "constant") == "constant") ||
        base == "aten.constant_pad_nd")
      return node.attrs.number("value") == 0 && on_both(node, base);
    if (base == "aten.conj" || base == "aten._conj" || base == "aten.conj_physical" ||
        base == "aten._conj_physical")
      return conjugate(node);
    if (base == "aten.abs") return magnitude(node);
    if (base == "aten.angle")
      return b_.write("aten.atan2.default",
                      {{"self", parts(node.inputs[0]).im}, {"other", parts(node.inputs[0]).re}}, {},
                      node.outputs[0]),
             true;
    if (base == "aten.exp") return exponential(node);
    if (base == "aten.pow" && node.attrs.number("exponent") == 2)
      return give(node, times(parts(node.inputs[0]), parts(node.inputs[0])));
    if (base == "aten.to" || base == "aten._to_copy") return cast(node);
    return acts_on_parts(base) && on_both(node, base);
  }

  /// What an in-place operator writes becomes the new parts of the tensor, and of what it is a slice of.
  /// Other views of it that are read later are not followed.
  bool written(NodeId id, const Node& node) {
    const ValueId self = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
    if (!complex(self) || graph_.value(self).is_constant() || graph_.is_input(self)) return false;
    const RealPair before = parts(self);
    RealPair now;
    if (aten_base(node.op) == "aten.copy") {
      const ValueId source = aten_operand(node, "src");
      if (source < 0) return false;
      now = parts(source);
      if (now.re == none_id || !element_count(b_.shape(before.re))) return false;
      if (now.im == none_id) now.im = zeros(now.re);
      for (ValueId* part : {&now.re, &now.im})
        if (b_.shape(*part) != b_.shape(before.re)) *part = expand(*part, b_.shape(before.re));
      b_.remove(id);
    } else {
      Node functional = node;
      functional.op = aten_functional(node.op);
      if (!rewrite(id, functional)) return false;
      now = parts(node.outputs[0]);
    }
    if (now.im == none_id) return false;
    if (!put_back(self, now)) return false;
    stale_.erase(node.outputs[0]);
    parts_[node.outputs[0]] = now;
    return true;
  }

  bool put_back(ValueId self, RealPair now) {
    spoil_views(self, 0);
    stale_.erase(self);
    parts_[self] = now;
    const NodeId maker = graph_.producer(self);
    if (maker == none_id || !aten_view(graph_.node(maker).op)) return true;
    const Node& view = graph_.node(maker);
    const std::string base = aten_base(view.op);
    const ValueId whole = view.inputs[0];
    if (stale_.count(whole)) return false;
    if ((base != "aten.slice" && base != "aten.select") || !complex(whole) ||
        graph_.value(whole).is_constant() || graph_.is_input(whole))
      return false;
    const RealPair old = parts(whole);
    if (old.im == none_id) return false;
    const auto with = [&](ValueId into, ValueId part) {
      return b_.make(base == "aten.slice" ? "aten.slice_scatter.default" : "aten.select_scatter.default",
                     {{"self", into}, {"src", part}}, view.attrs, b_.dtype(into), b_.shape(into));
    };
    if (!put_back(whole, {with(old.re, now.re), with(old.im, now.im)})) return false;
    stale_.erase(self);
    return true;
  }

  /// Views of what was written show old numbers: a region that reads one of them later is not rewritten.
  void spoil_views(ValueId whole, int depth) {
    constexpr int deepest = 64;
    for (const Use& use : graph_.uses(whole)) {
      const Node& reader = graph_.node(use.node);
      if ((!aten_view(reader.op) && !aten_in_place(reader.op)) || depth > deepest) continue;
      for (const ValueId v : reader.outputs)
        if (complex(v) && parts_.count(v) && stale_.insert(v).second) spoil_views(v, depth + 1);
    }
  }

  bool view_as_complex(const Node& node) {
    const ValueId x = real(node.inputs[0]);
    const int last = b_.rank(x) - 1;
    return give(node, {b_.select(x, last, 0), b_.select(x, last, 1)});
  }

  bool view_as_real(const Node& node) {
    const RealPair z = parts(node.inputs[0]);
    if (z.im == none_id) return false;
    b_.result_into(node.outputs[0]);
    b_.stack({z.re, z.im}, b_.rank(z.re));
    return true;
  }

  bool polar(const Node& node) {
    const ValueId radius = real(aten_operand(node, "abs") >= 0 ? aten_operand(node, "abs") : node.inputs[0]),
                  angle = real(aten_operand(node, "angle") >= 0 ? aten_operand(node, "angle")
                                                                : node.inputs.back());
    return give(node, {b_.binary("aten.mul.Tensor", radius, b_.unary("aten.cos.default", angle)),
                       b_.binary("aten.mul.Tensor", radius, b_.unary("aten.sin.default", angle))});
  }

  ValueId mul(ValueId a, ValueId b) { return b_.binary("aten.mul.Tensor", a, b); }

  RealPair times(RealPair z, RealPair w) {
    if (w.im == none_id) return {mul(z.re, w.re), mul(z.im, w.re)};
    if (z.im == none_id) return {mul(z.re, w.re), mul(z.re, w.im)};
    return {b_.binary("aten.sub.Tensor", mul(z.re, w.re), mul(z.im, w.im)),
            b_.binary("aten.add.Tensor", mul(z.re, w.im), mul(z.im, w.re))};
  }

  RealPair over(RealPair z, RealPair w) {
    if (w.im == none_id)
      return {b_.binary("aten.div.Tensor", z.re, w.re), b_.binary("aten.div.Tensor", z.im, w.re)};
    const RealPair conjugated{w.re, b_.unary("aten.neg.default", w.im)};
    const RealPair top = times(z, conjugated);
    const ValueId square = b_.binary("aten.add.Tensor", mul(w.re, w.re), mul(w.im, w.im));
    return {b_.binary("aten.div.Tensor", top.re, square), b_.binary("aten.div.Tensor", top.im, square)};
  }

  bool arithmetic(const Node& node, const std::string& base) {
    if (node.attrs.number("alpha", 1) != 1 || node.attrs.find("rounding_mode")) return false;
    const ValueId other = aten_operand(node, "other");
    const RealPair z = parts(aten_operand(node, "self"));
    if (z.re == none_id) return false;
    const std::string op = base + ".Tensor";
    if (other == none_id) {
      const AttrValue* number = node.attrs.find("other");
      if (!number) return false;
      if (const auto w = complex_number(*number)) return give(node, with_number(base, z, *w));
      if (z.im == none_id || std::holds_alternative<std::string>(*number)) return false;
      const bool both = base == "aten.mul" || base == "aten.div";
      return give(node, {b_.scalar(op, z.re, *number), both ? b_.scalar(op, z.im, *number) : z.im});
    }
    const RealPair w = parts(other);
    if (w.re == none_id) return false;
    if (base == "aten.mul") return give(node, times(z, w));
    if (base == "aten.div") return give(node, over(z.im == none_id ? RealPair{z.re, zeros(z.re)} : z, w));
    const ValueId re = b_.binary(op, z.re, w.re);
    if (z.im != none_id && w.im != none_id) return give(node, {re, b_.binary(op, z.im, w.im)});
    ValueId im = z.im != none_id ? z.im : base == "aten.sub" ? b_.unary("aten.neg.default", w.im) : w.im;
    if (b_.shape(im) != b_.shape(re)) im = expand(im, b_.shape(re));
    return give(node, {re, im});
  }

  ValueId expand(ValueId x, const Shape& shape) {
    Attributes attrs;
    attrs.set("size", shape);
    return b_.make("aten.expand.default", {{"self", x}}, std::move(attrs), b_.dtype(x), shape);
  }

  ValueId zeros(ValueId like) {
    Attributes attrs;
    attrs.set("size", b_.shape(like)), attrs.set("fill_value", 0.0),
        attrs.set("dtype", aten_scalar_type(b_.dtype(like)));
    attrs.set("device", std::string("cpu")), attrs.set("pin_memory", false);
    return b_.make("aten.full.default", {}, std::move(attrs), b_.dtype(like), b_.shape(like));
  }

  bool product(const Node& node) {
    if (node.inputs.size() < 2) return false;
    const RealPair a = parts(node.inputs[0]), c = parts(node.inputs[1]);
    if (a.re == none_id || c.re == none_id || b_.rank(a.re) < 2 || b_.rank(c.re) < 2) return false;
    const auto dot = [&](ValueId x, ValueId y) { return b_.matmul(x, y); };
    if (c.im == none_id) return give(node, {dot(a.re, c.re), dot(a.im, c.re)});
    if (a.im == none_id) return give(node, {dot(a.re, c.re), dot(a.re, c.im)});
    return give(node, {b_.binary("aten.sub.Tensor", dot(a.re, c.re), dot(a.im, c.im)),
                       b_.binary("aten.add.Tensor", dot(a.re, c.im), dot(a.im, c.re))});
  }

  /// Bilinear in its two operands: each part of one with each part of the other.
  bool einsum(const Node& node) {
    const auto operands = aten_operands(node, "tensors");
    if (operands.size() != 2 || operands[0] < 0 || operands[1] < 0) return false;
    const RealPair a = parts(operands[0]), c = parts(operands[1]);
    if (a.re == none_id || c.re == none_id) return false;
    const Value& type = graph_.value(node.outputs[0]);
    const auto dot = [&](ValueId x, ValueId y) {
      return b_.make("aten.einsum.default", {{"tensors[0]", x}, {"tensors[1]", y}}, node.attrs,
                     real_of(type.dtype), type.shape);
    };
    if (c.im == none_id) return give(node, {dot(a.re, c.re), dot(a.im, c.re)});
    if (a.im == none_id) return give(node, {dot(a.re, c.re), dot(a.re, c.im)});
    return give(node, {b_.binary("aten.sub.Tensor", dot(a.re, c.re), dot(a.im, c.im)),
                       b_.binary("aten.add.Tensor", dot(a.re, c.im), dot(a.im, c.re))});
  }

  RealPair inverse(RealPair z) {
    if (z.im == none_id) return {};
    const ValueId square = b_.binary("aten.add.Tensor", mul(z.re, z.re), mul(z.im, z.im));
    return {b_.binary("aten.div.Tensor", z.re, square),
            b_.binary("aten.div.Tensor", b_.unary("aten.neg.default", z.im), square)};
  }

  /// The halves of each axis exchanged.
  bool shifted(NodeId id, const Node& node, const std::string& base) {
    const RealPair z = parts(node.inputs[0]);
    const auto dims = aten_dims(node, "dim", graph_.value(node.inputs[0]).rank());
    if (z.im == none_id || !dims) return out_.reason = "the halves of a real tensor exchanged", false;
    b_.remove(id);
    for (const int d : *dims)
      if (b_.shape(z.re)[static_cast<std::size_t>(d)] < 0)
        return out_.reason = "the shifted axis has no fixed size", false;
    const bool forward = base == "aten.fft_fftshift";
    return give(node, {exchange_halves(b_, z.re, *dims, forward), exchange_halves(b_, z.im, *dims, forward)});
  }

  /// Zeros are zeros in both parts.
  bool nothing(const Node& node) {
    const Value& type = graph_.value(node.outputs[0]);
    if (!element_count(type.shape)) return false;
    const ValueId typed = b_.add_value(type.name, real_of(type.dtype), type.shape);
    const ValueId zero = zeros(typed);
    return give(node, {zero, zero});
  }

  bool conjugate(const Node& node) {
    const RealPair z = parts(node.inputs[0]);
    return z.im != none_id && give(node, {z.re, b_.unary("aten.neg.default", z.im)});
  }

  bool magnitude(const Node& node) {
    const RealPair z = parts(node.inputs[0]);
    if (z.im == none_id) return false;
    // Divided by the larger part first: squares of large parts would leave the range of floats, in fp16 past
    // 255.
    const ValueId a = b_.unary("aten.abs.default", z.re), c = b_.unary("aten.abs.default", z.im);
    Attributes least;
    least.set("min", 1e-30);
    const ValueId larger = b_.binary("aten.maximum.default", a, c);
    const ValueId scale = b_.make("aten.clamp.default", {{"self", larger}}, std::move(least),
                                  b_.dtype(larger), b_.shape(larger));
    const ValueId p = b_.binary("aten.div.Tensor", a, scale), q = b_.binary("aten.div.Tensor", c, scale);
    const ValueId root = b_.unary("aten.sqrt.default", b_.binary("aten.add.Tensor", mul(p, p), mul(q, q)));
    b_.result_into(node.outputs[0]);
    b_.binary("aten.mul.Tensor", root, scale);
    out_.exactness = Exactness::bounded;
    return true;
  }

  bool exponential(const Node& node) {
    const RealPair z = parts(node.inputs[0]);
    if (z.im == none_id) return false;
    const ValueId radius = b_.unary("aten.exp.default", z.re);
    return give(node, {mul(radius, b_.unary("aten.cos.default", z.im)),
                       mul(radius, b_.unary("aten.sin.default", z.im))});
  }

  bool cast(const Node& node) {
    const DType to = graph_.value(node.outputs[0]).dtype;
    RealPair z = parts(node.inputs[0]);
    if (z.re == none_id) return false;
    const DType part = is_complex(to) ? real_of(to) : to;
    if (!is_complex(to)) {  // the real part, in the type asked for
      b_.result_into(node.outputs[0]);
      b_.to(z.re, part);
      return true;
    }
    if (b_.dtype(z.re) != part) z = {b_.to(z.re, part), z.im == none_id ? none_id : b_.to(z.im, part)};
    if (z.im != none_id) return give(node, z);
    return element_count(b_.shape(z.re)) && give(node, {z.re, zeros(z.re)});
  }

  bool fourier(NodeId id, const Node& node) {
    out_.has_fourier = true;
    if (context_.graph_index > 0)
      return out_.reason = "a transform inside a branch: its matrix cannot be stored there", false;
    out_.exactness = Exactness::bounded;
    const ValueId x = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
    std::string why;
    const RealPair input = parts(x);
    if (input.re == none_id) return false;
    const auto result = rewrite_fourier(b_, context_, node, input, why);
    if (!result) return out_.reason = why, false;
    if (result->im == none_id) return hand_over(id, node, result->re);
    b_.remove(id);
    if (complex(node.outputs[0])) return give(node, *result);
    b_.result_into(node.outputs[0]);  // stft with return_complex=False
    b_.stack({result->re, result->im}, b_.rank(result->re));
    return true;
  }

  /// The node once for each part. A view becomes a reshape: the parts have other strides.
  bool on_both(const Node& node, const std::string& base) {
    std::vector<RealPair> results(node.outputs.size());
    for (const bool imaginary : {false, true}) {
      Node copy = node;
      if (base == "aten.view" || base == "aten._unsafe_view") {
        copy.op = "aten.reshape.default";
        if (const AttrValue* size = node.attrs.find("size"))
          copy.attrs.set("shape", *size), copy.attrs.erase("size");
        for (std::string& name : copy.input_names)
          if (name.starts_with("size[")) name.replace(0, 4, "shape");
      }
      for (ValueId& v : copy.inputs) {
        if (!complex(v)) {
          v = v >= 0 ? real(v) : v;
          continue;
        }
        const RealPair z = parts(v);
        if (z.im == none_id) return false;
        v = imaginary ? z.im : z.re;
      }
      const AttrValue* dtype = node.attrs.find("dtype");
      if (dtype && std::holds_alternative<EnumValue>(*dtype))
        copy.attrs.set("dtype", aten_scalar_type(real_of(graph_.value(node.outputs[0]).dtype)));
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const Value& type = graph_.value(node.outputs[i]);
        const ValueId part =
            b_.add_value(type.name + (imaginary ? "_im" : "_re"), real_of(type.dtype), type.shape);
        b_.patch().new_values.back().dim_names = type.dim_names;
        copy.outputs[i] = part;
        (imaginary ? results[i].im : results[i].re) = part;
      }
      copy.origins.clear();
      b_.add_node(std::move(copy));
    }
    for (std::size_t i = 0; i < results.size(); ++i) parts_[node.outputs[i]] = results[i];
    return true;
  }

  const DetectContext& context_;
  const Graph& graph_;
  AtenBuilder b_;
  ComplexRegion& out_;
  std::map<ValueId, RealPair> parts_;
  std::set<ValueId> stale_;             ///< views of a tensor that was written since they were made
  std::map<ValueId, ValueId> renamed_;  ///< real results whose readers read another value now
};

}  // namespace

std::vector<ComplexRegion> complex_regions(const DetectContext& context) {
  std::vector<ComplexRegion> out;
  for (const std::set<NodeId>& nodes : complex_node_sets(context.graph)) {
    ComplexRegion region;
    for (const NodeId id : context.graph.order)
      if (nodes.count(id)) region.nodes.push_back(id);
    for (const NodeId id : region.nodes)
      for (const ValueId v : context.graph.node(id).outputs)
        if (region.first == none_id && v >= 0 && is_complex(context.graph.value(v).dtype)) region.first = v;
    PairRewriter(context, region).run();
    out.push_back(std::move(region));
  }
  return out;
}

}  // namespace md
