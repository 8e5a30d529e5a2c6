#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "lib/format/torch/program_editor.h"
#include "lib/format/torch/render.h"
#include "lib/format/torch/zip_writer.h"

namespace md {
namespace {

/// The weights and constants of the edited program: which members change, come or go, and the two config
/// texts.
class PayloadEditor {
 public:
  PayloadEditor(const ZipArchive& zip, const Pt2Layout& layout, const Graph& edited, ZipPlan& plan)
      : zip_(zip), layout_(layout), edited_(edited), plan_(plan) {
    for (const Pt2Config* config : {&layout.weights, &layout.constants})
      for (const Pt2Payload& p : config->payloads) {
        ++readers_[p.member];
        const ZipMember* member = zip.find(p.member);
        if (member && member->method == 0) by_bytes_.emplace(zip.stored_bytes(*member).data(), &p);
      }
  }

  /// The entry whose stored bytes a constant is a view of, or null.
  const Pt2Payload* stored_as(const Constant& constant) const {
    const auto it = by_bytes_.find(constant.bytes.data());
    if (it == by_bytes_.end() || constant.bytes.empty()) return nullptr;
    const ZipMember* member = zip_.find(it->second->member);
    return member->size == constant.bytes.size() ? it->second : nullptr;
  }

  Status run(const Pt2ProgramEditor& program) {
    for (const Pt2ChangedConstant& c : program.changed_constants())
      if (auto ok = change(c); !ok) return ok;
    for (const std::string& fqn : program.dropped()) drop(fqn);
    for (const Pt2Config* config : {&layout_.weights, &layout_.constants})
      if (auto ok = write_config(*config); !ok) return ok;
    return {};
  }

 private:
  struct NewEntry {
    bool in_weights = true;
    std::string fqn, text;
  };

  std::string entry_text(const std::string& fqn, const std::string& path, bool is_param,
                         const Value& value) const {
    const auto size = [](const Value& v, std::size_t d) {
      return fmt::format("{{\"as_int\": {}}}", v.shape[d]);
    };
    return fmt::format(
        "{}: {{\"path_name\": {}, \"is_param\": {}, \"use_pickle\": false, \"tensor_meta\": {}}}",
        json_quote(fqn), json_quote(path), is_param, render_tensor_meta(value, size));
  }

  static std::string file_name(const std::string& member) { return member.substr(member.rfind('/') + 1); }

  std::string fresh_member(bool in_weights) {
    const std::string folder =
        layout_.root + (in_weights ? "data/weights/weight_" : "data/constants/tensor_");
    for (;; ++next_member_)
      if (std::string name = folder + std::to_string(next_member_); !zip_.find(name))
        return ++next_member_, name;
  }

  Status change(const Pt2ChangedConstant& changed) {
    const Value& value = edited_.value(changed.value);
    bool in_weights = changed.kind == Pt2PortKind::parameter || changed.kind == Pt2PortKind::buffer;
    const Pt2Payload* stored = stored_as(*value.constant);
    if (changed.added) {
      std::string member;
      if (stored) {
        member = stored->member;
        in_weights = member.starts_with(layout_.root + "data/weights/");
        ++readers_[member];
      } else {
        member = fresh_member(in_weights);
        plan_.add(member, *value.constant);
      }
      added_.push_back(
          {in_weights, changed.fqn,
           entry_text(changed.fqn, file_name(member), changed.kind == Pt2PortKind::parameter, value)});
      return {};
    }
    for (const Pt2Config* config : {&layout_.weights, &layout_.constants})
      for (const Pt2Payload& p : config->payloads) {
        if (p.fqn != changed.fqn) continue;
        std::string member = p.member;
        if (!stored ||
            stored->member != p.member) {  // other bytes: in place when nobody else reads the member
          if (readers_[member] > 1) {
            --readers_[member];
            member = fresh_member(config == &layout_.weights);
            plan_.add(member, *value.constant);
          } else {
            plan_.replace(member, *value.constant);
          }
        }
        replaced_[p.fqn] =
            entry_text(p.fqn, file_name(member), changed.kind == Pt2PortKind::parameter, value);
        return {};
      }
    return fail(Error::Kind::unsupported,
                fmt::format("{}: \"{}\" is not kept as plain bytes, so it cannot be changed; save the "
                            "program again with torch 2.8 or newer",
                            zip_.file().path(), changed.fqn));
  }

  void drop(const std::string& fqn) {
    for (const Pt2Config* config : {&layout_.weights, &layout_.constants})
      for (const Pt2Payload& p : config->payloads)
        if (p.fqn == fqn && --readers_[p.member] == 0) plan_.remove(p.member);
    dropped_.insert(fqn);
  }

  Status write_config(const Pt2Config& config) {
    const bool weights = &config == &layout_.weights;
    std::vector<std::string> parts;
    bool rebuilt = false;
    for (const Pt2Payload& p : config.payloads) {
      if (dropped_.count(p.fqn)) {
        rebuilt = true;
        continue;
      }
      const auto it = replaced_.find(p.fqn);
      rebuilt = rebuilt || it != replaced_.end();
      parts.push_back(it != replaced_.end()
                          ? it->second
                          : std::string(config.json->text().substr(p.whole.begin, p.whole.size())));
    }
    for (const NewEntry& e : added_)
      if (e.in_weights == weights) parts.push_back(e.text), rebuilt = true;
    if (!rebuilt) return {};
    if (!config.json || config.object.size() < 2)
      return fail(Error::Kind::unsupported,
                  fmt::format("{}: the archive has no table of {}, so none can be added; save the program "
                              "again with torch 2.8 or newer",
                              zip_.file().path(), weights ? "weights" : "constants"));
    Splices splices(config.json->text());
    splices.replace_elements(config.object, parts);
    const std::string text = splices.whole();
    plan_.replace(config.member->name, Constant::own({text.begin(), text.end()}));
    return {};
  }

  const ZipArchive& zip_;
  const Pt2Layout& layout_;
  const Graph& edited_;
  ZipPlan& plan_;
  std::unordered_map<const std::uint8_t*, const Pt2Payload*> by_bytes_;  ///< first byte in the file -> entry
  std::map<std::string, int> readers_;                                   ///< member -> entries that name it
  std::vector<NewEntry> added_;
  std::map<std::string, std::string> replaced_;
  std::set<std::string> dropped_;
  int next_member_ = 0;
};

}  // namespace

Status Pt2Document::write(const Model& edited, ByteSink& sink) const {
  ZipPlan plan;
  PayloadEditor payloads(*zip_, layout_, edited.graphs.at(0), plan);
  const auto shared_kind = [&](const Constant& constant) {
    const Pt2Payload* stored = payloads.stored_as(constant);
    if (!stored) return Pt2PortKind::other;
    for (const Pt2Spec& spec : layout_.input_specs)
      if (spec.target == stored->fqn)
        return spec.kind == Pt2PortKind::buffer && !spec.persistent ? Pt2PortKind::constant : spec.kind;
    return Pt2PortKind::other;
  };
  Pt2ProgramEditor program(model_, edited, layout_, shared_kind);
  if (auto ok = program.run(); !ok) return ok;
  if (layout_.pickled && !program.changed_constants().empty())
    return fail(Error::Kind::unsupported,
                fmt::format("{}: this archive of an older torch keeps its weights in one torch.save file, "
                            "and the fix needs new ones; load it with torch.export.load, save it again with "
                            "torch 2.8 or newer, and run the fix on that",
                            file_->path()));
  if (!layout_.older)
    if (auto ok = payloads.run(program); !ok) return ok;
  if (!program.splices().empty()) {
    const std::string text = program.splices().whole();
    plan.replace(layout_.program->name, Constant::own({text.begin(), text.end()}));
  }
  return write_zip(*zip_, plan, sink);
}

}  // namespace md
