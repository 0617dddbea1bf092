#include "network/rules/fused.hpp"

#include "network/operators.hpp"
#include "network/rules/extents.hpp"
#include "network/rules/product.hpp"
#include "network/rules/window.hpp"

namespace plimsoll::network {
namespace {

// Element-wise.

Status like_second(InferenceContext& c) {
  set_like(c, 0, 1, c.type(1));
  return {};
}
/// Input 0 with the rest broadcast to it; a second output of the same shape (SkipGroupNorm's sum).
Status like_first_twice(InferenceContext& c) {
  set_like(c, 1, 0, c.type(0));
  return like_first(c);
}

/// An input behind optional ones, which the table's count cannot ask for.
Status need(InferenceContext& c, std::size_t input) {
  if (!c.has(input)) return fail("input {} is missing", input);
  return {};
}

Status broadcast_of(InferenceContext& c, std::size_t a, std::size_t b, DataType type) {
  PLIMSOLL_TRY(need(c, b));
  if (!c.ranked(a) || !c.ranked(b)) {
    c.set_unranked(0, type);
    return {};
  }
  const Result<Shape> shape = c.broadcast(c.dims(a), c.dims(b));
  PLIMSOLL_TRY(shape);
  c.set(0, type, *shape);
  return {};
}
Status complex_product(InferenceContext& c) {
  return broadcast_of(c, 0, 1, c.type(0));
}
Status quantized_binary(InferenceContext& c) {
  return broadcast_of(c, 0, 3, c.type(0));
}
Status integer_product(InferenceContext& c) {
  return broadcast_of(c, 0, 2, DataType::int32);
}

Status quantized_where(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1) || !c.ranked(4)) {
    c.set_unranked(0, c.type(1));
    return {};
  }
  const Result<Shape> values = c.broadcast(c.dims(1), c.dims(4));
  PLIMSOLL_TRY(values);
  const Result<Shape> shape = c.broadcast(values->dims(), c.dims(0));
  PLIMSOLL_TRY(shape);
  c.set(0, c.type(1), *shape);
  return {};
}

Status bias_split_gelu(InferenceContext& c) {
  Result<Shape> shape = shape_of_rank(c, 0, 3, "the input");
  PLIMSOLL_TRY(shape);
  (*shape)[2] = c.symbols().divide((*shape)[2], Dim::of(2));
  c.set(0, c.type(0), *shape);
  return {};
}

Status bias_dropout(InferenceContext& c) {
  set_like(c, 1, 0, DataType::boolean);
  return like_first(c);
}
/// The mask has a bit for each element, in words of 32.
Status bitmask_dropout(InferenceContext& c) {
  if (c.ranked(0)) c.set(1, DataType::uint32, {c.symbols().divide_up(c.count(c.dims(0)), Dim::of(32))});
  return like_first(c);
}

Status quantize(InferenceContext& c) {
  set_like(c, 0, 0, c.has(2) ? c.type(2) : DataType::uint8);
  return {};
}
Status dequantize(InferenceContext& c) {
  set_like(c, 0, 0, c.type(1));
  return {};
}

// Products.

/// (d0, d1 … dk, last) becomes (d1 … dk, d0, last).
Shape batch_transposed(std::span<const Dim> d) {
  Shape out(d);
  for (std::size_t i = 0; i + 2 < d.size(); ++i) out[i] = d[i + 1];
  if (d.size() > 2) out[d.size() - 2] = d[0];
  return out;
}

Status fused_matmul(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const Shape a = c.integer("transBatchA", 0) != 0 ? batch_transposed(c.dims(0)) : Shape(c.dims(0));
  const Shape b = c.integer("transBatchB", 0) != 0 ? batch_transposed(c.dims(1)) : Shape(c.dims(1));
  const Result<Shape> shape =
      matrix_product(c, a.dims(), b.dims(), {c.integer("transA", 0) != 0, c.integer("transB", 0) != 0});
  PLIMSOLL_TRY(shape);
  c.set(0, c.type(0), *shape);
  return {};
}

/// The weights are packed; K and N say what they are.
Status packed_matmul(InferenceContext& c) {
  const Result<std::int64_t> k = positive_attribute(c, "K", 0);
  PLIMSOLL_TRY(k);
  const Result<std::int64_t> n = positive_attribute(c, "N", 0);
  PLIMSOLL_TRY(n);
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const Dim weights[] = {Dim::of(*k), Dim::of(*n)};
  const Result<Shape> shape = matrix_product(c, c.dims(0), weights, {false, false});
  PLIMSOLL_TRY(shape);
  c.set(0, c.type(0), *shape);
  return {};
}

Status plain_matmul(InferenceContext& c) {
  return infer_matrix_product(c, 0, 1, c.type(0));
}
Status matmul_to_int32(InferenceContext& c) {
  return infer_matrix_product(c, 0, 1, DataType::int32);
}
Status matmul_to_float(InferenceContext& c) {
  return infer_matrix_product(c, 0, 1, c.type(2));
}
Status quantized_gemm(InferenceContext& c) {
  PLIMSOLL_TRY(need(c, 3));
  return infer_gemm(c, 0, 3, 6, c.has(8) ? c.type(8) : DataType::float32);
}
Status plain_gemm(InferenceContext& c) {
  return infer_gemm(c, 0, 1, 2, c.type(0));
}
Status float8_gemm(InferenceContext& c) {
  const Result<DataType> type = type_attribute(c, "dtype", DataType::float32);
  PLIMSOLL_TRY(type);
  return infer_gemm(c, 0, 1, 2, *type);
}

Status distances(InferenceContext& c) {
  const Result<Shape> a = shape_of_rank(c, 0, 2, "A");
  PLIMSOLL_TRY(a);
  const Result<Shape> b = shape_of_rank(c, 1, 2, "B");
  PLIMSOLL_TRY(b);
  if (differ((*a)[1], (*b)[1]))
    return fail("A {} and B {} hold points of different dimensions", c.show(a->dims()), c.show(b->dims()));
  c.set(0, c.type(0), {(*a)[0], (*b)[0]});
  return {};
}

// Windows.

ChannelsAt channels(InferenceContext& c) {
  return c.integer("channels_last", 0) != 0 ? ChannelsAt::last : ChannelsAt::second;
}

Status fused_convolution(InferenceContext& c) {
  return infer_convolution(c, {}, c.type(0));
}
Status nhwc_convolution(InferenceContext& c) {
  return infer_convolution(c, {0, 1, ChannelsAt::last}, c.type(0));
}
Status quantized_convolution(InferenceContext& c) {
  PLIMSOLL_TRY(need(c, 3));
  return infer_convolution(c, {0, 3, channels(c)}, c.has(7) ? c.type(7) : c.type(0));
}
Status padded_transposed_convolution(InferenceContext& c) {
  return infer_transposed_convolution(c, c.type(0), 2);
}
Status masked_pool(InferenceContext& c) {
  return infer_pool(c, c.type(0));
}
Status nhwc_pool(InferenceContext& c) {
  return infer_pool(c, c.type(0), ChannelsAt::last);
}
Status quantized_pool(InferenceContext& c) {
  return infer_pool(c, c.type(0), channels(c));
}
Status quantized_global_pool(InferenceContext& c) {
  return infer_global_pool(c, c.type(0), channels(c));
}

// Normalisation.

/// Outputs: the result, mean, inverse deviation, and the sum that was normalised.
Status skip_layer_normalization(InferenceContext& c) {
  if (c.ranked(0) && c.rank(0) > 0) {
    Shape statistics(c.dims(0));
    statistics[statistics.rank() - 1] = Dim::of(1);
    c.set(1, DataType::float32, statistics);
    c.set(2, DataType::float32, statistics);
  }
  set_like(c, 3, 0, c.type(0));
  return like_first(c);
}

/// RMS norm before ONNX had one: the inverse deviation is output 1.
Status simplified_layer_normalization(InferenceContext& c) {
  set_like(c, 0, 0, c.type(0));
  if (!c.ranked(0)) return {};
  Shape statistics(c.dims(0));
  const Result<std::size_t> axis = InferenceContext::axis(c.integer("axis", -1), statistics.rank());
  PLIMSOLL_TRY(axis);
  for (std::size_t i = *axis; i < statistics.rank(); ++i) statistics[i] = Dim::of(1);
  for (std::size_t i = 1; i < c.outputs(); ++i) c.set(i, DataType::float32, statistics);
  return {};
}

Status embed_layer_normalization(InferenceContext& c) {
  PLIMSOLL_TRY(need(c, 2));
  const Result<Shape> ids = shape_of_rank(c, 0, 2, "input_ids");
  PLIMSOLL_TRY(ids);
  const Result<Shape> table = shape_of_rank(c, 2, 2, "word_embedding");
  PLIMSOLL_TRY(table);
  const Shape out{(*ids)[0], (*ids)[1], (*table)[1]};
  c.set(0, c.type(2), out);
  c.set(1, DataType::int32, {(*ids)[0]});
  c.set(2, c.type(2), out);
  return {};
}

constexpr OperatorInfo microsoft(std::string_view name, std::uint8_t fewest, std::uint8_t most,
                                 std::uint8_t outputs, InferRule rule) {
  return {name, fewest, most, outputs, rule, "com.microsoft"};
}

constexpr OperatorInfo kFusedOperators[] = {
    microsoft("Attention", 2, 7, 2, fused_attention),
    microsoft("BiasAdd", 3, 3, 1, like_first),
    microsoft("BiasDropout", 2, 5, 2, bias_dropout),
    microsoft("BiasGelu", 2, 2, 1, like_first),
    microsoft("BiasSoftmax", 2, 2, 1, like_first),
    microsoft("BiasSplitGelu", 2, 2, 1, bias_split_gelu),
    microsoft("BitmaskBiasDropout", 2, 5, 2, bitmask_dropout),
    microsoft("BitmaskDropout", 1, 3, 2, bitmask_dropout),
    microsoft("CDist", 2, 2, 1, distances),
    microsoft("ComplexMul", 2, 2, 1, complex_product),
    microsoft("ComplexMulConj", 2, 2, 1, complex_product),
    microsoft("ConvTransposeWithDynamicPads", 2, 4, 1, padded_transposed_convolution),
    microsoft("CropAndResize", 4, 4, 1, fused_crop_and_resize),
    microsoft("DecoderMaskedMultiHeadAttention", 1, 11, 4, fused_decoder_multi_head),
    microsoft("DecoderMaskedSelfAttention", 3, 9, 2, fused_attention),
    microsoft("DequantizeLinear", 2, 3, 1, dequantize),
    microsoft("DynamicQuantizeMatMul", 3, 5, 1, plain_matmul),
    microsoft("EmbedLayerNormalization", 1, 9, 3, embed_layer_normalization),
    microsoft("ExpandDims", 2, 2, 1, fused_expand_dims),
    microsoft("FastGelu", 1, 2, 1, like_first),
    microsoft("FusedConv", 2, 4, 1, fused_convolution),
    microsoft("FusedGemm", 2, 3, 1, plain_gemm),
    microsoft("FusedMatMul", 2, 2, 1, fused_matmul),
    microsoft("FusedMatMulActivation", 2, 2, 1, fused_matmul),
    microsoft("GatedRelativePositionBias", 6, 7, 1, fused_gated_position_bias),
    microsoft("GatherBlockQuantized", 3, 4, 1, fused_gather_quantized),
    microsoft("GatherND", 2, 2, 1, fused_gather_nd),
    microsoft("Gelu", 1, 1, 1, like_first),
    microsoft("GemmFastGelu", 2, 3, 1, plain_matmul),
    microsoft("GemmFloat8", 2, 6, 1, float8_gemm),
    microsoft("GroupNorm", 3, 3, 1, like_first),
    microsoft("GroupQueryAttention", 1, 16, 4, fused_group_query),
    microsoft("Inverse", 1, 1, 1, like_first),
    microsoft("LongformerAttention", 7, 7, 1, like_first),
    microsoft("MRotaryEmbedding", 1, kAny, 1, like_first),
    microsoft("MatMulBnb4", 3, 3, 1, packed_matmul),
    microsoft("MatMulInteger16", 2, 2, 1, matmul_to_int32),
    microsoft("MatMulIntegerToFloat", 4, 7, 1, matmul_to_float),
    microsoft("MatMulNBits", 3, 6, 1, packed_matmul),
    microsoft("MaxpoolWithMask", 2, 2, 1, masked_pool),
    microsoft("MoE", 3, 8, 1, fused_experts),
    microsoft("MulInteger", 1, 4, 1, integer_product),
    microsoft("MultiHeadAttention", 1, 10, 4, fused_multi_head),
    microsoft("NGramRepeatBlock", 2, 2, 1, like_second),
    microsoft("NhwcConv", 2, 3, 1, nhwc_convolution),
    microsoft("NhwcFusedConv", 2, 4, 1, nhwc_convolution),
    microsoft("NhwcMaxPool", 1, 1, 1, nhwc_pool),
    microsoft("PackedAttention", 5, 6, 1, fused_packed_attention),
    microsoft("PackedMultiHeadAttention", 1, 7, 1, fused_packed_multi_head),
    microsoft("QAttention", 5, 9, 2, fused_quantized_attention),
    microsoft("QGemm", 2, 9, 1, quantized_gemm),
    microsoft("QLinearAdd", 2, 8, 1, quantized_binary),
    microsoft("QLinearAveragePool", 2, 5, 1, quantized_pool),
    microsoft("QLinearConcat", 3, kAny, 1, fused_quantized_concat),
    microsoft("QLinearConv", 2, 9, 1, quantized_convolution),
    microsoft("QLinearGlobalAveragePool", 5, 5, 1, quantized_global_pool),
    microsoft("QLinearLeakyRelu", 2, 5, 1, like_first),
    microsoft("QLinearMul", 2, 8, 1, quantized_binary),
    microsoft("QLinearReduceMean", 2, 5, 1, fused_quantized_mean),
    microsoft("QLinearSigmoid", 2, 5, 1, like_first),
    microsoft("QLinearSoftmax", 2, 5, 1, like_first),
    microsoft("QLinearWhere", 9, 9, 1, quantized_where),
    microsoft("QMoE", 3, 21, 1, like_first),
    microsoft("QuantizeLinear", 2, 3, 1, quantize),
    microsoft("QuickGelu", 1, 1, 1, like_first),
    microsoft("RelativePositionBias", 3, 3, 1, fused_position_bias),
    microsoft("RemovePadding", 2, 2, 4, fused_remove_padding),
    microsoft("RestorePadding", 2, 2, 1, fused_restore_padding),
    microsoft("RotaryEmbedding", 4, 4, 1, like_first),
    microsoft("SimplifiedLayerNormalization", 2, 2, 2, simplified_layer_normalization),
    microsoft("SkipGroupNorm", 4, 5, 2, like_first_twice),
    microsoft("SkipLayerNormalization", 3, 5, 4, skip_layer_normalization),
    microsoft("SkipSimplifiedLayerNormalization", 3, 4, 4, skip_layer_normalization),
    microsoft("SparseAttention", 1, 11, 3, fused_sparse_attention),
    microsoft("TorchEmbedding", 2, 4, 1, fused_embedding),
    microsoft("TransposeMatMul", 2, 2, 1, fused_matmul),
    microsoft("Trilu", 1, 2, 1, like_first),
    microsoft("UnfoldTensor", 1, 1, 1, fused_unfold),
    microsoft("Unique", 1, 1, 3, fused_unique),
    // ONNX Runtime writes this one into ONNX's own domain as well.
    {"SimplifiedLayerNormalization", 2, 2, 2, simplified_layer_normalization},
};

}  // namespace

std::span<const OperatorInfo> fused_operators() {
  return kFusedOperators;
}

}  // namespace plimsoll::network
