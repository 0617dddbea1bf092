#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"

namespace plimsoll::network {
namespace {

// Classical models and optimisers, as far as their shapes follow simply.

Status like_first(InferenceContext& c) {
  set_like(c, 0, 0, c.type(0));
  return {};
}
Status like_first_as_float(InferenceContext& c) {
  set_like(c, 0, 0, DataType::float32);
  return {};
}

/// Columns of input 0 that input 1 lists; a vector is taken as one row.
Status extract_features(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto x = c.dims(0);
  if (x.empty()) return fail("the input is a scalar; it has no features");
  Shape out = x.size() == 1 ? Shape{Dim::of(1)} : Shape(x.first(x.size() - 1));
  out.push_back(c.count(c.dims(1)));
  c.set(0, c.type(0), out);
  return {};
}

/// Inputs: rate, step, then `groups` lists of n tensors each: values, gradients, states. Outputs: the values
/// and states anew.
Status optimizer(InferenceContext& c, std::size_t groups) {
  if ((c.inputs() - 2) % groups != 0)
    return fail("{} inputs after the first two cannot be divided into {} lists", c.inputs() - 2, groups);
  const std::size_t n = (c.inputs() - 2) / groups;
  for (std::size_t i = 0; i < n * (groups - 1); ++i) {
    const std::size_t source = 2 + (i < n ? i : i + n);  // the gradients do not come back
    if (c.has(source)) set_like(c, i, source, c.type(source));
  }
  return {};
}
Status three_lists(InferenceContext& c) {
  return optimizer(c, 3);
}
Status four_lists(InferenceContext& c) {
  return optimizer(c, 4);
}

/// Derivatives of `y` with respect to the inputs: of their shapes.
Status gradient(InferenceContext& c) {
  for (std::size_t i = 0; i < c.outputs() && c.has(i); ++i) set_like(c, i, i, c.type(i));
  return {};
}

constexpr OperatorInfo named(std::string_view domain, std::string_view name) {
  return {name, 0, kAny, kAny, nullptr, domain};
}
constexpr std::string_view kClassical = "ai.onnx.ml";
constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr std::string_view kMicrosoft = "com.microsoft";

constexpr OperatorInfo kOperators[] = {
    // Experimental ones that ONNX dropped; old exporters still wrote them.
    named("", "ATen"),
    {"Affine", 1, 1, 1, like_first},
    named("", "Crop"),
    named("", "DynamicSlice"),
    named("", "GRUUnit"),
    named("", "GivenTensorFill"),
    {"ImageScaler", 1, 1, 1, like_first},
    {"ParametricSoftplus", 1, 1, 1, like_first},
    {"ScaledTanh", 1, 1, 1, like_first},
    named("", "BitCast"),  // of opset 26

    {"ArrayFeatureExtractor", 2, 2, 1, extract_features, kClassical},
    {"Binarizer", 1, 1, 1, like_first, kClassical},
    named(kClassical, "CastMap"),
    named(kClassical, "CategoryMapper"),
    named(kClassical, "DictVectorizer"),
    named(kClassical, "FeatureVectorizer"),
    {"Imputer", 1, 1, 1, like_first, kClassical},
    named(kClassical, "LabelEncoder"),
    named(kClassical, "LinearClassifier"),
    named(kClassical, "LinearRegressor"),
    {"Normalizer", 1, 1, 1, like_first_as_float, kClassical},
    named(kClassical, "OneHotEncoder"),
    named(kClassical, "SVMClassifier"),
    named(kClassical, "SVMRegressor"),
    {"Scaler", 1, 1, 1, like_first_as_float, kClassical},
    named(kClassical, "TreeEnsemble"),
    named(kClassical, "TreeEnsembleClassifier"),
    named(kClassical, "TreeEnsembleRegressor"),
    named(kClassical, "ZipMap"),

    {"Adagrad", 3, kAny, kAny, three_lists, kTraining},
    {"Adam", 3, kAny, kAny, four_lists, kTraining},
    {"Gradient", 1, kAny, kAny, gradient, kTraining},
    {"Momentum", 3, kAny, kAny, three_lists, kTraining},

    named(kMicrosoft, "AttnLSTM"),
    named(kMicrosoft, "BeamSearch"),
    named(kMicrosoft, "BifurcationDetector"),
    named(kMicrosoft, "CausalConvWithState"),
    named(kMicrosoft, "DecoderAttention"),
    named(kMicrosoft, "DequantizeBFP"),
    named(kMicrosoft, "DequantizeWithOrder"),
    named(kMicrosoft, "DynamicQuantizeLSTM"),
    named(kMicrosoft, "DynamicTimeWarping"),
    named(kMicrosoft, "EPContext"),
    named(kMicrosoft, "GatedAdd"),
    named(kMicrosoft, "GatedDeltaNet"),
    named(kMicrosoft, "GatedRMSNorm"),
    named(kMicrosoft, "GemmaRotaryEmbedding"),
    named(kMicrosoft, "GreedySearch"),
    named(kMicrosoft, "GridSample"),
    named(kMicrosoft, "Irfft"),
    named(kMicrosoft, "IsAllFinite"),
    named(kMicrosoft, "LinearAttention"),
    named(kMicrosoft, "LinearAttentionGate"),
    named(kMicrosoft, "MatMulBlockQuantizedFp4Weight"),
    named(kMicrosoft, "MatMulBlockQuantizedFp8Weight"),
    named(kMicrosoft, "MatMulFpQ4"),
    named(kMicrosoft, "MatMulNBitsMlp"),
    named(kMicrosoft, "MatMulNBitsQkv"),
    named(kMicrosoft, "MurmurHash3"),
    named(kMicrosoft, "Pad"),
    named(kMicrosoft, "PagedAttention"),
    named(kMicrosoft, "QEmbedLayerNormalization"),
    named(kMicrosoft, "QOrderedAttention"),
    named(kMicrosoft, "QOrderedGelu"),
    named(kMicrosoft, "QOrderedLayerNormalization"),
    named(kMicrosoft, "QOrderedLongformerAttention"),
    named(kMicrosoft, "QOrderedMatMul"),
    named(kMicrosoft, "QuantizeBFP"),
    named(kMicrosoft, "QuantizeWithOrder"),
    named(kMicrosoft, "Range"),
    named(kMicrosoft, "ReduceSumInteger"),
    named(kMicrosoft, "Rfft"),
    named(kMicrosoft, "SampleOp"),
    named(kMicrosoft, "Sampling"),
    named(kMicrosoft, "Snpe"),
    named(kMicrosoft, "SparseToDenseMatMul"),
    named(kMicrosoft, "Tokenizer"),
    named(kMicrosoft, "WhisperBeamSearch"),
    named(kMicrosoft, "WordConvEmbedding"),
};

}  // namespace

std::span<const OperatorInfo> unruled_operators() {
  return kOperators;
}

}  // namespace plimsoll::network
