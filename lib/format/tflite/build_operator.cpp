// The writer's operators: operands, options, custom options.
#include <fmt/format.h>

#include <cstring>

#include "lib/edit/changes.h"
#include "lib/format/tflite/build.h"
#include "lib/format/tflite/options.h"
#include "tflite_generated.h"

namespace md::tfl {
namespace {

const TableInfo& operator_table() { return *table_info("Operator"); }

const flatbuffers::Table* generic(const void* t) { return static_cast<const flatbuffers::Table*>(t); }

tl::unexpected<Error> wrong_option(const Node& node, std::string_view option, std::string_view why) {
  return fail(Error::Kind::unsupported, fmt::format("{}: option {} {}", node.op, option, why));
}

std::optional<std::int64_t> integer_of(const FieldInfo& field, const AttrValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  if (const auto* s = std::get_if<std::string>(&value))
    return field.enumeration ? field.enumeration->number_of(*s) : std::nullopt;
  if (const auto* e = std::get_if<EnumValue>(&value)) {
    // Rules may name a value without knowing its number.
    if (e->number == 0 && field.enumeration)
      if (const auto named = field.enumeration->number_of(e->name)) return named;
    return e->number;
  }
  return std::nullopt;
}

bool fits(const FieldInfo& field, int bytes, bool is_signed, std::int64_t n) {
  if (field.is_bool && field.storage == Storage::scalar) return n == 0 || n == 1;
  if (bytes == 8) return true;
  const int bits = bytes * 8;
  return is_signed ? n >= -(std::int64_t{1} << (bits - 1)) && n < (std::int64_t{1} << (bits - 1))
                   : n >= 0 && n < (std::int64_t{1} << bits);
}

/// Numbers as the little-endian elements of a vector field; nullopt when one does not fit or the kind is
/// wrong.
std::optional<std::vector<std::uint8_t>> elements_of(const FieldInfo& field, const AttrValue& value,
                                                     std::size_t& count) {
  const auto step = static_cast<std::size_t>(field.element_bytes);
  std::vector<std::uint8_t> out;
  const auto push = [&](const void* bytes) {
    out.insert(out.end(), static_cast<const std::uint8_t*>(bytes),
               static_cast<const std::uint8_t*>(bytes) + step);
  };
  if (const auto* blob = std::get_if<Blob>(&value); blob && step == 1) {
    count = blob->bytes.size();
    return blob->bytes;
  }
  if (field.element == Storage::real) {
    std::vector<double> reals;
    if (const auto* d = std::get_if<std::vector<double>>(&value))
      reals = *d;
    else if (const auto* i = std::get_if<std::vector<std::int64_t>>(&value))
      reals.assign(i->begin(), i->end());
    else
      return std::nullopt;
    for (const double d : reals) {
      const auto f = static_cast<float>(d);
      if (step == 8)
        push(&d);
      else
        push(&f);
    }
    count = reals.size();
    return out;
  }
  const auto* integers = std::get_if<std::vector<std::int64_t>>(&value);
  if (!integers || field.element != Storage::scalar) return std::nullopt;
  for (const std::int64_t n : *integers) {
    if (!fits(field, field.element_bytes, field.element_is_signed, n)) return std::nullopt;
    push(&n);
  }
  count = integers->size();
  return out;
}

}  // namespace

Status Builder::set_option(Draft& options, const FieldInfo& field, const AttrValue& value, const Node& node) {
  switch (field.storage) {
    case Storage::scalar: {
      const auto n = integer_of(field, value);
      if (!n || !fits(field, field.bytes, field.is_signed, *n))
        return wrong_option(node, field.name, "has a value that does not fit its type");
      if (*n == field.default_integer)
        options.clear(field.name);
      else
        options.set_scalar(field.name, static_cast<std::uint64_t>(*n));
      return {};
    }
    case Storage::real: {
      double d = 0;
      if (const auto* real = std::get_if<double>(&value))
        d = *real;
      else if (const auto n = integer_of(field, value))
        d = static_cast<double>(*n);
      else
        return wrong_option(node, field.name, "must be a number");
      const auto f = static_cast<float>(d);
      std::uint64_t bits = 0;
      if (field.bytes == 8)
        std::memcpy(&bits, &d, 8);
      else
        std::memcpy(&bits, &f, 4);
      options.set_scalar(field.name, bits);
      return {};
    }
    case Storage::string: {
      const auto* text = std::get_if<std::string>(&value);
      if (!text) return wrong_option(node, field.name, "must be a text");
      options.clear(field.name);
      if (!text->empty()) options.set(field.name, {front.add_string(*text), 0});
      return {};
    }
    case Storage::vector: {
      std::size_t count = 0;
      const auto bytes = elements_of(field, value, count);
      if (!bytes) return wrong_option(node, field.name, "must be a list of numbers that fit its type");
      options.clear(field.name);
      if (count > 0)
        options.set(field.name,
                    {front.add_vector(*bytes, count, static_cast<std::size_t>(field.element_bytes)), 0});
      return {};
    }
    default:
      return wrong_option(node, field.name, "cannot be changed");
  }
}

Status Builder::set_options(Draft& draft, const Node& node, const Node* before, const tflite::Operator* old) {
  const bool same_kind = before && before->op == node.op;
  if (same_kind && !options_.everything && before->attrs == node.attrs) return {};
  // The table of the file when it has one that the schema knows, else what the operator usually takes.
  OptionsKind kind = options_of(node.op);
  const void* old_options = nullptr;
  if (same_kind && old->builtin_options_2_type() != tflite::BuiltinOptions2::NONE) {
    const auto type = static_cast<int>(old->builtin_options_2_type());
    kind = {2, type, options_table(2, type)}, old_options = old->builtin_options_2();
  } else if (same_kind && old->builtin_options_type() != tflite::BuiltinOptions::NONE) {
    const auto type = static_cast<int>(old->builtin_options_type());
    kind = {1, type, options_table(1, type)}, old_options = old->builtin_options();
  } else if (same_kind && options_.everything) {
    kind = {};  // an operator that had no options table keeps having none
  }
  if (!same_kind) {
    for (const char* field : {"builtin_options_type", "builtin_options", "builtin_options_2_type",
                              "builtin_options_2", "custom_options", "large_custom_options_offset",
                              "large_custom_options_size", "mutating_variable_inputs"})
      draft.clear(field);
  }
  std::optional<Draft> options;
  if (kind.table) {
    options.emplace(*kind.table);
    if (old_options) {
      auto copy = Draft::copy_of(generic(old_options), *kind.table, file());
      if (!copy) return tl::make_unexpected(copy.error());
      options = std::move(*copy);
    }
  }
  for (const auto& [key, value] : node.attrs) {
    const AttrValue* previous = same_kind ? before->attrs.find(key) : nullptr;
    if (previous && *previous == value && !options_.everything) continue;
    if (key == "custom_options") {
      const auto* blob = std::get_if<Blob>(&value);
      if (!blob) return wrong_option(node, key, "must be bytes");
      draft.set(key, {front.add_vector(blob->bytes, blob->bytes.size(), 16), 0});
      continue;
    }
    const FieldInfo* field = options ? options->info().find(key) : nullptr;
    if (!field && same_kind && options_.everything && !options) continue;
    if (!field || field->deprecated) return wrong_option(node, key, "does not exist in .tflite");
    if (auto done = set_option(*options, *field, value, node); !done) return done;
  }
  if (options && kind.table->name == "StableHLOCompositeOptions" && !node.custom.empty())
    options->set("name", {front.add_string(node.custom), 0});
  if (options) {
    draft.set_scalar(kind.which == 2 ? "builtin_options_2_type" : "builtin_options_type",
                     static_cast<std::uint64_t>(kind.union_type));
    draft.set(kind.which == 2 ? "builtin_options_2" : "builtin_options",
              {front.add_table(std::move(*options)), 0});
  }
  return {};
}

Status Builder::set_operands(Draft& draft, const Node& node, const Node* before) {
  const bool all = !before || options_.everything;
  if (all || before->inputs != node.inputs) draft.set("inputs", ints(node.inputs));
  if (all || before->outputs != node.outputs) draft.set("outputs", ints(node.outputs));
  if (before ? options_.everything || before->intermediates != node.intermediates
             : !node.intermediates.empty()) {
    draft.clear("intermediates");
    if (!node.intermediates.empty()) draft.set("intermediates", ints(node.intermediates));
  }
  if (all || before->op != node.op || before->custom != node.custom || before->version != node.version) {
    const bool same_code =
        before && before->op == node.op && before->custom == node.custom && before->version == node.version;
    if (same_code) return {};  // also an operator newer than the schema keeps its code
    const auto code = code_index(node);
    if (!code) return tl::make_unexpected(code.error());
    draft.set_scalar("opcode_index", *code);
  }
  return {};
}

Result<Target> Builder::operation(std::size_t g, NodeId id) {
  const Node& node = edited_.graphs[g].node(id);
  const Graph* graph = original_graph(g);
  const Node* before =
      graph && node.origin >= 0 && static_cast<std::size_t>(node.origin) < graph->nodes.size()
          ? &graph->node(node.origin)
          : nullptr;
  const tflite::Operator* old = nullptr;
  Draft draft(operator_table());
  if (before) {
    old = parts_.root->subgraphs()
              ->Get(static_cast<flatbuffers::uoffset_t>(g))
              ->operators()
              ->Get(static_cast<flatbuffers::uoffset_t>(node.origin));
    if (!options_.everything && same_node(*before, node)) return Target{-1, position(old)};
    auto copy = Draft::copy_of(generic(old), operator_table(), file());
    if (!copy) return tl::make_unexpected(copy.error());
    draft = std::move(*copy);
    if (old->large_custom_options_offset() > 1) draft.mark_as_position("large_custom_options_offset");
  }
  if (auto done = set_operands(draft, node, before); !done) return tl::make_unexpected(done.error());
  if (auto done = set_options(draft, node, before, old); !done) return tl::make_unexpected(done.error());
  return Target{front.add_table(std::move(draft)), 0};
}

}  // namespace md::tfl
