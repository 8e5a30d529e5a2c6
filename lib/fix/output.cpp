#include "lib/fix/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/json_depth.h"
#include "lib/base/partial_files.h"
#include "lib/base/relative_path.h"
#include "lib/base/sha256.h"

namespace md {
namespace {

// Hashing reads every byte; above this size an output is recognized by its length alone.
constexpr std::uint64_t kHashedBytes = 256U << 20;

std::string with_extension(const std::string& path, const std::string& extension) {
  return std::filesystem::path(path).replace_extension(extension).string();
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

/// Parses the diagnosis beside an output; a discarded value when there is none.
nlohmann::json diagnosis_at(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return nlohmann::json();
  const Bytes bytes = (*file)->bytes();
  if (too_deep_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) != std::string_view::npos)
    return nlohmann::json();
  return nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
}

bool is_our_diagnosis(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("tool") || !json["tool"].is_object()) return false;
  return json["tool"].value("name", nlohmann::json()) == "modeldoctor";
}

/// An output that we wrote and nobody changed since.
bool is_our_model(const std::string& path, const nlohmann::json& json) {
  if (!is_our_diagnosis(json) || !json.contains("output") || !json["output"].is_object()) return false;
  const nlohmann::json& output = json["output"];
  if (std::filesystem::path(
          output.value("path", nlohmann::json("")).is_string() ? output["path"].get<std::string>() : "")
          .filename() != std::filesystem::path(path).filename())
    return false;
  auto file = MappedFile::open(path);
  if (!file) return false;
  if (!output.contains("bytes") || output["bytes"] != (*file)->bytes().size()) return false;
  const auto hash = output.find("sha256");
  return hash == output.end() || !hash->is_string() || hash->get<std::string>() == sha256((*file)->bytes());
}

Status may_replace(const std::string& path, bool ours) {
  struct stat info {};
  const bool leads_somewhere = ::stat(path.c_str(), &info) == 0;
  if (leads_somewhere && S_ISDIR(info.st_mode))
    return usage_error(fmt::format("{}: is a directory, expected a file to write", path));
  if (!exists(path)) return {};
  if (!leads_somewhere)
    return usage_error(fmt::format("{}: is a link that leads to no file; name the file itself", path));
  if (!S_ISREG(info.st_mode))
    return usage_error(fmt::format("{}: is not a regular file, choose another output", path));
  if (ours) return {};
  return usage_error(fmt::format(
      "{}: exists and was not written by modeldoctor; give --force to replace it, or another name", path));
}

Status check_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0)
    return usage_error(fmt::format("{}: the folder {} does not exist; create it first", path, folder));
  if (!S_ISDIR(info.st_mode)) return usage_error(fmt::format("{}: {} is not a folder", path, folder));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return usage_error(fmt::format("{}: the folder {} is not writable; choose another", path, folder));
  return {};
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  struct stat x {
  }, y{};
  if (::stat(a.c_str(), &x) != 0 || ::stat(b.c_str(), &y) != 0) return false;
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

Result<OutputPlan> plan_output(const std::string& input, const std::string& output, bool in_place) {
  OutputPlan plan;
  plan.in_place = in_place;
  plan.named = !output.empty();
  if (in_place) {
    if (plan.named) return usage_error("--in-place writes the input itself; leave out -o");
    plan.model_path = input;
    plan.diagnosis_path = with_extension(input, ".diagnosis.json");
    return plan;
  }
  if (plan.named) {
    if (output == "-") return usage_error("-o -: a model needs the name of a file");
    plan.model_path = output;
    plan.diagnosis_path = with_extension(output, ".diagnosis.json");
    if (same_file(input, output))
      return usage_error(fmt::format("{}: is the input file; give another name, or --in-place", output));
    return plan;
  }
  const std::string extension = std::filesystem::path(input).extension().string();
  plan.model_path = with_extension(input, ".fixed" + extension);
  plan.diagnosis_path = with_extension(input, ".diagnosis.json");
  if (same_file(input, plan.model_path))
    return usage_error(fmt::format("{}: is the input file; give another name with -o", plan.model_path));
  return plan;
}

Status check_output(const OutputPlan& plan, bool force) {
  if (auto folder = check_folder(plan.model_path); !folder) return folder;
  const nlohmann::json beside = diagnosis_at(plan.diagnosis_path);
  if (auto status = may_replace(plan.diagnosis_path, force || is_our_diagnosis(beside)); !status)
    return status;
  remove_leftovers(plan.model_path);
  remove_leftovers(plan.diagnosis_path);
  if (plan.in_place) return {};
  return may_replace(plan.model_path, force || is_our_model(plan.model_path, beside));
}

Status check_replaceable(const std::string& path, bool force,
                         const std::function<bool(std::string_view bytes)>& is_ours) {
  if (auto folder = check_folder(path); !folder) return folder;
  bool ours = force;
  struct stat info {};
  if (!ours && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
    if (auto file = MappedFile::open(path)) {
      const Bytes bytes = (*file)->bytes();
      ours = is_ours({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  if (auto status = may_replace(path, ours); !status) return status;
  remove_leftovers(path);
  return {};
}

Result<ReportedOutput> StagedFiles::add_model(const Document& document, const Model& edited,
                                              const std::string& path,
                                              const std::function<Status(const Document& written)>& accept) {
  auto sink = AtomicFileSink::create(path);
  if (!sink) return tl::make_unexpected(sink.error());
  if (auto status = document.write(edited, **sink); !status) return tl::make_unexpected(status.error());
  if (auto status = (*sink)->flush(); !status) return tl::make_unexpected(status.error());
  ReportedOutput output;
  output.path = path;
  auto written = open_document((*sink)->temporary_path());
  if (!written)
    return fail(Error::Kind::check,
                fmt::format("{}: the written file does not open again: {}", path, written.error().message));
  if (accept)
    if (auto status = accept(**written); !status)
      return fail(Error::Kind::check, fmt::format("{}: {}", path, status.error().message));
  const Bytes bytes = (*written)->file().bytes();
  output.bytes = bytes.size();
  if (bytes.size() <= kHashedBytes) output.sha256 = sha256(bytes);
  files_.push_back({path, std::move(*sink)});
  return output;
}

Status StagedFiles::add_text(const std::string& path, std::string_view text) {
  auto sink = AtomicFileSink::create(path);
  if (!sink) return tl::make_unexpected(sink.error());
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  if (auto status = (*sink)->append(bytes); !status) return status;
  if (auto status = (*sink)->flush(); !status) return status;
  files_.push_back({path, std::move(*sink)});
  return {};
}

Status StagedFiles::commit() {
  for (const Staged& file : files_)
    if (auto flushed = file.sink->flush(); !flushed)
      return input_error(flushed.error().message + "; nothing was written");
  const CommitGuard guard;  // no signal between two of them
  std::string replaced;
  for (const Staged& file : files_) {
    if (auto status = file.sink->commit(); !status)
      return input_error(
          fmt::format("{}; {} was written", status.error().message, replaced.empty() ? "nothing" : replaced));
    replaced += (replaced.empty() ? "" : ", ") + file.path;
    ++committed_;
  }
  return {};
}

Result<ReportedOutput> write_model(const Document& document, const Model& edited, const std::string& path) {
  StagedFiles files;
  auto output = files.add_model(document, edited, path, nullptr);
  if (!output) return output;
  if (auto status = files.commit(); !status) return tl::make_unexpected(status.error());
  return output;
}

Status write_text(const std::string& path, std::string_view text) {
  StagedFiles files;
  if (auto status = files.add_text(path, text); !status) return status;
  return files.commit();
}

}  // namespace md
