#include "lib/format/torch/zip_writer.h"

#include <algorithm>
#include <limits>

namespace md {
namespace {

constexpr std::uint64_t alignment = 64;
constexpr std::uint32_t marker32 = 0xffffffff;  ///< "see the zip64 extra field"
constexpr std::uint16_t utf8_names = 0x0800, version_stored = 20, version_zip64 = 45;

void put16(std::string& out, std::uint64_t v) {
  out += static_cast<char>(v & 0xff), out += static_cast<char>((v >> 8) & 0xff);
}
void put32(std::string& out, std::uint64_t v) { put16(out, v & 0xffff), put16(out, (v >> 16) & 0xffff); }
void put64(std::string& out, std::uint64_t v) { put32(out, v & 0xffffffff), put32(out, v >> 32); }
Bytes as_bytes(const std::string& s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }

/// A member of the output. `content` null: the payload comes from the input.
struct Output {
  ZipMember member;
  const Constant* content = nullptr;
  bool untouched = false;  ///< its bytes and place are those of the input
};

bool large(const ZipMember& m) { return m.size >= marker32 || m.compressed >= marker32; }

std::string local_header(const ZipMember& m, std::uint64_t at) {
  const bool zip64 = large(m);
  std::string extra;
  if (zip64) put16(extra, 1), put16(extra, 16), put64(extra, m.size), put64(extra, m.compressed);
  const std::uint64_t without = at + 30 + m.name.size() + extra.size() + 4;
  const std::uint64_t padding = (alignment - without % alignment) % alignment;
  extra += "FB";
  put16(extra, padding);
  extra.append(padding, 'Z');
  std::string out;
  put32(out, 0x04034b50);
  put16(out, zip64 ? version_zip64 : version_stored), put16(out, utf8_names), put16(out, m.method),
      put16(out, m.time), put16(out, m.date);
  put32(out, m.crc), put32(out, zip64 ? marker32 : m.compressed), put32(out, zip64 ? marker32 : m.size);
  put16(out, m.name.size()), put16(out, extra.size());
  return out + m.name + extra;
}

std::string directory_record(const ZipMember& m) {
  std::string extra;
  const bool zip64 = large(m), far = m.header_offset >= marker32;
  if (zip64) put64(extra, m.size), put64(extra, m.compressed);
  if (far) put64(extra, m.header_offset);
  if (!extra.empty()) {
    std::string head;
    put16(head, 1), put16(head, extra.size());
    extra.insert(0, head);
  }
  std::string out;
  put32(out, 0x02014b50);
  put16(out, 0), put16(out, zip64 || far ? version_zip64 : version_stored), put16(out, utf8_names),
      put16(out, m.method), put16(out, m.time), put16(out, m.date);
  put32(out, m.crc), put32(out, zip64 ? marker32 : m.compressed), put32(out, zip64 ? marker32 : m.size);
  put16(out, m.name.size()), put16(out, extra.size()), put16(out, 0), put16(out, 0), put16(out, 0),
      put32(out, 0);
  put32(out, far ? marker32 : m.header_offset);
  return out + m.name + extra;
}

std::string directory_end(std::uint64_t entries, std::uint64_t offset, std::uint64_t size) {
  std::string out;
  const bool zip64 = entries >= 0xffff || offset >= marker32 || size >= marker32;
  if (zip64) {
    put32(out, 0x06064b50), put64(out, 44), put16(out, version_zip64), put16(out, version_zip64),
        put32(out, 0), put32(out, 0);
    put64(out, entries), put64(out, entries), put64(out, size), put64(out, offset);
    put32(out, 0x07064b50), put32(out, 0), put64(out, offset + size), put32(out, 1);
  }
  put32(out, 0x06054b50), put16(out, 0), put16(out, 0);
  put16(out, std::min<std::uint64_t>(entries, 0xffff)), put16(out, std::min<std::uint64_t>(entries, 0xffff));
  put32(out, std::min<std::uint64_t>(size, marker32)), put32(out, std::min<std::uint64_t>(offset, marker32)),
      put16(out, 0);
  return out;
}

ZipMember with_content(ZipMember m, const Constant& content) {
  m.method = 0, m.size = m.compressed = content.bytes.size(), m.crc = zip_crc32(content.bytes);
  return m;
}

}  // namespace

Status write_zip(const ZipArchive& zip, const ZipPlan& plan, ByteSink& sink) {
  const MappedFile& file = zip.file();
  if (plan.empty()) return sink.append_range(file, 0, file.bytes().size());
  std::vector<Output> outputs;
  for (const ZipMember& m : zip.members()) {
    if (plan.removed().count(m.name)) continue;
    const auto it = plan.replaced().find(m.name);
    if (it == plan.replaced().end())
      outputs.push_back({m, nullptr, false});
    else
      outputs.push_back({with_content(m, it->second), &it->second, false});
  }
  std::stable_sort(outputs.begin(), outputs.end(), [](const Output& a, const Output& b) {
    return a.member.header_offset < b.member.header_offset;
  });
  for (const auto& [name, content] : plan.added()) {
    ZipMember m;
    m.name = name;
    outputs.push_back({with_content(m, content), &content, false});
  }
  // Everything in front of the first change is one range of the input.
  std::vector<const ZipMember*> by_place;
  for (const ZipMember& m : zip.members()) by_place.push_back(&m);
  std::sort(by_place.begin(), by_place.end(),
            [](auto* a, auto* b) { return a->header_offset < b->header_offset; });
  std::size_t same = 0;
  while (same < by_place.size() && same < outputs.size() && !outputs[same].content &&
         outputs[same].member.name == by_place[same]->name)
    outputs[same].untouched = true, ++same;
  std::uint64_t at = 0;
  if (same > 0) {
    at = same < by_place.size() ? by_place[same]->header_offset : zip.directory_offset();
    if (auto ok = sink.append_range(file, 0, at); !ok) return ok;
  }
  for (Output& out : outputs) {
    if (out.untouched) continue;
    const std::uint64_t payload = out.member.payload_offset;
    out.member.header_offset = at;
    const std::string header = local_header(out.member, at);
    if (auto ok = sink.append(as_bytes(header)); !ok) return ok;
    const auto ok = out.content ? sink.append(out.content->bytes)
                                : sink.append_range(file, payload, out.member.compressed);
    if (!ok) return ok;
    at += header.size() + out.member.compressed;
  }
  std::string directory;
  for (const Output& out : outputs) {
    if (out.untouched)
      directory.append(reinterpret_cast<const char*>(file.bytes().data()) + out.member.record_offset,
                       out.member.record_size);
    else
      directory += directory_record(out.member);
  }
  directory += directory_end(outputs.size(), at, directory.size());
  return sink.append(as_bytes(directory));
}

}  // namespace md
