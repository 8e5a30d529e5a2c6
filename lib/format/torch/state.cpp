#include "lib/format/torch/state.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <map>
#include <variant>

namespace md {
namespace {

constexpr std::size_t most_items = std::size_t{1} << 22;  ///< values that one pickle may make
constexpr std::size_t longest_name = 4096, highest_rank = 64;

struct Item;
using Items = std::vector<Item*>;  // owned by the machine: a list may hold itself
/// A value on the pickle machine's stack. `list` also serves tuples; `dict` keeps its order as key, value,
/// key, value.
struct Item {
  enum class Kind { other, integer, text, global, list, dict, tensor, mark, storage } kind = Kind::other;
  std::int64_t number = 0;
  std::string text;
  Items items;
  Pt2Strides view;
};
using Ref = Item*;

DType storage_type(std::string_view global) {
  const std::pair<std::string_view, DType> names[] = {
      {"FloatStorage", DType::f32},        {"DoubleStorage", DType::f64},
      {"HalfStorage", DType::f16},         {"BFloat16Storage", DType::bf16},
      {"LongStorage", DType::i64},         {"IntStorage", DType::i32},
      {"ShortStorage", DType::i16},        {"CharStorage", DType::i8},
      {"ByteStorage", DType::u8},          {"BoolStorage", DType::boolean},
      {"ComplexFloatStorage", DType::c64}, {"ComplexDoubleStorage", DType::c128}};
  for (const auto& [name, type] : names)
    if (global.ends_with(name)) return type;
  return DType::unknown;
}

class PickleMachine {
 public:
  PickleMachine(Bytes bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  Result<Ref> run() {
    while (at_ < bytes_.size()) {
      const std::uint8_t op = bytes_[at_++];
      if (op == '.') return stack_.empty() ? error("a value before STOP") : Result<Ref>(stack_.back());
      if (items_.size() > most_items || stack_.size() > most_items || memo_.size() > most_items)
        return error(fmt::format("at most {} values", most_items));
      if (!step(op))
        return error(fmt::format("a pickle operation of torch.save with its operands, found 0x{:02x}", op));
    }
    return error("STOP before the end");
  }

 private:
  Result<Ref> error(const std::string& expected) const {
    return input_error(fmt::format("{}: byte {} of the pickle: expected {}", where_, at_, expected));
  }

  Ref make(Item::Kind kind) {
    items_.emplace_back();
    items_.back().kind = kind;
    return &items_.back();
  }
  bool take(std::size_t n, Bytes& out) {
    if (bytes_.size() - at_ < n) return false;
    out = bytes_.subspan(at_, n), at_ += n;
    return true;
  }
  template <class T>
  bool read(T& value) {
    Bytes b;
    if (!take(sizeof(T), b)) return false;
    std::memcpy(&value, b.data(), sizeof(T));
    return true;
  }
  bool line(std::string& out) {
    while (at_ < bytes_.size() && bytes_[at_] != '\n') out += static_cast<char>(bytes_[at_++]);
    return at_++ < bytes_.size();
  }
  bool pop(Ref& out) {
    if (stack_.empty()) return false;
    out = stack_.back(), stack_.pop_back();
    return true;
  }
  bool pop_to_mark(Items& out) {
    std::size_t i = stack_.size();
    while (i > 0 && stack_[i - 1]->kind != Item::Kind::mark) --i;
    if (i == 0) return false;
    out.assign(stack_.begin() + static_cast<std::ptrdiff_t>(i), stack_.end());
    stack_.resize(i - 1);
    return true;
  }
  bool push_integer(std::int64_t n) {
    Ref item = make(Item::Kind::integer);
    item->number = n;
    stack_.push_back(item);
    return true;
  }
  bool push_text(std::size_t n, Item::Kind kind = Item::Kind::text) {
    Bytes b;
    if (!take(n, b)) return false;
    Ref item = make(kind);
    item->text.assign(reinterpret_cast<const char*>(b.data()), b.size());
    stack_.push_back(item);
    return true;
  }
  bool push_tuple(std::size_t n) {
    if (stack_.size() < n) return false;
    Ref item = make(Item::Kind::list);
    item->items.assign(stack_.end() - static_cast<std::ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    stack_.push_back(item);
    return true;
  }

  bool step(std::uint8_t op) {
    std::uint8_t u8 = 0;
    std::uint16_t u16 = 0;
    std::uint32_t u32 = 0;
    std::int32_t i32 = 0;
    Ref a = nullptr, b = nullptr;
    Items items;
    switch (op) {
      case 0x80:
        return read(u8);
      case '(':
        return stack_.push_back(make(Item::Kind::mark)), true;
      case ')':
        return push_tuple(0);
      case '}':
        return stack_.push_back(make(Item::Kind::dict)), true;
      case ']':
        return stack_.push_back(make(Item::Kind::list)), true;
      case 'N':
        return stack_.push_back(make(Item::Kind::other)), true;
      case 0x88:
        return push_integer(1);
      case 0x89:
        return push_integer(0);
      case 'K':
        return read(u8) && push_integer(u8);
      case 'M':
        return read(u16) && push_integer(u16);
      case 'J':
        return read(i32) && push_integer(i32);
      case 0x8a:
        return long_integer();
      case 'G':
        return at_ + 8 <= bytes_.size() ? (at_ += 8, stack_.push_back(make(Item::Kind::other)), true) : false;
      case 'X':
        return read(u32) && push_text(u32);
      case 0x8c:
        return read(u8) && push_text(u8);
      case 'c':
        return global();
      case 'q':
        return read(u8) && remember(u8);
      case 'r':
        return read(u32) && remember(u32);
      case 'h':
        return read(u8) && recall(u8);
      case 'j':
        return read(u32) && recall(u32);
      case 't':
        return pop_to_mark(items) &&
               (a = make(Item::Kind::list), a->items = std::move(items), stack_.push_back(a), true);
      case 0x85:
        return push_tuple(1);
      case 0x86:
        return push_tuple(2);
      case 0x87:
        return push_tuple(3);
      case 'e':
        return pop_to_mark(items) && extend(items, Item::Kind::list);
      case 'u':
        return pop_to_mark(items) && items.size() % 2 == 0 && extend(items, Item::Kind::dict);
      case 'a':
        return pop(a) && extend({a}, Item::Kind::list);
      case 's':
        return pop(b) && pop(a) && extend({a, b}, Item::Kind::dict);
      case 'Q':
        return pop(a) && persistent(a);
      case 'R':
        return pop(b) && pop(a) && reduce(*a, *b);
      case 0x81:
        return pop(b) && pop(a) && (stack_.push_back(make(Item::Kind::other)), true);
      case 'b':
        return pop(b);  // BUILD: attributes of the object below; the object stays
      default:
        return false;
    }
  }

  bool long_integer() {
    std::uint8_t n = 0;
    Bytes b;
    if (!read(n) || n > 8 || !take(n, b)) return false;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < b.size(); ++i) value |= static_cast<std::uint64_t>(b[i]) << (8 * i);
    if (n > 0 && n < 8 && (b[n - 1] & 0x80)) value |= ~std::uint64_t{0} << (8 * n);
    return push_integer(static_cast<std::int64_t>(value));
  }
  bool global() {
    Ref item = make(Item::Kind::global);
    std::string module, name;
    if (!line(module) || !line(name)) return false;
    item->text = module + "." + name;
    stack_.push_back(item);
    return true;
  }
  bool remember(std::uint32_t key) { return stack_.empty() ? false : (memo_[key] = stack_.back(), true); }
  bool recall(std::uint32_t key) {
    const auto it = memo_.find(key);
    if (it == memo_.end()) return false;
    stack_.push_back(it->second);
    return true;
  }
  bool extend(const Items& items, Item::Kind kind) {
    if (stack_.empty()) return false;
    Item& target = *stack_.back();
    if (target.kind == kind) target.items.insert(target.items.end(), items.begin(), items.end());
    return true;
  }
  /// ('storage', torch.FloatStorage, '0', 'cpu', 16)
  bool persistent(const Ref& id) {
    Ref item = make(Item::Kind::storage);
    if (id->items.size() < 3 || id->items[2]->text.size() > longest_name) return false;
    item->view.dtype = storage_type(id->items[1]->text), item->text = id->items[2]->text;
    stack_.push_back(item);
    return true;
  }
  bool reduce(const Item& callable, const Item& arguments) {
    const Items& args = arguments.items;
    Ref result = make(Item::Kind::other);
    if (callable.text.ends_with("OrderedDict")) result->kind = Item::Kind::dict;
    if (callable.text.ends_with("_rebuild_parameter") && !args.empty()) result = args[0];
    if (callable.text.ends_with("_rebuild_tensor_v2") && args.size() >= 4 &&
        args[0]->kind == Item::Kind::storage) {
      if (args[2]->items.size() > highest_rank || args[3]->items.size() > highest_rank) return false;
      result->kind = Item::Kind::tensor, result->text = args[0]->text;
      result->view.dtype = args[0]->view.dtype, result->view.offset = args[1]->number;
      for (const Ref& size : args[2]->items) result->view.sizes.push_back(size->number);
      for (const Ref& stride : args[3]->items) result->view.strides.push_back(stride->number);
    }
    stack_.push_back(result);
    return true;
  }

  Bytes bytes_;
  std::string where_;
  std::size_t at_ = 0;
  std::deque<Item> items_;
  Items stack_;
  std::map<std::uint32_t, Ref> memo_;
};

}  // namespace

namespace {

Result<Pt2State> read_inner(const ZipArchive& zip, const std::shared_ptr<const MappedFile>& file,
                            std::uint64_t limit, const std::string& where) {
  const ZipMember* pickle = nullptr;
  std::map<std::string, const ZipMember*, std::less<>> storages;
  for (const ZipMember& m : zip.members()) {
    if (m.name.ends_with("/data.pkl")) pickle = &m;
    const std::size_t data = m.name.find("/data/");
    if (data != std::string::npos) storages.emplace(m.name.substr(data + 6), &m);
  }
  if (!pickle) return input_error(fmt::format("{}: expected a torch.save file with a data.pkl", where));
  std::shared_ptr<const void> owner;
  const auto content = zip.content(*pickle, limit, owner);
  if (!content) return tl::make_unexpected(content.error());
  PickleMachine machine(*content, where);
  const auto top = machine.run();
  if (!top) return tl::make_unexpected(top.error());
  Pt2State state;
  const Items& entries = (*top)->items;
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
    const Item& value = *entries[i + 1];
    if (entries[i]->text.size() > longest_name)
      return input_error(fmt::format("{}: expected names of at most {} bytes", where, longest_name));
    const auto storage = storages.find(value.text);
    if (value.kind != Item::Kind::tensor || (storage != storages.end() && storage->second->method != 0))
      state.others.push_back(entries[i]->text);
    else if (storage == storages.end())
      return input_error(fmt::format("{}: the tensor \"{}\" is kept in data/{}, which the file does not hold",
                                     where, entries[i]->text, value.text));
    else
      state.tensors.push_back({entries[i]->text, zip.stored_bytes(*storage->second), file, value.view});
  }
  return state;
}

}  // namespace

Result<Pt2State> read_torch_state(const ZipArchive& outer, const ZipMember& member, std::uint64_t limit) {
  std::shared_ptr<const MappedFile> file = outer.shared_file();
  std::uint64_t offset = member.payload_offset, length = member.size;
  const std::string where = outer.file().path() + ": " + member.name;
  if (member.method != 0) {
    std::shared_ptr<const void> owner;
    const auto content = outer.content(member, limit, owner);
    if (!content) return tl::make_unexpected(content.error());
    file = MappedFile::from_bytes(where, std::string(content->begin(), content->end()));
    offset = 0, length = file->bytes().size();
  }
  const auto zip = ZipArchive::open_at(file, offset, length, where);
  if (!zip) return tl::make_unexpected(zip.error());
  return read_inner(*zip, file, limit, where);
}

}  // namespace md
