#include "lib/verify/runner.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/escape.h"
#include "lib/fp16/headroom.h"
#include "lib/verify/child_process.h"
#include "lib/verify/npy.h"

namespace md {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Known {
  const char *name, *script, *what;
  const char* environment;  ///< folder of its virtual environment
};
constexpr Known known[] = {
    {"litert-cpu", "litert-cpu.py", "the LiteRT CPU interpreter", "litert"},
    {"litert-gpu", "litert-gpu.py", "the LiteRT GPU accelerator, the whole model on the GPU", "litert"},
    {"onnxruntime", "onnxruntime-cpu.py", "ONNX Runtime on the CPU", "onnxruntime"},
};
constexpr int probe_seconds = 60;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string script_path(const std::string& file) {
  std::error_code error;
  std::vector<fs::path> folders;
  if (const std::string own = environment("MODELDOCTOR_RUNNERS"); !own.empty()) folders.emplace_back(own);
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path at = program.parent_path(); !error && !at.empty() && at != at.root_path();
       at = at.parent_path()) {
    folders.push_back(at / "scripts" / "runners");
    folders.push_back(at / "share" / "modeldoctor" / "runners");
  }
  for (const fs::path& folder : folders)
    if (fs::exists(folder / file, error)) return (folder / file).string();
  return {};
}

/// The Python of a runner by its name.
std::string python(std::string_view runner) {
  if (const std::string own = environment("MODELDOCTOR_PYTHON"); !own.empty()) return own;
  std::string venvs = environment("MD_VENVS");
  if (venvs.empty()) venvs = environment("HOME") + "/.cache/modeldoctor";
  std::error_code error;
  for (const Known& k : known)
    if (k.name == runner)
      if (const std::string own = fmt::format("{}/{}/bin/python", venvs, k.environment);
          fs::exists(own, error))
        return own;
  return "python3";
}

/// A folder that goes away with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::string named = environment("TMPDIR"), parent = named.empty() ? "/tmp" : named;
    std::string pattern = parent + "/modeldoctor-run-XXXXXX";
    if (mkdtemp(pattern.data()))
      path_ = pattern;
    else
      error_ = fmt::format(
          "{}{}: no temporary folder can be made there: {}; set TMPDIR to a folder that can be "
          "written",
          named.empty() ? "" : "TMPDIR=", parent, std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }
  const std::string& error() const { return error_; }  ///< why `path` is empty

 private:
  fs::path path_;
  std::string error_;
};

std::string signature_name(const Model& model, ValueId id, bool input) {
  for (const ModelSignature& s : model.signatures)
    for (const auto& [name, value] : input ? s.inputs : s.outputs)
      if (s.graph == 0 && value == id) return name;
  return {};
}

const char* numpy_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "float16";
    case DType::f64:
      return "float64";
    case DType::i8:
      return "int8";
    case DType::i16:
      return "int16";
    case DType::i32:
      return "int32";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
    case DType::boolean:
      return "bool";
    case DType::c64:
      return "complex64";
    default:
      return "float32";
  }
}

Status write_request(const fs::path& folder, const std::string& model_path, const Model& model,
                     const std::vector<Tensor>& inputs, bool fp16) {
  const Graph& graph = model.graphs[0];
  std::error_code error;
  Json request = {{"model", fs::absolute(model_path, error).string()},
                  {"precision", fp16 ? "fp16" : "fp32"},
                  {"inputs", Json::array()},
                  {"outputs", Json::array()}};
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i) {
    const std::string file = fmt::format("in_{}.npy", i);
    if (auto written = write_npy((folder / file).string(), inputs[i]); !written) return written;
    request["inputs"].push_back({{"name", graph.value(graph.inputs[i]).name},
                                 {"signature_name", signature_name(model, graph.inputs[i], true)},
                                 {"file", file}});
  }
  for (const ValueId v : graph.outputs)
    request["outputs"].push_back({{"name", graph.value(v).name},
                                  {"signature_name", signature_name(model, v, false)},
                                  {"dtype", numpy_type(graph.value(v).dtype)},
                                  {"shape", graph.value(v).shape}});
  std::ofstream file(folder / "request.json");
  file << request.dump(2, ' ', false, Json::error_handler_t::replace);
  file.close();
  if (!file) return input_error(fmt::format("{}: cannot be written", (folder / "request.json").string()));
  return {};
}

void read_response(const fs::path& folder, const ChildResult& child, RunnerResult& result) {
  using Outcome = RunnerResult::Status;
  std::ifstream file(folder / "response.json");
  const Json response = file ? Json::parse(file, nullptr, false) : Json();
  if (!response.is_object()) {
    result.status = Outcome::crash;
    result.error = child.signal ? fmt::format("killed by signal {}", child.signal)
                                : fmt::format("ended with exit code {} and no response", child.exit_code);
    return;
  }
  const auto text = [&](const char* key) {
    return response.contains(key) && response[key].is_string() ? response[key].get<std::string>()
                                                               : std::string();
  };
  result.runtime = text("runtime"), result.error = text("error");
  result.status = text("status") == "ok"        ? Outcome::ok
                  : text("status") == "refused" ? Outcome::refused
                                                : Outcome::failed;
  if (result.status != Outcome::ok || !response.contains("outputs") || !response["outputs"].is_array())
    return;
  for (const Json& name : response["outputs"]) {
    // Only files of the folder: the name comes from another program.
    const fs::path plain = fs::path(name.is_string() ? name.get<std::string>() : "").filename();
    auto arrays = read_numpy((folder / plain).string());
    if (!arrays || arrays->size() != 1) {
      result.status = Outcome::failed;
      result.error = arrays ? "an output file does not hold one array" : arrays.error().message;
      return;
    }
    result.outputs.push_back(std::move((*arrays)[0].second));
  }
}

}  // namespace

std::string_view name(RunnerResult::Status status) {
  static constexpr std::string_view names[] = {"ok",    "refused", "failed",
                                               "crash", "timeout", "not installed"};
  return names[static_cast<std::size_t>(status)];
}

std::vector<RunnerInfo> list_runners(bool probe) {
  std::vector<RunnerInfo> runners;
  for (const Known& k : known) {
    RunnerInfo info{k.name, k.what, script_path(k.script), false, {}, {}};
    if (info.script.empty()) {
      info.hint = fmt::format(
          "its program {} was not found: set MODELDOCTOR_RUNNERS to the folder scripts/runners", k.script);
    } else if (probe) {
      const ChildResult child = run_child({python(k.name), info.script, "--probe"}, probe_seconds);
      const Json answer = Json::parse(child.output, nullptr, false);
      if (answer.is_object() && answer.value("installed", false))
        info.installed = true, info.runtime = answer.value("runtime", "");
      else
        info.hint = answer.is_object()
                        ? answer.value("hint", "")
                        : fmt::format("{} could not be started{}{}: set MODELDOCTOR_PYTHON", python(k.name),
                                      child.start_error.empty() ? "" : ": ", child.start_error);
    }
    runners.push_back(std::move(info));
  }
  return runners;
}

std::string runners_text(const std::vector<RunnerInfo>& runners) {
  std::string text;
  for (const RunnerInfo& r : runners)
    text += fmt::format("{:<12} {:<14} {}\n{:<12} {}\n", r.name, r.installed ? "installed" : "not installed",
                        r.what, "", escape_terminal(r.installed ? r.runtime : r.hint));
  return text;
}

RunnerResult run_on(const std::string& model_path, const Model& model, const std::vector<Tensor>& inputs,
                    const RunnerOptions& options) {
  using Outcome = RunnerResult::Status;
  RunnerResult result;
  if (model.graphs.empty()) {
    result.error = "the model holds no graph, so it computes nothing";
    return result;
  }
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    result.error = folder.error();
    return result;
  }
  std::vector<std::string> argv;
  if (options.command) {
    argv = {"/bin/sh", "-c", *options.command + " \"$1\"", "runner", folder.path().string()};
  } else {
    for (const RunnerInfo& info : list_runners(false))
      if (info.name == options.runner)
        argv = info.script.empty()
                   ? std::vector<std::string>{}
                   : std::vector<std::string>{python(info.name), info.script, folder.path().string()},
        result.error = info.hint;
    if (argv.empty()) {
      result.status = Outcome::not_installed;
      if (result.error.empty())
        result.error =
            fmt::format("there is no runner \"{}\"; `modeldoctor runners` lists them", options.runner);
      return result;
    }
  }
  if (auto written = write_request(folder.path(), model_path, model, inputs, options.fp16); !written) {
    result.error = written.error().message;
    return result;
  }
  const ChildResult child = run_child(argv, options.timeout_seconds);
  result.log = child.errors;
  if (!child.started) {
    result.status = Outcome::not_installed;
    result.error = fmt::format("{} could not be started: {}", argv[0], child.start_error);
    return result;
  }
  if (child.timed_out) {
    result.status = Outcome::timeout;
    result.error = fmt::format("did not finish within {} s", options.timeout_seconds);
    return result;
  }
  read_response(folder.path(), child, result);
  if (result.status == Outcome::ok && result.outputs.size() != model.graphs[0].outputs.size()) {
    result.status = Outcome::failed;
    result.error = fmt::format("gave {} outputs, the model has {}", result.outputs.size(),
                               model.graphs[0].outputs.size());
  }
  if (result.status == Outcome::failed && result.error.find("No module named") != std::string::npos)
    result.status = Outcome::not_installed;
  return result;
}

ModelComparison verify_on(const Model& reference, const std::string& model_path, const Model& model,
                          const RunnerOptions& runner, const CompareOptions& compare) {
  std::vector<std::vector<Tensor>> samples = compare.inputs;
  if (samples.empty() && reference.graphs.empty()) samples.emplace_back();
  if (samples.empty()) {
    HeadroomOptions plausible;
    plausible.ranges = compare.ranges;
    plausible.seed = compare.seed;
    samples.push_back(plausible_inputs(reference, 0, plausible, 0));
  }
  ModelComparison whole;
  for (const auto& sample : samples) {
    const RunnerResult ran = run_on(model_path, model, sample, runner);
    if (ran.status != RunnerResult::Status::ok) {
      whole.note = fmt::format("{} on {}: {}", name(ran.status),
                               runner.command ? *runner.command : runner.runner, ran.error);
      whole.equal = false;
      return whole;
    }
    std::vector<Tensor> outputs;
    for (std::size_t k = 0; k < ran.outputs.size(); ++k) {
      // A runner's arrays carry no scales; the model's own say what their integers mean.
      const Value& value = model.graphs[0].value(model.graphs[0].outputs[k]);
      Tensor tensor = ran.outputs[k];
      if (value.quantization && !value.quantization->scale.empty() && !tensor.is_float())
        tensor.quantization = std::make_shared<const Quantization>(*value.quantization);
      outputs.push_back(std::move(tensor));
    }
    ModelComparison one =
        compare_outputs(reference, sample, outputs, with_device_tolerance(compare, runner.fp16));
    one.input_source = compare.inputs.empty() ? "plausible random numbers" : "given samples";
    one.note += (one.note.empty() ? "" : "; ") + ("run by " + ran.runtime);
    if (whole.samples == 0) {
      whole = std::move(one);
      continue;
    }
    ++whole.samples;
    whole.equal = whole.equal && one.equal;
    whole.max_abs = std::max(whole.max_abs, one.max_abs),
    whole.max_rel = std::max(whole.max_rel, one.max_rel),
    whole.max_ulp = std::max(whole.max_ulp, one.max_ulp);
    for (std::size_t k = 0; k < whole.outputs.size() && k < one.outputs.size(); ++k)
      if (one.outputs[k].max_abs > whole.outputs[k].max_abs ||
          (!one.outputs[k].equal && whole.outputs[k].equal))
        whole.outputs[k] = one.outputs[k];
  }
  return whole;
}

}  // namespace md
