#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"

namespace plimsoll::network {
namespace {

// Classical models and optimisers, as far as their shapes follow simply.

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

constexpr OperatorInfo unruled(std::string_view domain, std::string_view name) {
  return {name, 0, kAny, kAny, nullptr, domain};
}
constexpr std::string_view kClassical = "ai.onnx.ml";
constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr std::string_view kMicrosoft = "com.microsoft";

constexpr OperatorInfo kUnruledOperators[] = {
    // Experimental ones that ONNX dropped; old exporters still wrote them.
    unruled("", "ATen"),
    {"Affine", 1, 1, 1, like_first},
    unruled("", "Crop"),
    unruled("", "DynamicSlice"),
    unruled("", "GRUUnit"),
    unruled("", "GivenTensorFill"),
    {"ImageScaler", 1, 1, 1, like_first},
    {"ParametricSoftplus", 1, 1, 1, like_first},
    {"ScaledTanh", 1, 1, 1, like_first},
    unruled("", "BitCast"),  // of opset 26

    {"ArrayFeatureExtractor", 2, 2, 1, extract_features, kClassical},
    {"Binarizer", 1, 1, 1, like_first, kClassical},
    unruled(kClassical, "CastMap"),
    unruled(kClassical, "CategoryMapper"),
    unruled(kClassical, "DictVectorizer"),
    unruled(kClassical, "FeatureVectorizer"),
    {"Imputer", 1, 1, 1, like_first, kClassical},
    unruled(kClassical, "LabelEncoder"),
    unruled(kClassical, "LinearClassifier"),
    unruled(kClassical, "LinearRegressor"),
    {"Normalizer", 1, 1, 1, like_first_as_float, kClassical},
    unruled(kClassical, "OneHotEncoder"),
    unruled(kClassical, "SVMClassifier"),
    unruled(kClassical, "SVMRegressor"),
    {"Scaler", 1, 1, 1, like_first_as_float, kClassical},
    unruled(kClassical, "TreeEnsemble"),
    unruled(kClassical, "TreeEnsembleClassifier"),
    unruled(kClassical, "TreeEnsembleRegressor"),
    unruled(kClassical, "ZipMap"),

    {"Adagrad", 3, kAny, kAny, three_lists, kTraining},
    {"Adam", 3, kAny, kAny, four_lists, kTraining},
    {"Gradient", 1, kAny, kAny, gradient, kTraining},
    {"Momentum", 3, kAny, kAny, three_lists, kTraining},

    unruled(kMicrosoft, "AttnLSTM"),
    unruled(kMicrosoft, "BeamSearch"),
    unruled(kMicrosoft, "BifurcationDetector"),
    unruled(kMicrosoft, "CausalConvWithState"),
    unruled(kMicrosoft, "DecoderAttention"),
    unruled(kMicrosoft, "DequantizeBFP"),
    unruled(kMicrosoft, "DequantizeWithOrder"),
    unruled(kMicrosoft, "DynamicQuantizeLSTM"),
    unruled(kMicrosoft, "DynamicTimeWarping"),
    unruled(kMicrosoft, "EPContext"),
    unruled(kMicrosoft, "GatedAdd"),
    unruled(kMicrosoft, "GatedDeltaNet"),
    unruled(kMicrosoft, "GatedRMSNorm"),
    unruled(kMicrosoft, "GemmaRotaryEmbedding"),
    unruled(kMicrosoft, "GreedySearch"),
    unruled(kMicrosoft, "GridSample"),
    unruled(kMicrosoft, "Irfft"),
    unruled(kMicrosoft, "IsAllFinite"),
    unruled(kMicrosoft, "LinearAttention"),
    unruled(kMicrosoft, "LinearAttentionGate"),
    unruled(kMicrosoft, "MatMulBlockQuantizedFp4Weight"),
    unruled(kMicrosoft, "MatMulBlockQuantizedFp8Weight"),
    unruled(kMicrosoft, "MatMulFpQ4"),
    unruled(kMicrosoft, "MatMulNBitsMlp"),
    unruled(kMicrosoft, "MatMulNBitsQkv"),
    unruled(kMicrosoft, "MurmurHash3"),
    unruled(kMicrosoft, "Pad"),
    unruled(kMicrosoft, "PagedAttention"),
    unruled(kMicrosoft, "QEmbedLayerNormalization"),
    unruled(kMicrosoft, "QOrderedAttention"),
    unruled(kMicrosoft, "QOrderedGelu"),
    unruled(kMicrosoft, "QOrderedLayerNormalization"),
    unruled(kMicrosoft, "QOrderedLongformerAttention"),
    unruled(kMicrosoft, "QOrderedMatMul"),
    unruled(kMicrosoft, "QuantizeBFP"),
    unruled(kMicrosoft, "QuantizeWithOrder"),
    unruled(kMicrosoft, "Range"),
    unruled(kMicrosoft, "ReduceSumInteger"),
    unruled(kMicrosoft, "Rfft"),
    unruled(kMicrosoft, "SampleOp"),
    unruled(kMicrosoft, "Sampling"),
    unruled(kMicrosoft, "Snpe"),
    unruled(kMicrosoft, "SparseToDenseMatMul"),
    unruled(kMicrosoft, "Tokenizer"),
    unruled(kMicrosoft, "WhisperBeamSearch"),
    unruled(kMicrosoft, "WordConvEmbedding"),
};

}  // namespace

std::span<const OperatorInfo> unruled_operators() {
  return kUnruledOperators;
}

}  // namespace plimsoll::network
