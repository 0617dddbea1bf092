#pragma once
#include "network/inference.hpp"

/// Rules of ONNX Runtime's own operators (domain com.microsoft) that fused.cpp lists and others hold. Private
/// to network/rules. Shapes as in ONNX Runtime's docs/ContribOperators.md.
namespace plimsoll::network {

// fused_attention.cpp
[[nodiscard]] Status fused_attention(InferenceContext& c);            // Attention
[[nodiscard]] Status fused_quantized_attention(InferenceContext& c);  // QAttention
[[nodiscard]] Status fused_packed_attention(InferenceContext& c);     // PackedAttention
[[nodiscard]] Status fused_packed_multi_head(InferenceContext& c);    // PackedMultiHeadAttention
[[nodiscard]] Status fused_multi_head(InferenceContext& c);           // MultiHeadAttention
[[nodiscard]] Status fused_decoder_multi_head(InferenceContext& c);   // DecoderMaskedMultiHeadAttention
[[nodiscard]] Status fused_group_query(InferenceContext& c);          // GroupQueryAttention
[[nodiscard]] Status fused_sparse_attention(InferenceContext& c);     // SparseAttention
[[nodiscard]] Status fused_position_bias(InferenceContext& c);        // RelativePositionBias
[[nodiscard]] Status fused_gated_position_bias(InferenceContext& c);  // GatedRelativePositionBias

// fused_experts.cpp
[[nodiscard]] Status fused_experts(InferenceContext& c);  // MoE

// fused_movement.cpp
[[nodiscard]] Status fused_remove_padding(InferenceContext& c);
[[nodiscard]] Status fused_restore_padding(InferenceContext& c);
[[nodiscard]] Status fused_quantized_concat(InferenceContext& c);
[[nodiscard]] Status fused_quantized_mean(InferenceContext& c);
[[nodiscard]] Status fused_gather_quantized(InferenceContext& c);
[[nodiscard]] Status fused_gather_nd(InferenceContext& c);
[[nodiscard]] Status fused_expand_dims(InferenceContext& c);
[[nodiscard]] Status fused_unique(InferenceContext& c);
[[nodiscard]] Status fused_unfold(InferenceContext& c);
[[nodiscard]] Status fused_crop_and_resize(InferenceContext& c);
[[nodiscard]] Status fused_embedding(InferenceContext& c);

}  // namespace plimsoll::network
