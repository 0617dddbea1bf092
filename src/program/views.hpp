#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "program/program.hpp"

namespace plimsoll::program {

/// Strides of a tensor without gaps, the last dimension fastest.
void set_contiguous(Value& value);
/// The same elements under new extents without a copy, as torch.Tensor.view finds them; nullopt where the
/// strides do not allow it, which is where reshape copies.
[[nodiscard]] std::optional<Value> viewed(const Value& value, std::span<const std::int64_t> dims);
[[nodiscard]] Value permuted(const Value& value, std::span<const std::int64_t> order);
[[nodiscard]] Value expanded(const Value& value, std::span<const std::int64_t> dims);
/// Each matrix of the last two dimensions can be read by a BLAS, and the dimensions before can be one.
[[nodiscard]] bool is_batch_of_matrices(const Value& value);
/// Dense, with the channels fastest: what cuDNN runs without converting.
[[nodiscard]] bool is_channels_last(const Value& value);
/// An image, or a convolution's weight, as torch.channels_last lays it out; others stay as they are.
void set_channels_last(Value& value);
/// The last dimension stays together, and is a cache line or more: copied as fast as if all was contiguous.
[[nodiscard]] bool rows_stay_whole(const Value& value);
/// `result`, of the same extents as `like`, laid out as an element-wise kernel does: in the order of `like`.
void set_layout_like(Value& result, const Value& like);

/// Values of equal extents have their elements in the same order: one kernel walks over both without
/// reckoning where each is.
[[nodiscard]] bool lies_like(const Value& a, const Value& b);

/// Positions of a map of channels: the extents behind the second.
[[nodiscard]] std::int64_t positions(const Value& v);

}  // namespace plimsoll::program
