#include "test/zip_models.h"

#include <zip.h>

#include <cstring>
#include <stdexcept>

#include "lib/format/torch/zip.h"

namespace md::test {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : char{0};
}

std::uint64_t or_else(std::int64_t given, std::uint64_t right) {
  return given < 0 ? right : static_cast<std::uint64_t>(given);
}

Bytes as_bytes(const std::string& s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }

}  // namespace

std::string deflated(const std::string& content) {
  // A libzip archive of one member, and its payload.
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* out = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(out);
  zip_t* zip = zip_open_from_source(out, ZIP_CREATE | ZIP_TRUNCATE, &error);
  zip_source_t* in = zip_source_buffer(zip, content.data(), content.size(), 0);
  const auto index = zip_file_add(zip, "x", in, 0);
  zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_DEFLATE, 9);
  zip_close(zip);
  zip_stat_t stat;
  zip_source_open(out);
  zip_source_stat(out, &stat);
  std::string archive(stat.size, '\0');
  zip_source_read(out, archive.data(), archive.size());
  zip_source_close(out);
  zip_source_free(out);
  auto opened = ZipArchive::open(MappedFile::from_bytes("deflated", archive));
  if (!opened || opened->members().size() != 1) throw std::runtime_error("libzip made no archive");
  const ZipMember& m = opened->members()[0];
  return archive.substr(m.payload_offset, m.compressed);
}

std::string make_zip(const ZipRecipe& recipe) {
  std::string out, directory;
  for (const ZipPart& part : recipe.parts) {
    const std::string payload = part.method == 8 ? deflated(part.content) : part.content;
    const std::string& local_name = part.local_name.empty() ? part.name : part.local_name;
    const std::uint64_t crc = or_else(part.crc, zip_crc32(as_bytes(part.content))), at = out.size();
    const std::uint64_t size = or_else(part.size, part.content.size()),
                        compressed = or_else(part.compressed, payload.size());
    const auto common = [&](std::string& to) {
      put(to, 20, 2), put(to, static_cast<std::uint64_t>(part.flags), 2),
          put(to, static_cast<std::uint64_t>(part.method), 2), put(to, 0, 4), put(to, crc, 4);
      put(to, compressed, 4), put(to, size, 4);
    };
    put(out, 0x04034b50, 4), common(out), put(out, local_name.size(), 2), put(out, 0, 2);
    out += local_name + payload;
    put(directory, 0x02014b50, 4), put(directory, 20, 2), common(directory),
        put(directory, part.name.size(), 2), put(directory, 0, 12);
    put(directory, or_else(part.offset, at), 4);
    directory += part.name;
  }
  const std::uint64_t directory_at = out.size();
  out += directory;
  put(out, 0x06054b50, 4), put(out, 0, 4);
  const std::uint64_t entries = or_else(recipe.entries, recipe.parts.size());
  put(out, entries, 2), put(out, entries, 2);
  put(out, or_else(recipe.directory_size, directory.size()), 4),
      put(out, or_else(recipe.directory_offset, directory_at), 4), put(out, recipe.comment.size(), 2);
  return out + recipe.comment;
}

std::vector<ZipPart> parts_of(const std::string& archive) {
  auto zip = ZipArchive::open(MappedFile::from_bytes("archive", archive));
  if (!zip) throw std::runtime_error(zip.error().message);
  std::vector<ZipPart> parts;
  for (const ZipMember& m : zip->members()) {
    const Bytes bytes = zip->stored_bytes(m);
    ZipPart part;
    part.name = m.name, part.content.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string with_member(const std::string& archive, const std::string& name_end,
                        const std::function<void(std::string&)>& change) {
  ZipRecipe recipe;
  recipe.parts = parts_of(archive);
  bool found = false;
  for (ZipPart& part : recipe.parts)
    if (part.name.ends_with(name_end)) change(part.content), found = true;
  if (!found) throw std::runtime_error("no member " + name_end);
  return make_zip(recipe);
}

}  // namespace md::test
