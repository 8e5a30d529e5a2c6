#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/base/nearest.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/verify/verify.h"

namespace md {
namespace {

tl::unexpected<Error> no_graph() { return input_error("the model holds no graph, so it computes nothing"); }

/// Names under which people store a value: as the signature calls it, as the file calls it.
std::vector<std::string> names_of(const Model& model, ValueId id) {
  std::vector<std::string> names;
  for (const ModelSignature& signature : model.signatures)
    for (const auto* list : {&signature.inputs, &signature.outputs})
      for (const auto& [name, value] : *list)
        if (signature.graph == 0 && value == id) names.push_back(name);
  names.push_back(model.graphs[0].value(id).name);
  return names;
}

const Tensor* find_array(const NamedTensors& arrays, const Model& model, ValueId id, std::size_t position,
                         std::size_t count, std::string_view prefix) {
  for (const std::string& name : names_of(model, id))
    for (const auto& [key, tensor] : arrays)
      if (key == name || key == std::string(prefix) + name) return &tensor;
  if (arrays.size() == 1 && count == 1) return &arrays[0].second;
  const std::string numbered = "arr_" + std::to_string(position);
  for (const auto& [key, tensor] : arrays)
    if (key == numbered) return &tensor;
  return nullptr;
}

std::string list_names(const NamedTensors& arrays) {
  std::string text;
  for (const auto& [key, tensor] : arrays)
    text += fmt::format("{}\"{}\" ({})", text.empty() ? "" : ", ", key, shape_text(tensor.shape));
  return text.empty() ? "nothing" : text;
}

bool fits(const Shape& declared, const Shape& given) {
  if (declared.size() != given.size()) return false;
  for (std::size_t d = 0; d < declared.size(); ++d)
    if (declared[d] >= 0 && declared[d] != given[d]) return false;
  return true;
}

Tensor converted(const Tensor& array, const Value& value, Shape shape) {
  std::shared_ptr<const Quantization> quantization;
  if (value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype))
    quantization = std::make_shared<const Quantization>(*value.quantization);
  Tensor tensor;
  if (array.dtype == value.dtype) {
    tensor = array.reshaped(std::move(shape));
  } else if (quantization && array.is_float()) {
    tensor = Tensor::make(value.dtype, std::move(shape));
    tensor.quantization = quantization;
    const Affine q = affine(tensor);
    with_store(tensor.store(), [&](auto zero) {
      using T = decltype(zero);
      auto to = tensor.mutable_data<T>();
      if constexpr (sizeof(T) <= 2)
        for (std::size_t i = 0; i < to.size(); ++i)
          to[i] = quantized_value<T>(static_cast<float>(array.number(i)), q);
    });
  } else {
    tensor = Tensor::of(value.dtype, std::move(shape), array.numbers());
  }
  tensor.quantization = std::move(quantization);
  return tensor;
}

/// Sample `index` of an array that holds several along a leading dimension.
Tensor slice_of(const Tensor& array, std::size_t index) {
  Shape shape(array.shape.begin() + 1, array.shape.end());
  Tensor part = Tensor::make(array.dtype, std::move(shape));
  std::memcpy(part.mutable_raw(), array.raw() + index * part.bytes(), part.bytes());
  return part;
}

}  // namespace

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names;
  if (model.graphs.empty()) return names;
  for (const ValueId id : model.graphs[0].inputs)
    for (std::string& name : names_of(model, id)) names.push_back(std::move(name));
  return names;
}

std::optional<ValueId> input_by_name(const Model& model, const std::string& name) {
  if (model.graphs.empty()) return std::nullopt;
  for (const ValueId id : model.graphs[0].inputs) {
    const auto names = names_of(model, id);
    if (std::find(names.begin(), names.end(), name) != names.end()) return id;
  }
  return std::nullopt;
}

Result<std::map<std::string, std::pair<double, double>>> ranges_of_inputs(
    const Model& model, const std::vector<NamedRange>& ranges) {
  std::map<std::string, std::pair<double, double>> found;
  for (const NamedRange& range : ranges) {
    const auto input = input_by_name(model, range.name);
    if (!input)
      return usage_error(fmt::format("--range {}={}:{}: the model has no input of that name{}", range.name,
                                     range.low, range.high, did_you_mean(range.name, input_names(model))));
    found[model.graphs[0].value(*input).name] = {range.low, range.high};
  }
  return found;
}

Result<std::vector<std::vector<Tensor>>> load_inputs(const Model& model,
                                                     const std::vector<std::string>& files) {
  std::vector<std::vector<Tensor>> samples;
  if (model.graphs.empty()) return no_graph();
  const Graph& graph = model.graphs[0];
  for (const std::string& file : files) {
    const auto arrays = read_numpy(file);
    if (!arrays) return tl::make_unexpected(arrays.error());
    std::vector<const Tensor*> found;
    std::size_t count = 1;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const Value& value = graph.value(graph.inputs[i]);
      const Tensor* array = find_array(*arrays, model, graph.inputs[i], i, graph.inputs.size(), "in_");
      if (!array)
        return input_error(fmt::format("{}: no array for input \"{}\" ({}); it holds {}", file,
                                       names_of(model, graph.inputs[i])[0], shape_text(value.shape),
                                       list_names(*arrays)));
      const bool several = array->shape.size() == value.shape.size() + 1 &&
                           fits(value.shape, Shape(array->shape.begin() + 1, array->shape.end()));
      const bool same_count = element_count(value.shape) == static_cast<std::int64_t>(array->size());
      if (!several && !same_count && !fits(value.shape, array->shape))
        return input_error(fmt::format("{}: the array for input \"{}\" has shape {}, expected {}", file,
                                       names_of(model, graph.inputs[i])[0], shape_text(array->shape),
                                       shape_text(value.shape)));
      if (several && !same_count) count = std::max(count, static_cast<std::size_t>(array->shape[0]));
      found.push_back(array);
    }
    for (std::size_t s = 0; s < count; ++s) {
      std::vector<Tensor> sample;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const Value& value = graph.value(graph.inputs[i]);
        const Tensor& array = *found[i];
        const bool same_count = element_count(value.shape) == static_cast<std::int64_t>(array.size());
        const bool several = !same_count && array.shape.size() == value.shape.size() + 1;
        if (several && s >= static_cast<std::size_t>(array.shape[0]))
          return input_error(fmt::format("{}: inputs hold different numbers of samples", file));
        const Tensor one = several ? slice_of(array, s) : array;
        sample.push_back(converted(one, value, same_count ? value.shape : one.shape));
      }
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

Result<ModelComparison> verify_device(const Model& model, const std::vector<std::vector<Tensor>>& inputs,
                                      const NamedTensors& outputs, const CompareOptions& options) {
  if (inputs.size() != 1)
    return usage_error(
        "comparing with a device's outputs takes one sample of inputs: give --inputs with one sample");
  if (model.graphs.empty()) return no_graph();
  const Graph& graph = model.graphs[0];
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Value& value = graph.value(graph.outputs[i]);
    const Tensor* array = find_array(outputs, model, graph.outputs[i], i, graph.outputs.size(), "out_");
    if (!array)
      return input_error(fmt::format("the device's outputs hold no array for \"{}\"; they hold {}",
                                     names_of(model, graph.outputs[i])[0], list_names(outputs)));
    given.push_back(converted(
        *array, value,
        element_count(value.shape) == static_cast<std::int64_t>(array->size()) ? value.shape : array->shape));
  }
  return compare_outputs(model, inputs[0], given, with_device_tolerance(options, options.mode_b.is_f16()));
}

Result<Model> with_tap(const Model& model, const std::string& wanted) {
  if (model.graphs.empty()) return no_graph();
  Model tapped = model;
  Graph& graph = tapped.graphs[0];
  ValueId found = none_id;
  for (std::size_t v = 0; v < graph.values.size() && found == none_id; ++v)
    if (graph.values[v].name == wanted) found = static_cast<ValueId>(v);
  if (found == none_id && !wanted.empty() && wanted.size() < 9 &&
      std::all_of(wanted.begin(), wanted.end(), [](unsigned char c) { return c >= '0' && c <= '9'; }))
    if (const auto number = static_cast<std::size_t>(std::stoul(wanted)); number < graph.values.size())
      found = static_cast<ValueId>(number);
  if (found == none_id)
    return usage_error(fmt::format("the main graph has no value \"{}\"; `inspect` lists them", wanted));
  if (graph.value(found).is_constant()) return usage_error(fmt::format("\"{}\" is a constant", wanted));
  if (graph.is_output(found)) return usage_error(fmt::format("\"{}\" is an output already", wanted));
  if (graph.producer(found) == none_id) return usage_error(fmt::format("nothing computes \"{}\"", wanted));
  graph.outputs.push_back(found);
  graph.index();
  // The runtimes refuse a signature that leaves an output of its graph out.
  for (ModelSignature& signature : tapped.signatures)
    if (signature.graph == 0) signature.outputs.emplace_back(graph.value(found).name, found);
  return tapped;
}

}  // namespace md
