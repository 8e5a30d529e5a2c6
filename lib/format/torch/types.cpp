#include "lib/format/torch/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/format/torch/view.h"
#include "lib/op/infer.h"

namespace md {
namespace {

using Names = std::set<std::string_view>;

/// Results of the shape of the first tensor.
const Names same_shape = {"aten.to",
                          "aten._to_copy",
                          "aten.clone",
                          "aten.contiguous",
                          "aten.detach",
                          "aten.alias",
                          "aten.dropout",
                          "aten.flip",
                          "aten.roll",
                          "aten.cumsum",
                          "aten.softmax",
                          "aten._softmax",
                          "aten.log_softmax",
                          "aten._log_softmax",
                          "aten.layer_norm",
                          "aten.batch_norm",
                          "aten.group_norm",
                          "aten.instance_norm",
                          "aten.select_scatter",
                          "aten.slice_scatter",
                          "aten.copy",
                          "aten.index_put",
                          "aten.scatter",
                          "aten.scatter_add",
                          "aten.real",
                          "aten.imag",
                          "aten.conj",
                          "aten._conj",
                          "aten.conj_physical",
                          "aten.angle",
                          "aten.resolve_conj",
                          "aten.resolve_neg",
                          "aten.fft_fftshift",
                          "aten.fft_ifftshift",
                          "aten.isnan",
                          "aten.logical_not"};
/// Results with as many dimensions as the first tensor.
const Names same_rank = {"aten.slice",
                         "aten.narrow",
                         "aten.constant_pad_nd",
                         "aten.pad",
                         "aten.index_select",
                         "aten.split",
                         "aten.split_with_sizes",
                         "aten.chunk",
                         "aten.max_pool1d",
                         "aten.max_pool2d",
                         "aten.max_pool3d",
                         "aten.avg_pool1d",
                         "aten.avg_pool2d",
                         "aten.avg_pool3d",
                         "aten.topk",
                         "aten.sort"};
/// Sums and their like, over "dim" or everything.
const Names reductions = {"aten.sum", "aten.mean", "aten.amax", "aten.amin", "aten.any", "aten.all"};
/// Results whose numbers are real although the operands may be complex, or of a type that is asked for.
const Names leaves_complex = {"aten.abs",        "aten.to",          "aten._to_copy",
                              "aten.eq",         "aten.ne",          "aten.logical_and",
                              "aten.logical_or", "aten.logical_not", "aten.logical_xor"};
const Names keeps_complex = {"aten.cat",    "aten.stack",        "aten.matmul", "aten.mm",
                             "aten.bmm",    "aten.conj",         "aten._conj",  "aten.conj_physical",
                             "aten.flip",   "aten.roll",         "aten.sum",    "aten.mean",
                             "aten.cumsum", "aten.index_select", "aten.repeat"};

/// A shape that follows, or that none does.
struct Expected {
  std::optional<Shape> shape;
  std::string clash;  ///< operands that do not go together
};

class Inference {
 public:
  Inference(const Graph& graph, const Node& node) : graph_(graph), node_(node), base_(aten_base(node.op)) {
    for (const ValueId v : node.inputs)
      if (v >= 0 && !is_symbol(graph.value(v))) tensors_.push_back(&graph.value(v));
  }

  Expected run() const {
    if (tensors_.empty()) return factory();
    const Shape& self = tensors_[0]->shape;
    const bool in_place = aten_in_place(node_.op) && aten_elementwise(node_.op);
    if (in_place || same_shape.count(base_)) return {self, ""};
    if (same_rank.count(base_)) return {Shape(self.size(), dynamic_dim), ""};
    if (aten_elementwise(node_.op) || base_ == "aten.complex" || base_ == "aten.polar" ||
        base_ == "aten.atan2")
      return broadcast();
    if (reductions.count(base_)) return reduction(self);
    for (const auto& [names, rule] : rules)
      if (names.count(base_)) return (this->*rule)(self);
    return {};
  }

  std::optional<std::string> complex_misfit() const {
    if (node_.outputs.size() != 1 || node_.outputs[0] < 0 || tensors_.empty()) return std::nullopt;
    const bool result = is_complex(graph_.value(node_.outputs[0]).dtype),
               self = is_complex(tensors_[0]->dtype);
    const auto say = [&](std::string_view what) { return fmt::format("{} of {}", what, node_.op); };
    if (base_ == "aten.view_as_complex" && (self || !result))
      return say("a real operand and a complex result");
    if (base_ == "aten.view_as_real" && (!self || result)) return say("a complex operand and a real result");
    if ((base_ == "aten.polar" || base_ == "aten.complex") && (self || !result))
      return say("real operands and a complex result");
    if ((base_ == "aten.imag" && !self) ||
        ((base_ == "aten.imag" || base_ == "aten.real" || base_ == "aten.angle" || base_ == "aten.abs") &&
         result))
      return say("a real result");
    if (node_.attrs.find("dtype")) return std::nullopt;  // the type that is asked for
    const bool kept = keeps_complex.count(base_) || aten_view(node_.op) || aten_elementwise(node_.op);
    if (!kept || leaves_complex.count(base_) || node_.op.ends_with(".dtype") || compares())
      return std::nullopt;
    bool given =
        std::any_of(tensors_.begin(), tensors_.end(), [](const Value* v) { return is_complex(v->dtype); });
    for (const auto& [name, value] : node_.attrs)
      given = given || (name.find('#') != 0 && std::holds_alternative<std::string>(value));
    if (result && !given) return say("a real result");
    const bool all =
        std::all_of(tensors_.begin(), tensors_.end(), [](const Value* v) { return is_complex(v->dtype); });
    return all && !result ? std::optional(say("a complex result")) : std::nullopt;
  }

 private:
  using Rule = Expected (Inference::*)(const Shape&) const;

  static bool is_symbol(const Value& value) {
    return value.dtype == DType::symint || value.dtype == DType::symfloat || value.dtype == DType::symbool ||
           value.dtype == DType::resource;
  }

  bool compares() const {
    constexpr std::array<std::string_view, 4> names = {"aten.lt", "aten.le", "aten.gt", "aten.ge"};
    return std::find(names.begin(), names.end(), base_) != names.end();
  }

  /// The tensor of an argument, null when it is absent.
  const Shape* shape_of(std::string_view argument) const {
    const ValueId v = aten_operand(node_, argument);
    return v >= 0 && !is_symbol(graph_.value(v)) ? &graph_.value(v).shape : nullptr;
  }

  /// How many sizes a list argument gives; sizes that are symbols are unknown.
  std::optional<Shape> sizes(std::string_view argument) const {
    const AttrValue* value = node_.attrs.find(argument);
    if (!value) return std::nullopt;
    if (const auto* known = std::get_if<std::vector<std::int64_t>>(value)) return *known;
    if (const auto* texts = std::get_if<std::vector<std::string>>(value))
      return Shape(texts->size(), dynamic_dim);
    return std::nullopt;
  }

  Expected clash() const {
    std::string shapes;
    for (const Value* v : tensors_) shapes += (shapes.empty() ? "" : ", ") + shape_text(v->shape);
    return {std::nullopt, fmt::format("operands of {} that go together, found shapes {}", node_.op, shapes)};
  }

  Expected factory() const {
    if (!aten_factory(node_.op)) return {};
    if (base_ == "aten.arange" || base_ == "aten.linspace") return {Shape{dynamic_dim}, ""};
    return {sizes("size"), ""};
  }

  Expected broadcast() const {
    if (node_.op == "aten.where.default") return {};
    std::optional<Shape> shape = tensors_[0]->shape;
    for (const Value* v : tensors_)
      if (shape) shape = broadcast_shape(*shape, v->shape);
    return shape ? Expected{shape, ""} : clash();
  }

  Expected reduction(const Shape& self) const {
    const auto dims = aten_dims(node_, "dim", static_cast<int>(self.size()));
    if (!dims) return self.empty() ? Expected{Shape{}, ""} : clash();
    Shape shape;
    for (int d = 0; d < static_cast<int>(self.size()); ++d) {
      if (!std::binary_search(dims->begin(), dims->end(), d))
        shape.push_back(self[static_cast<std::size_t>(d)]);
      else if (node_.attrs.flag("keepdim"))
        shape.push_back(1);
    }
    return {shape, ""};
  }

  /// Products of matrices, as torch.matmul treats its operands.
  Expected product(const Shape&) const {
    if (tensors_.size() != 2) return {};
    Shape a = tensors_[0]->shape, c = tensors_[1]->shape;
    const std::size_t wanted = base_ == "aten.mm" ? 2 : base_ == "aten.bmm" ? 3 : 0;
    if (a.empty() || c.empty() || (wanted && (a.size() != wanted || c.size() != wanted))) return clash();
    const bool row = a.size() == 1, column = c.size() == 1;
    if (row) a.insert(a.begin(), 1);
    if (column) c.push_back(1);
    const std::int64_t k = a.back(), l = c[c.size() - 2];
    if (k >= 0 && l >= 0 && k != l) return clash();
    auto shape = broadcast_shape(Shape(a.begin(), a.end() - 2), Shape(c.begin(), c.end() - 2));
    if (!shape) return clash();
    if (!row) shape->push_back(a[a.size() - 2]);
    if (!column) shape->push_back(c.back());
    return {shape, ""};
  }

  Expected linear(const Shape& self) const {
    const Shape* weight = shape_of("weight");
    if (!weight || weight->size() != 2 || self.empty()) return {};
    Shape shape = self;
    shape.back() = (*weight)[0];
    return {shape, ""};
  }

  Expected transpose(const Shape& self) const {
    Shape shape = self;
    const int rank = static_cast<int>(self.size());
    if (base_ == "aten.t" && rank > 2) return clash();
    if (rank < 2) return {shape, ""};
    const auto a = base_ == "aten.t" ? std::optional(0) : aten_dim(node_, "dim0", rank, 0),
               c = base_ == "aten.t" ? std::optional(1) : aten_dim(node_, "dim1", rank, 1);
    if (!a || !c) return clash();
    std::swap(shape[static_cast<std::size_t>(*a)], shape[static_cast<std::size_t>(*c)]);
    return {shape, ""};
  }

  Expected permute(const Shape& self) const {
    const auto dims = sizes("dims");
    if (!dims) return {};
    if (dims->size() != self.size()) return clash();
    Shape shape;
    std::set<std::int64_t> seen;
    for (std::int64_t d : *dims) {
      if (d < 0) d += static_cast<std::int64_t>(self.size());
      if (d < 0 || static_cast<std::size_t>(d) >= self.size() || !seen.insert(d).second) return clash();
      shape.push_back(self[static_cast<std::size_t>(d)]);
    }
    return {shape, ""};
  }

  Expected unsqueeze(const Shape& self) const {
    const auto dim = aten_dim(node_, "dim", static_cast<int>(self.size()) + 1, 0);
    if (!dim) return clash();
    Shape shape = self;
    shape.insert(shape.begin() + *dim, 1);
    return {shape, ""};
  }

  Expected select(const Shape& self) const {
    const auto dim = aten_dim(node_, "dim", static_cast<int>(self.size()), 0);
    if (!dim || self.empty()) return clash();
    Shape shape = self;
    shape.erase(shape.begin() + *dim);
    return {shape, ""};
  }

  Expected squeeze(const Shape& self) const {
    const auto dims = aten_dims(node_, "dim", static_cast<int>(self.size()));
    if (self.empty()) return {self, ""};
    if (!dims) return clash();
    Shape shape;
    for (int d = 0; d < static_cast<int>(self.size()); ++d) {
      const std::int64_t size = self[static_cast<std::size_t>(d)];
      const bool named = std::binary_search(dims->begin(), dims->end(), d);
      if (named && size < 0) return {};  // it goes only where it is 1
      if (!named || size != 1) shape.push_back(size);
    }
    return {shape, ""};
  }

  Expected expand(const Shape& self) const {
    auto shape = sizes("size");
    if (!shape) return {};
    if (shape->size() < self.size()) return clash();
    for (std::size_t d = 0; d < self.size(); ++d) {
      std::int64_t& size = (*shape)[shape->size() - self.size() + d];
      if (size == -1) size = self[d];
    }
    return {shape, ""};
  }

  /// Sizes that are asked for; the count of elements stays.
  Expected reshape(const Shape& self) const {
    if (node_.op.ends_with(".dtype") || node_.outputs.size() != 1) return {};
    const Shape& result = graph_.value(node_.outputs[0]).shape;
    const auto before = element_count(self), after = element_count(result);
    if (before && after && *before != *after)
      return {std::nullopt,
              fmt::format("a result of {} elements for {}, found {}", *before, node_.op, shape_text(result))};
    const auto asked = sizes(base_ == "aten.reshape" ? "shape" : "size");
    return asked && base_ != "aten.flatten" && base_ != "aten.unflatten" ? Expected{asked, ""} : Expected{};
  }

  Expected repeat(const Shape&) const {
    const auto times = sizes("repeats");
    return times ? Expected{Shape(times->size(), dynamic_dim), ""} : Expected{};
  }

  Expected join(const Shape&) const {
    std::vector<const Shape*> parts;
    for (const Value* v : tensors_)
      if (base_ == "aten.stack" || v->shape != Shape{0})
        parts.push_back(&v->shape);  // cat leaves an empty one out
    if (parts.empty()) return {};
    Shape shape = *parts[0];
    const auto rank = static_cast<int>(shape.size());
    const auto dim = aten_dim(node_, "dim", base_ == "aten.stack" ? rank + 1 : rank, 0);
    if (!dim) return clash();
    for (const Shape* part : parts)
      if (part->size() != shape.size()) return clash();
    if (base_ == "aten.stack") {
      shape.insert(shape.begin() + *dim, static_cast<std::int64_t>(parts.size()));
      return {shape, ""};
    }
    if (shape.empty()) return clash();
    std::int64_t& size = shape[static_cast<std::size_t>(*dim)];
    for (std::size_t i = 1; i < parts.size() && size >= 0; ++i) {
      const std::int64_t more = (*parts[i])[static_cast<std::size_t>(*dim)];
      size = more < 0 ? dynamic_dim : size + more;
    }
    return {shape, ""};
  }

  Expected embedding(const Shape&) const {
    const Shape *weight = shape_of("weight"), *indices = shape_of("indices");
    if (!weight || !indices) return {};
    if (weight->size() != 2) return clash();
    Shape shape = *indices;
    shape.push_back((*weight)[1]);
    return {shape, ""};
  }

  Expected gather(const Shape&) const {
    const Shape* index = shape_of("index");
    return index ? Expected{*index, ""} : Expected{};
  }

  Expected convolution(const Shape& self) const {
    const Shape* weight = shape_of("weight");
    if (!weight) return {};
    const char digit = base_.ends_with("d") && base_.size() > 2 ? base_[base_.size() - 2] : '?';
    const auto axes =
        digit >= '1' && digit <= '3' ? static_cast<std::size_t>(digit - '0') : weight->size() - 2;
    if (weight->size() != axes + 2 || weight->size() < 3 || self.size() > axes + 2 || self.size() < axes + 1)
      return clash();
    Shape shape(self.size(), dynamic_dim);
    if (base_ == "aten.conv1d" || base_ == "aten.conv2d" || base_ == "aten.conv3d")
      shape[self.size() - axes - 1] = (*weight)[0];
    return {shape, ""};
  }

  Expected as_complex(const Shape& self) const {
    if (self.empty() || (self.back() >= 0 && self.back() != 2)) return clash();
    return {Shape(self.begin(), self.end() - 1), ""};
  }

  Expected as_real(const Shape& self) const {
    Shape shape = self;
    shape.push_back(2);
    return {shape, ""};
  }

  static const std::vector<std::pair<Names, Rule>> rules;

  const Graph& graph_;
  const Node& node_;
  std::string base_;
  std::vector<const Value*> tensors_;  ///< operands that are tensors
};

const std::vector<std::pair<Names, Inference::Rule>> Inference::rules = {
    {{"aten.mm", "aten.bmm", "aten.matmul"}, &Inference::product},
    {{"aten.linear"}, &Inference::linear},
    {{"aten.transpose", "aten.t"}, &Inference::transpose},
    {{"aten.permute"}, &Inference::permute},
    {{"aten.unsqueeze"}, &Inference::unsqueeze},
    {{"aten.select", "aten.unbind"}, &Inference::select},
    {{"aten.squeeze"}, &Inference::squeeze},
    {{"aten.expand"}, &Inference::expand},
    {{"aten.view", "aten.reshape", "aten._unsafe_view", "aten.flatten", "aten.unflatten"},
     &Inference::reshape},
    {{"aten.repeat"}, &Inference::repeat},
    {{"aten.cat", "aten.stack"}, &Inference::join},
    {{"aten.embedding"}, &Inference::embedding},
    {{"aten.gather"}, &Inference::gather},
    {{"aten.conv1d", "aten.conv2d", "aten.conv3d", "aten.conv_transpose1d", "aten.conv_transpose2d",
      "aten.conv_transpose3d", "aten.convolution"},
     &Inference::convolution},
    {{"aten.view_as_complex"}, &Inference::as_complex},
    {{"aten.view_as_real"}, &Inference::as_real},
};

bool agree(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](std::int64_t x, std::int64_t y) { return x == y || x < 0 || y < 0; });
}

}  // namespace

std::optional<std::string> aten_type_misfit(const Graph& graph, const Node& node) {
  if (!node.op.starts_with("aten.") || aten_is_check(node.op)) return std::nullopt;
  const Inference inference(graph, node);
  if (auto numbers = inference.complex_misfit()) return numbers;
  const Expected expected = inference.run();
  if (!expected.clash.empty()) return expected.clash;
  if (!expected.shape) return std::nullopt;
  for (const ValueId v : node.outputs) {
    if (v < 0) continue;
    const Value& value = graph.value(v);
    if (!agree(*expected.shape, value.shape))
      return fmt::format("a result of shape {} for {}, found \"{}\" of shape {}", shape_text(*expected.shape),
                         node.op, value.name, shape_text(value.shape));
  }
  return std::nullopt;
}

}  // namespace md
