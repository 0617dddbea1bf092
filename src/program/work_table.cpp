#include "program/work_table.hpp"

#include <vector>

#include "network/saturating.hpp"
#include "program/formulas.hpp"

namespace plimsoll::program {

using network::kUnbounded, network::product, network::quotient, network::sum;
namespace formula {
namespace {

constexpr auto kAll = Traffic::all;
constexpr auto kView = Traffic::none;
constexpr auto kGathers = Traffic::gathers;
constexpr auto kNone = Backward::none;
constexpr auto kProduct = Backward::product;
constexpr auto kMap = Backward::map;
constexpr auto kMove = Backward::move;
constexpr std::string_view kMicrosoft = "com.microsoft";
using hardware::kBatchNormCost, hardware::kBatchNormTrainingCost, hardware::kGeluCost,
    hardware::kGroupNormCost, hardware::kLayerNormCost, hardware::kPoolCost, hardware::kRectifierCost,
    hardware::kSoftmaxCost, hardware::kSumCost;

// One FLOP per addition, multiplication, division, comparison, or elementary function (exp, log, sqrt,
// tanh, erf, sin …); a function that is written in several of them costs their number.
constexpr WorkRow kRows[] = {
    // Products
    {"Conv", convolution, 0, kAll, kProduct},
    {"ConvTranspose", convolution_transposed, 0, kAll, kProduct},
    {"DeformConv", convolution_deformed, 8, kAll, kProduct},
    {"ConvInteger", convolution, 0, kAll, kNone},
    {"QLinearConv", convolution_quantized, 0, kAll, kNone},
    {"MatMul", matmul, 0, kAll, kProduct},
    {"MatMulInteger", matmul, 0, kAll, kNone},
    {"QLinearMatMul", matmul, 0, kAll, kNone},
    {"Gemm", gemm, 0, kAll, kProduct},
    {"Einsum", einsum, 0, kAll, kProduct},
    {"RNN", recurrent, 2, kAll, kProduct},
    {"GRU", recurrent, 12, kAll, kProduct},
    {"LSTM", recurrent, 20, kAll, kProduct},
    {"Attention", attention, 0, kAll, kProduct},
    {"Det", determinant, 1, kAll, kMap, 1},

    // Normalization, activation with reduction
    {"BatchNormalization", batch_norm, kBatchNormCost.forward, kAll, kMap, kBatchNormCost.backward},
    {"InstanceNormalization", per_input, kBatchNormTrainingCost.forward, kAll, kMap,
     kBatchNormTrainingCost.backward},
    {"LayerNormalization", per_input, kLayerNormCost.forward, kAll, kMap, kLayerNormCost.backward},
    {"GroupNormalization", per_input, kGroupNormCost.forward, kAll, kMap, kGroupNormCost.backward},
    {"RMSNormalization", per_input, 5, kAll, kMap, 8},
    {"SimplifiedLayerNormalization", per_input, 5, kAll, kMap, 8},
    {"LpNormalization", per_input, 3, kAll, kMap, 6},
    {"MeanVarianceNormalization", per_input, 7, kAll, kMap, 10},
    {"LRN", per_input, 10, kAll, kMap, 12},
    {"Softmax", per_input, kSoftmaxCost.forward, kAll, kMap, kSoftmaxCost.backward},
    {"LogSoftmax", per_input, kSoftmaxCost.forward, kAll, kMap, kSoftmaxCost.backward},
    {"Hardmax", per_input, 2, kAll, kNone},
    {"Dropout", dropout, 2, kAll, kMap, 1},
    {"SoftmaxCrossEntropyLoss", per_input, 6, kAll, kMap, 2},
    {"NegativeLogLikelihoodLoss", per_input, 1, kAll, kMap, 1},

    // Pooling
    {"MaxPool", pool, kPoolCost.forward, kAll, kMap, kPoolCost.backward},
    {"AveragePool", pool, kPoolCost.forward, kAll, kMap, kPoolCost.backward},
    {"LpPool", pool, 3, kAll, kMap, 3},
    {"GlobalAveragePool", per_input, kPoolCost.forward, kAll, kMap, kPoolCost.backward},
    {"GlobalMaxPool", per_input, kPoolCost.forward, kAll, kMap, kPoolCost.backward},
    {"GlobalLpPool", per_input, 3, kAll, kMap, 3},
    {"MaxUnpool", nothing, 0, kAll, kMove},
    {"MaxRoiPool", roi_pool, 1, kAll, kMap, 1, "", Trait::varies},
    {"RoiAlign", roi_align, 1, kAll, kMap, 8, "", Trait::varies},

    // Element-wise, one operand
    {"Abs", per_output, 1, kAll, kMap, 1},
    {"Neg", per_output, 1, kAll, kMap, 1},
    {"Relu", per_output, kRectifierCost.forward, kAll, kMap, kRectifierCost.backward},
    {"LeakyRelu", per_output, 2, kAll, kMap, 2},
    {"ThresholdedRelu", per_output, 1, kAll, kMap, 1},
    {"PRelu", per_output, 2, kAll, kMap, 3},
    {"Elu", per_output, 4, kAll, kMap, 3},
    {"Selu", per_output, 5, kAll, kMap, 3},
    {"Celu", per_output, 5, kAll, kMap, 3},
    {"Sigmoid", per_output, 4, kAll, kMap, 3},
    {"HardSigmoid", per_output, 4, kAll, kMap, 2},
    {"HardSwish", per_output, 5, kAll, kMap, 4},
    {"Swish", per_output, 5, kAll, kMap, 6},
    {"Mish", per_output, 5, kAll, kMap, 8},
    {"Gelu", per_output, kGeluCost.forward, kAll, kMap, kGeluCost.backward},
    {"Tanh", per_output, 1, kAll, kMap, 3},
    {"Softplus", per_output, 3, kAll, kMap, 4},
    {"Softsign", per_output, 3, kAll, kMap, 4},
    {"Shrink", per_output, 3, kAll, kMap, 1},
    {"Exp", per_output, 1, kAll, kMap, 1},
    {"Log", per_output, 1, kAll, kMap, 1},
    {"Sqrt", per_output, 1, kAll, kMap, 2},
    {"Reciprocal", per_output, 1, kAll, kMap, 3},
    {"Erf", per_output, 1, kAll, kMap, 4},
    {"Sin", per_output, 1, kAll, kMap, 2},
    {"Cos", per_output, 1, kAll, kMap, 3},
    {"Tan", per_output, 1, kAll, kMap, 3},
    {"Asin", per_output, 1, kAll, kMap, 4},
    {"Acos", per_output, 1, kAll, kMap, 5},
    {"Atan", per_output, 1, kAll, kMap, 3},
    {"Sinh", per_output, 1, kAll, kMap, 2},
    {"Cosh", per_output, 1, kAll, kMap, 2},
    {"Asinh", per_output, 1, kAll, kMap, 4},
    {"Acosh", per_output, 1, kAll, kMap, 4},
    {"Atanh", per_output, 1, kAll, kMap, 3},
    {"Floor", per_output, 1, kAll, kNone},
    {"Ceil", per_output, 1, kAll, kNone},
    {"Round", per_output, 1, kAll, kNone},
    {"Sign", per_output, 1, kAll, kNone},
    {"Clip", per_output, 2, kAll, kMap, 2},
    {"Not", per_output, 1, kAll, kNone},
    {"BitwiseNot", per_output, 1, kAll, kNone},
    {"IsNaN", per_output, 1, kAll, kNone},
    {"IsInf", per_output, 1, kAll, kNone},
    {"Cast", nothing, 0, kAll, kMove, 0, "", Trait::renames},
    {"CastLike", nothing, 0, kAll, kMove},
    {"BitCast", nothing, 0, kView, kMove},

    // Element-wise, several operands
    {"Add", per_output, kSumCost.forward, kAll, kMove},
    {"Sub", per_output, 1, kAll, kMap, 1},
    {"Mul", per_output, 1, kAll, kMap, 2},
    {"Div", per_output, 1, kAll, kMap, 4},
    {"Pow", per_output, 1, kAll, kMap, 3},
    {"Mod", per_output, 1, kAll, kNone},
    {"And", per_output, 1, kAll, kNone},
    {"Or", per_output, 1, kAll, kNone},
    {"Xor", per_output, 1, kAll, kNone},
    {"BitShift", per_output, 1, kAll, kNone},
    {"BitwiseAnd", per_output, 1, kAll, kNone},
    {"BitwiseOr", per_output, 1, kAll, kNone},
    {"BitwiseXor", per_output, 1, kAll, kNone},
    {"Equal", per_output, 1, kAll, kNone},
    {"Less", per_output, 1, kAll, kNone},
    {"LessOrEqual", per_output, 1, kAll, kNone},
    {"Greater", per_output, 1, kAll, kNone},
    {"GreaterOrEqual", per_output, 1, kAll, kNone},
    {"Where", per_output, 1, kAll, kMap, 1},
    {"Max", per_extra_input, 1, kAll, kMap, 1},
    {"Min", per_extra_input, 1, kAll, kMap, 1},
    {"Sum", per_extra_input, 1, kAll, kMove},
    {"Mean", per_extra_input, 1, kAll, kMap, 1},

    // Reductions and sorting
    {"ReduceSum", per_input, kSumCost.forward, kAll, kMove},
    {"ReduceMean", per_input, 1, kAll, kMap, 1},
    {"ReduceMax", per_input, 1, kAll, kMap, 1},
    {"ReduceMin", per_input, 1, kAll, kMap, 1},
    {"ReduceProd", per_input, 1, kAll, kMap, 2},
    {"ReduceL1", per_input, 2, kAll, kMap, 1},
    {"ReduceL2", per_input, 2, kAll, kMap, 2},
    {"ReduceLogSum", per_input, 1, kAll, kMap, 1},
    {"ReduceLogSumExp", per_input, 2, kAll, kMap, 2},
    {"ReduceSumSquare", per_input, 2, kAll, kMap, 2},
    {"ArgMax", per_input, 1, kAll, kNone},
    {"ArgMin", per_input, 1, kAll, kNone},
    {"CumSum", per_input, 1, kAll, kMap, 1},
    {"CumProd", per_input, 1, kAll, kMap, 2},
    {"TopK", per_input, 1, kAll, kMove},
    {"Unique", per_input, 1, kAll, kNone},
    {"NonZero", per_input, 1, kAll, kNone},
    {"NonMaxSuppression", non_max_suppression, 13, kAll, kNone, 0, "", Trait::varies},

    // Data movement
    {"Reshape", nothing, 0, kView, kNone, 0, "", Trait::renames},
    {"Flatten", nothing, 0, kView, kNone},
    {"Squeeze", nothing, 0, kView, kNone, 0, "", Trait::renames},
    {"Unsqueeze", nothing, 0, kView, kNone, 0, "", Trait::renames},
    {"Identity", nothing, 0, kView, kNone, 0, "", Trait::renames},
    {"Transpose", nothing, 0, kAll, kMove, 0, "", Trait::renames},
    {"Concat", nothing, 0, kAll, kMove},
    {"Split", nothing, 0, kGathers, kMove},
    {"Slice", nothing, 0, kGathers, kMove},
    {"Gather", nothing, 0, kGathers, kMove},
    {"GatherElements", nothing, 0, kGathers, kMove},
    {"GatherND", nothing, 0, kGathers, kMove},
    {"Scatter", nothing, 0, kAll, kMove},
    {"ScatterElements", nothing, 0, kAll, kMove},
    {"ScatterND", nothing, 0, kAll, kMove},
    {"TensorScatter", nothing, 0, kAll, kMove},
    {"Expand", nothing, 0, kAll, kMove},
    {"Tile", nothing, 0, kAll, kMove},
    {"Pad", nothing, 0, kAll, kMove},
    {"DepthToSpace", nothing, 0, kAll, kMove},
    {"SpaceToDepth", nothing, 0, kAll, kMove},
    {"ReverseSequence", nothing, 0, kAll, kMove},
    {"Compress", nothing, 0, kAll, kMove},
    {"OneHot", nothing, 0, kAll, kNone},
    {"Trilu", nothing, 0, kAll, kMove},
    {"EyeLike", nothing, 0, kAll, kNone},
    {"Col2Im", per_input, 1, kAll, kMove},
    {"CenterCropPad", nothing, 0, kAll, kMove},
    {"Resize", resize, 1, kAll, kMap, 8},
    {"Upsample", resize, 1, kAll, kMap, 8},
    {"GridSample", grid_sample, 1, kAll, kMap, 16},
    {"AffineGrid", per_output, 6, kAll, kMap, 6},
    {"RotaryEmbedding", per_input, 3, kAll, kMap, 3},

    // Shapes and constants: answered without touching data
    {"Shape", nothing, 0, kView, kNone},
    {"Size", nothing, 0, kView, kNone},
    {"Constant", nothing, 0, kView, kNone},
    {"ConstantOfShape", nothing, 0, kAll, kNone},
    {"Range", per_output, 1, kAll, kNone},

    // Quantization
    {"QuantizeLinear", per_output, 3, kAll, kMove},
    {"DequantizeLinear", per_output, 2, kAll, kMove, 0, "", Trait::renames},
    {"DynamicQuantizeLinear", per_input, 5, kAll, kNone},

    // Random numbers: about ten operations each for a counter-based generator
    {"RandomNormal", per_output, 10, kAll, kNone},
    {"RandomNormalLike", per_output, 10, kAll, kNone},
    {"RandomUniform", per_output, 10, kAll, kNone},
    {"RandomUniformLike", per_output, 10, kAll, kNone},
    {"Bernoulli", per_output, 11, kAll, kNone},
    {"Multinomial", per_input, 2, kAll, kNone},

    // Signals
    {"DFT", fourier, 0, kAll, kMap, 5},
    {"STFT", short_time_fourier, 0, kAll, kMap, 5},
    {"HannWindow", per_output, 3, kAll, kNone},
    {"HammingWindow", per_output, 3, kAll, kNone},
    {"BlackmanWindow", per_output, 5, kAll, kNone},
    {"MelWeightMatrix", per_output, 4, kAll, kNone},

    // Control flow, sequences, optionals: the bodies' operators are counted one by one
    {"If", nothing, 0, kView, kNone, 0, "", Trait::branches},
    {"Loop", nothing, 0, kView, kNone, 0, "", Trait::repeats},
    {"Scan", nothing, 0, kView, kNone, 0, "", Trait::repeats},
    {"SequenceMap", nothing, 0, kView, kNone, 0, "", Trait::repeats},
    {"SequenceEmpty", nothing, 0, kView, kNone},
    {"SequenceConstruct", nothing, 0, kView, kNone},
    {"SequenceInsert", nothing, 0, kView, kNone},
    {"SequenceErase", nothing, 0, kView, kNone},
    {"SequenceAt", nothing, 0, kView, kNone},
    {"SequenceLength", nothing, 0, kView, kNone},
    {"SplitToSequence", nothing, 0, kGathers, kMove},
    {"ConcatFromSequence", nothing, 0, kGathers, kMove},
    {"Optional", nothing, 0, kView, kNone},
    {"OptionalHasElement", nothing, 0, kView, kNone},
    {"OptionalGetElement", nothing, 0, kView, kNone},

    // ONNX Runtime's fused operators
    {"FusedConv", convolution, 0, kAll, kProduct, 0, kMicrosoft},
    {"NhwcConv", convolution, 0, kAll, kProduct, 0, kMicrosoft},
    {"NhwcFusedConv", convolution, 0, kAll, kProduct, 0, kMicrosoft},
    {"QLinearConv", convolution_quantized, 0, kAll, kNone, 0, kMicrosoft},
    {"ConvTransposeWithDynamicPads", convolution_transposed, 0, kAll, kProduct, 0, kMicrosoft},
    {"FusedGemm", gemm, 0, kAll, kProduct, 0, kMicrosoft},
    {"GemmFastGelu", matmul, 0, kAll, kProduct, 0, kMicrosoft},
    {"QGemm", gemm, 0, kAll, kNone, 0, kMicrosoft},
    {"FusedMatMul", matmul_scaled, 0, kAll, kProduct, 0, kMicrosoft},
    {"FusedMatMulActivation", matmul_scaled, 0, kAll, kProduct, 0, kMicrosoft},
    {"MatMulNBits", matmul_nbits, 2, kAll, kNone, 0, kMicrosoft},
    {"MatMulIntegerToFloat", matmul, 0, kAll, kNone, 0, kMicrosoft},
    {"DynamicQuantizeMatMul", matmul, 0, kAll, kNone, 0, kMicrosoft},
    {"Attention", attention_packed, 0, kAll, kProduct, 0, kMicrosoft},
    {"QAttention", attention_packed, 0, kAll, kNone, 0, kMicrosoft},
    {"MultiHeadAttention", attention_multi_head, 0, kAll, kProduct, 0, kMicrosoft},
    {"DecoderMaskedMultiHeadAttention", attention_multi_head, 0, kAll, kProduct, 0, kMicrosoft},
    {"GroupQueryAttention", attention_grouped, 0, kAll, kProduct, 0, kMicrosoft},
    {"MoE", experts, 0, Traffic::experts, kProduct, 0, kMicrosoft, Trait::varies},
    {"RotaryEmbedding", per_input, 3, kAll, kMap, 3, kMicrosoft},
    {"Gelu", per_output, kGeluCost.forward, kAll, kMap, kGeluCost.backward, kMicrosoft},
    {"FastGelu", per_output, 8, kAll, kMap, 12, kMicrosoft},
    {"BiasGelu", per_output, 6, kAll, kMap, 9, kMicrosoft},
    {"QuickGelu", per_output, 6, kAll, kMap, 8, kMicrosoft},
    {"BiasSplitGelu", per_input, 4, kAll, kMap, 6, kMicrosoft},
    {"BiasAdd", per_output, 2, kAll, kMove, 0, kMicrosoft},
    {"BiasSoftmax", per_input, 6, kAll, kMap, 4, kMicrosoft},
    {"BiasDropout", per_input, 3, kAll, kMap, 1, kMicrosoft},
    {"SimplifiedLayerNormalization", per_input, 5, kAll, kMap, 8, kMicrosoft},
    {"SkipLayerNormalization", per_input, 9, kAll, kMap, 13, kMicrosoft},
    {"SkipSimplifiedLayerNormalization", per_input, 6, kAll, kMap, 9, kMicrosoft},
    {"EmbedLayerNormalization", per_output, 10, kGathers, kMap, 12, kMicrosoft},
    {"GroupNorm", per_input, kGroupNormCost.forward, kAll, kMap, kGroupNormCost.backward, kMicrosoft},
    {"SkipGroupNorm", per_input, 8, kAll, kMap, 11, kMicrosoft},
    {"QuantizeLinear", per_output, 3, kAll, kMove, 0, kMicrosoft},
    {"DequantizeLinear", per_output, 2, kAll, kMove, 0, kMicrosoft},
    {"QLinearAdd", per_output, 5, kAll, kNone, 0, kMicrosoft},
    {"QLinearMul", per_output, 5, kAll, kNone, 0, kMicrosoft},
    {"QLinearSigmoid", per_output, 4, kAll, kNone, 0, kMicrosoft},
    {"QLinearLeakyRelu", per_output, 2, kAll, kNone, 0, kMicrosoft},
    {"QLinearSoftmax", per_input, 5, kAll, kNone, 0, kMicrosoft},
    {"QLinearConcat", nothing, 0, kAll, kNone, 0, kMicrosoft},
    {"QLinearAveragePool", pool, 1, kAll, kNone, 0, kMicrosoft},
    {"QLinearGlobalAveragePool", per_input, 1, kAll, kNone, 0, kMicrosoft},
    {"NhwcMaxPool", pool, 1, kAll, kNone, 0, kMicrosoft},
    {"GatherND", nothing, 0, kGathers, kMove, 0, kMicrosoft},
    {"ExpandDims", nothing, 0, kView, kNone, 0, kMicrosoft},
    {"Trilu", nothing, 0, kAll, kMove, 0, kMicrosoft},
    {"Unique", per_input, 1, kAll, kNone, 0, kMicrosoft},
    {"Inverse", determinant, 3, kAll, kMap, 2, kMicrosoft},
};

}  // namespace
}  // namespace formula

namespace {

std::vector<const WorkRow*> index_by_kind() {
  std::vector<const WorkRow*> index(network::operator_table().size(), nullptr);
  for (const WorkRow& row : formula::kRows) {
    const network::OperatorKind kind = network::find_operator(row.domain, row.name);
    if (kind != network::kUnknownKind) index[static_cast<std::size_t>(kind)] = &row;
  }
  return index;
}

}  // namespace

std::span<const WorkRow> work_table() {
  return formula::kRows;
}

const WorkRow* find_work(network::OperatorKind kind) {
  static const std::vector<const WorkRow*> kIndex = index_by_kind();
  return kind == network::kUnknownKind ? nullptr : kIndex[static_cast<std::size_t>(kind)];
}

bool Site::has(std::size_t input) const {
  return input < inputs().size() && inputs()[input] != network::kNoTensor;
}

std::int64_t Site::extent(network::Dim d) const {
  if (d.exact()) return d.value();
  const network::Interval b = shapes.symbols().bounds(d);
  return upper ? b.high : b.low;
}

std::int64_t Site::dim(network::TensorId id, std::int64_t axis) const {
  if (!shapes.ranked(id)) return upper ? kUnbounded : 0;
  const auto dims = shapes.dims(id);
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? 1 : extent(dims[static_cast<std::size_t>(axis)]);
}

std::int64_t Site::elements(network::TensorId id) const {
  if (!shapes.ranked(id)) return upper ? kUnbounded : 0;
  std::int64_t n = 1;
  for (const network::Dim d : shapes.dims(id)) n = product(n, extent(d));
  return n;
}

std::int64_t Site::output_elements(std::size_t output) const {
  return output < outputs().size() && outputs()[output] != network::kNoTensor ? elements(outputs()[output])
                                                                              : 0;
}

std::int64_t Site::bytes(network::TensorId id, std::int64_t elements) const {
  if (const network::StoredWeight* const stored = network.stored_of(id)) return stored->bytes;
  if (elements == kUnbounded) return kUnbounded;
  return network::packed_bytes(shapes.type(id), elements).value_or(kUnbounded);
}

std::int64_t Site::integer(std::string_view attribute, std::int64_t otherwise) const {
  const network::Attribute* a = network.find(op, attribute);
  return a != nullptr && a->kind == network::Attribute::Kind::integer ? a->integer : otherwise;
}

}  // namespace plimsoll::program
