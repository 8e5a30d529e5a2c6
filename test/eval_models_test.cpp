// Whole models against what the LiteRT CPU interpreter computed on the inputs stored beside them (in_NAME,
// out_NAME).
#include "lib/eval/difference.h"
#include "lib/fp16/fp16_report.h"
#include "lib/graph/document.h"
#include "lib/verify/verify.h"
#include "test/catch.h"
#include "test/paths.h"

using namespace md;

namespace {

struct Stored {
  std::unique_ptr<Document> document;
  std::vector<Tensor> inputs, outputs;
};

Stored load(const std::string& name) {
  Stored stored;
  const std::string stem = test::fixture("evaluator/" + name);
  auto document = open_document(stem + ".tflite");
  INFO((document ? "" : document.error().message));
  REQUIRE(document);
  stored.document = std::move(*document);
  const Model& model = stored.document->model();
  auto inputs = load_inputs(model, {stem + ".npz"});
  INFO((inputs ? "" : inputs.error().message));
  REQUIRE(inputs);
  stored.inputs = (*inputs)[0];
  const auto arrays = read_numpy(stem + ".npz");
  REQUIRE(arrays);
  // By the name in the signature, or the file's own.
  const auto named = [&](ValueId v, const std::string& key) {
    if (key == "out_" + model.graphs[0].value(v).name) return true;
    for (const ModelSignature& signature : model.signatures)
      for (const auto& [name_in_signature, value] : signature.outputs)
        if (value == v && key == "out_" + name_in_signature) return true;
    return false;
  };
  for (const ValueId v : model.graphs[0].outputs)
    for (const auto& [key, tensor] : *arrays) {
      if (!named(v, key)) continue;
      stored.outputs.push_back(tensor);
      if (const auto& q = model.graphs[0].value(v).quantization; q && !tensor.is_float())
        stored.outputs.back().quantization = std::make_shared<const Quantization>(*q);
      break;
    }
  REQUIRE(stored.outputs.size() == model.graphs[0].outputs.size());
  return stored;
}

/// Largest difference relative to the largest output; integers in steps.
double worst(const Stored& stored, bool integers) {
  const auto outputs = evaluate(stored.document->model(), 0, stored.inputs);
  INFO((outputs ? "" : outputs.error().message));
  REQUIRE(outputs);
  double worst = 0;
  for (std::size_t k = 0; k < outputs->size(); ++k) {
    const Difference d = compare_tensors(stored.outputs[k], (*outputs)[k]);
    REQUIRE(d.same_shape);
    REQUIRE(d.nonfinite == 0);
    worst = std::max(worst, integers ? d.max_abs : d.max_rel);
  }
  return worst;
}

}  // namespace

TEST_CASE("float models agree with the CPU interpreter to 1e-5", "[eval][models]") {
  const auto name = GENERATE(
      as<std::string>{}, "transformer", "transformer-fp16", "transformer-weight-only-int8", "convolutions",
      "grid-sample", "transposed-convolution", "convolution-3d", "spectrum", "recurrent", "bicubic",
      "lstm-coupled-gates", "lstm-projection", "lstm-layer-norm", "lstm-step", "lstm-basic", "rnn-sequence",
      "svdf", "mean", "mean-as-sum", "rms-norm-large", "layer-norm-large", "runtime-index");
  INFO(name);
  REQUIRE(worst(load(name), false) < 1e-5);
}

TEST_CASE("models with 8-bit weights and float activations agree to 1e-5", "[eval][models]") {
  const auto name = GENERATE(as<std::string>{}, "transformer-dynamic-int8", "convolutions-dynamic-int8");
  INFO(name);
  REQUIRE(worst(load(name), false) < 1e-5);
}

TEST_CASE("int8 models agree with the CPU interpreter in every number", "[eval][models]") {
  const auto name = GENERATE(as<std::string>{}, "transformer-int8", "convolutions-int8",
                             "transposed-convolution-int8", "detector-int8", "masked-attention-int8");
  INFO(name);
  REQUIRE(worst(load(name), true) == 0);
}

TEST_CASE("the fp16 doctor names the tensor that overflows on the stored inputs", "[fp16][models]") {
  const auto report = [](const std::string& name) {
    const Stored stored = load(name);
    Fp16Options options;
    options.inputs.inputs = {stored.inputs};
    return fp16_report(stored.document->model(), 0, options);
  };
  const Fp16Report rms = report("rms-norm-large"), layer = report("layer-norm-large"),
                   sum = report("mean-as-sum"), mean = report("mean");
  REQUIRE(rms.verdict == Fp16Verdict::overflow);
  REQUIRE(rms.symptom == "zeros");
  REQUIRE(rms.layers[*rms.first].op == "MUL");
  REQUIRE(layer.verdict == Fp16Verdict::overflow);
  REQUIRE(layer.symptom == "zeros");
  REQUIRE(layer.layers[*layer.first].op == "SQUARED_DIFFERENCE");
  REQUIRE(sum.verdict == Fp16Verdict::overflow);
  REQUIRE(sum.layers[*sum.first].op == "SUM");
  REQUIRE(mean.verdict == Fp16Verdict::fine);
  REQUIRE(report("transformer").verdict == Fp16Verdict::fine);
}
