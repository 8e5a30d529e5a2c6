// One node's inference: types by the schemas' type variables, shapes by the operator's rule.
#include <algorithm>
#include <unordered_map>

#include "lib/format/onnx/infer_rules.h"
#include "lib/graph/encode.h"

namespace md::onnx {
namespace {

constexpr std::size_t most_numbers = 1024;  ///< of an integer tensor that is followed

using RuleTable = std::unordered_map<std::string_view, const Rule*>;

const RuleTable& rule_table() {
  static const RuleTable table = [] {
    RuleTable made;
    for (const auto& rules :
         {movement_rules(), size_rules(), arithmetic_rules(), product_rules(), window_rules()})
      for (const Rule& rule : rules)
        for (std::string_view rest = rule.ops; !rest.empty();) {
          const std::size_t end = std::min(rest.find(' '), rest.size());
          made.emplace(rest.substr(0, end), &rule);
          rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    return made;
  }();
  return table;
}

/// The rule of the whole name, else of the name without com.microsoft.
const Rule* rule_of(std::string_view op) {
  const RuleTable& table = rule_table();
  if (const auto at = table.find(op); at != table.end()) return at->second;
  constexpr std::string_view microsoft = "com.microsoft.";
  if (!op.starts_with(microsoft)) return nullptr;
  const auto at = table.find(op.substr(microsoft.size()));
  return at == table.end() ? nullptr : at->second;
}

/// The type of a result whose variable an operand has, or that has one type alone.
DType result_type(const Site& site, std::size_t i) {
  if (!site.row || site.row->result_specs.empty()) return DType::unknown;
  const OperandSpec& spec = site.row->result_specs[std::min(i, site.row->result_specs.size() - 1)];
  if (!spec.type_variable.empty())
    for (std::size_t k = 0; k < site.operands.size(); ++k) {
      const auto& specs = site.row->operand_specs;
      if (specs.empty()) break;
      if (specs[std::min(k, specs.size() - 1)].type_variable == spec.type_variable &&
          site.dtype(k) != DType::unknown)
        return site.dtype(k);
    }
  if (spec.types.size() == 1) return spec.types[0];
  const bool only_variants = !spec.types.empty() && std::all_of(spec.types.begin(), spec.types.end(),
                                                                [](DType t) { return t == DType::variant; });
  return only_variants ? DType::variant : DType::unknown;
}

/// Of results that are sequences or optionals there is no shape.
void settle_variants(Site& site) {
  for (Outcome& result : site.out)
    if (result.dtype == DType::variant) result.shape = Shape();
}

}  // namespace

std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::optional<Numbers> Site::numbers(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  if (known && i < node.inputs.size())
    if (const auto at = known->find(node.inputs[i]); at != known->end()) return at->second;
  if (!operands[i]->is_constant()) return std::nullopt;
  const auto count = element_count(operands[i]->shape);
  if (!count || *count > static_cast<std::int64_t>(most_numbers)) return std::nullopt;
  return decode_integers(*operands[i]);
}

std::optional<Numbers> Site::all_numbers(std::size_t i) const {
  auto found = numbers(i);
  if (found && std::count(found->begin(), found->end(), unknown_number) > 0) return std::nullopt;
  return found;
}

std::optional<Numbers> Site::list(std::string_view attribute, std::size_t operand) const {
  if (has(operand)) return numbers(operand);
  const Numbers* own = attrs().integers(attribute);
  return own && !own->empty() ? std::optional<Numbers>(*own) : std::nullopt;
}

std::optional<Shape> broadcast_all(Site& site, std::size_t first, std::size_t last) {
  Shape shape;
  for (std::size_t i = first; i < std::min(last, site.operands.size()); ++i) {
    if (!site.ranked(i)) return std::nullopt;
    auto joined = broadcast_shape(shape, site.shape(i));
    if (!joined) {
      site.no("the operands do not broadcast: " + shape_text(shape) + " and " + shape_text(site.shape(i)));
      return std::nullopt;
    }
    shape = std::move(*joined);
  }
  return shape;
}

void infer_site(Site& site) {
  for (std::size_t i = 0; i < site.out.size(); ++i) site.out[i].dtype = result_type(site, i);
  const Rule* rule = rule_of(site.node.op);
  if (rule && !site.out.empty()) {
    bool ready = true;
    for (int i = 0; i < rule->ranked; ++i) ready = ready && site.ranked(static_cast<std::size_t>(i));
    if (ready) rule->infer(site);
  }
  settle_variants(site);
}

}  // namespace md::onnx

namespace md {

tl::expected<std::vector<ValueType>, NoType> infer_onnx_types(const Node& node,
                                                              std::span<const Value* const> operands,
                                                              std::size_t outputs) {
  const int version = node.version > 0 ? node.version : std::numeric_limits<int>::max();
  onnx::Site site{.node = node,
                  .row = onnx_row(node.op, version),
                  .operands = operands,
                  .out = std::vector<onnx::Outcome>(outputs)};
  onnx::infer_site(site);
  if (!site.wrong.empty()) return tl::make_unexpected(NoType{std::move(site.wrong), true});
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < site.out.size(); ++i) {
    onnx::Outcome& result = site.out[i];
    if (i > 0 && (i >= node.outputs.size() || node.outputs[i] == none_id)) {  // nobody asks
      types.push_back({result.dtype, result.shape.value_or(Shape()), std::nullopt});
      continue;
    }
    if (result.dtype == DType::unknown || !result.shape)
      return tl::make_unexpected(NoType{"its type does not follow from its operands", false});
    types.push_back({result.dtype, std::move(*result.shape), std::nullopt});
  }
  return types;
}

}  // namespace md
