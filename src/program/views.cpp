#include "program/views.hpp"

#include <algorithm>
#include <tuple>

#include "network/saturating.hpp"

namespace plimsoll::program {
namespace {

using network::product;

constexpr std::int64_t kFurthest = std::int64_t{1}
                                   << 62;  // between elements of a tensor that is too large anyway

}  // namespace

std::int64_t Value::bytes() const {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;  // whose bits are one more than 63 bits can count
  std::int64_t bits = 0;
  if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(std::max(network::bits(type), 1)), &bits))
    return kMost;
  return bits / 8 + (bits % 8 != 0);
}

bool Value::contiguous() const {
  if (!strided) return true;
  std::int64_t expected = 1;
  for (std::size_t i = rank; i-- > 0;) {
    if (dims[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected = product(expected, dims[i]);
  }
  return true;
}

void set_contiguous(Value& value) {
  std::int64_t stride = 1;
  for (std::size_t i = value.rank; i-- > 0;) {
    value.strides[i] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(value.dims[i], 1), &stride)) stride = kFurthest;
  }
}

std::optional<Value> viewed(const Value& value, std::span<const std::int64_t> dims) {
  Value result = value;
  if (dims.size() > kMaxViewRank) {
    result.strided = false;
    return result;
  }
  result.rank = static_cast<std::uint8_t>(dims.size());
  std::ranges::copy(dims, result.dims.begin());
  if (!value.strided || value.contiguous()) {
    result.strided = true;
    set_contiguous(result);
    return result;
  }
  // Each run of old dimensions that is contiguous in itself must be cut into whole new ones, from the end.
  auto view = static_cast<std::ptrdiff_t>(dims.size()) - 1;
  std::int64_t chunk_stride = value.strides[value.rank - 1];
  std::int64_t old_elements = 1, new_elements = 1;
  for (std::size_t i = value.rank; i-- > 0;) {
    old_elements = product(old_elements, value.dims[i]);
    if (i != 0 && (value.dims[i - 1] == 1 || value.strides[i - 1] == product(old_elements, chunk_stride)))
      continue;
    while (view >= 0 && (new_elements < old_elements || dims[static_cast<std::size_t>(view)] == 1)) {
      result.strides[static_cast<std::size_t>(view)] = product(new_elements, chunk_stride);
      new_elements = product(new_elements, dims[static_cast<std::size_t>(view)]);
      --view;
    }
    if (new_elements != old_elements) return std::nullopt;
    if (i > 0) {
      chunk_stride = value.strides[i - 1];
      old_elements = new_elements = 1;
    }
  }
  if (view != -1) return std::nullopt;
  return result;
}

Value permuted(const Value& value, std::span<const std::int64_t> order) {
  Value result = value;
  if (!value.strided || order.size() != value.rank) return result;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    if (from >= value.rank) return value;
    result.dims[i] = value.dims[from];
    result.strides[i] = value.strides[from];
  }
  return result;
}

Value expanded(const Value& value, std::span<const std::int64_t> dims) {
  Value result = value;
  result.elements = 1;
  for (const std::int64_t d : dims) result.elements = std::min(product(result.elements, d), kFurthest);
  if (!value.strided || dims.size() > kMaxViewRank || dims.size() < value.rank) {
    result.strided = false;
    return result;
  }
  const std::size_t lead = dims.size() - value.rank;
  result.rank = static_cast<std::uint8_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    result.dims[i] = dims[i];
    const bool repeated = i < lead || value.dims[i - lead] != dims[i];
    result.strides[i] = repeated ? 0 : value.strides[i - lead];
  }
  return result;
}

bool is_batch_of_matrices(const Value& value) {
  if (!value.strided || value.rank < 2) return true;
  std::array<std::int64_t, 3> dims{1, value.dims[value.rank - 2], value.dims[value.rank - 1]};
  for (std::size_t i = 0; i + 2 < value.rank; ++i) dims[0] = product(dims[0], value.dims[i]);
  const auto flat = viewed(value, dims);
  if (!flat) return false;
  return flat->strides[1] == 1 || flat->strides[2] == 1 || flat->dims[1] == 1 || flat->dims[2] == 1;
}

bool is_channels_last(const Value& value) {
  if (!value.strided || value.rank != 4 || value.dims[1] == 1) return false;
  const auto& [n, c, h, w] = std::tie(value.dims[0], value.dims[1], value.dims[2], value.dims[3]);
  if (h == 1 && w == 1) return false;
  return value.strides[1] == 1 && (w == 1 || value.strides[3] == c) &&
         (h == 1 || value.strides[2] == product(c, w)) &&
         (n == 1 || value.strides[0] == product(product(c, h), w));
}

void set_channels_last(Value& value) {
  if (value.rank != 4 || !value.strided) return;
  const auto [n, c, h, w] = std::array{value.dims[0], value.dims[1], value.dims[2], value.dims[3]};
  value.strides = {product(product(c, h), w), 1, product(w, c), c};
}

bool rows_stay_whole(const Value& value) {
  constexpr std::int64_t kWhole = 32;  // elements; a row of a cache line and more
  return value.rank > 0 && value.strided && value.strides[value.rank - 1] == 1 &&
         value.dims[value.rank - 1] >= kWhole;
}

void set_layout_like(Value& result, const Value& like) {
  set_contiguous(result);
  if (!result.strided || !like.strided || like.rank != result.rank || like.dims != result.dims ||
      like.contiguous())
    return;
  std::array<std::size_t, kMaxViewRank> order{};  // by falling stride; equal ones stay as they are
  for (std::size_t i = 0; i < like.rank; ++i) {
    std::size_t at = i;
    for (; at > 0 && like.strides[order[at - 1]] < like.strides[i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  std::int64_t stride = 1;
  for (std::size_t i = like.rank; i-- > 0;) {
    result.strides[order[i]] = stride;
    stride = product(stride, std::max<std::int64_t>(like.dims[order[i]], 1));
  }
}

bool lies_like(const Value& a, const Value& b) {
  if (!a.strided || !b.strided || a.rank != b.rank || a.dims != b.dims) return true;
  for (std::size_t i = 0; i < a.rank; ++i)
    if (a.dims[i] > 1 && a.strides[i] != b.strides[i]) return false;
  return true;
}

std::int64_t positions(const Value& v) {
  std::int64_t n = 1;
  for (std::size_t i = 2; i < v.rank; ++i) n = network::product(n, std::max<std::int64_t>(v.dims[i], 1));
  return n;
}

}  // namespace plimsoll::program
