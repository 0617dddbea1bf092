#include "engine/batches.hpp"

#include <algorithm>
#include <cstring>

#include <ATen/ops/empty.h>

#include "dataset/image.hpp"
#include "dataset/random.hpp"
#include "dataset/split.hpp"

namespace plimsoll::engine {
namespace {

using network::DataType;

constexpr std::uint64_t kAugmentation = 0x6175676d656e74;  // draws of another kind than the order's

at::Tensor empty_like_rows(const dataset::Rows& rows, std::int64_t count) {
  std::vector<std::int64_t> dims{count};
  dims.insert(dims.end(), rows.dims.begin(), rows.dims.end());
  return at::empty(dims, at::TensorOptions().dtype(rows.type == DataType::int64 ? at::kLong : at::kFloat));
}

void copy_row(const dataset::Rows& rows, std::int64_t example, const at::Tensor& to, std::int64_t place) {
  auto* const out = static_cast<std::byte*>(to.data_ptr()) + place * rows.row_bytes;
  std::memcpy(out, rows.row(example).data(), static_cast<std::size_t>(rows.row_bytes));
}

}  // namespace

void Batches::begin_epoch(std::int64_t epoch, bool shuffle) {
  epoch_ = epoch;
  order_ = shuffle ? dataset::shuffled(examples(), seed_, static_cast<std::uint64_t>(epoch))
                   : std::vector<std::int64_t>();
}

ExampleBatch Batches::batch(std::int64_t number) const {
  const std::int64_t first = number * size_;
  ExampleBatch batch{.inputs = empty_like_rows(part_->inputs, size_),
                     .labels = empty_like_rows(part_->labels, size_),
                     .counted = std::min(size_, examples() - first)};
  const std::int64_t numbers = batch.inputs.numel() / size_;
  for (std::int64_t i = 0; i < size_; ++i) {
    const auto place = static_cast<std::size_t>(std::min(first + i, examples() - 1));
    const std::int64_t example = examples_[order_.empty() ? place : static_cast<std::size_t>(order_[place])];
    copy_row(part_->labels, example, batch.labels, i);
    if (part_->inputs.type == DataType::int64) {
      copy_row(part_->inputs, example, batch.inputs, i);
      continue;
    }
    const std::span<float> out(batch.inputs.data_ptr<float>() + i * numbers,
                               static_cast<std::size_t>(numbers));
    dataset::Random random(seed_ ^ kAugmentation, static_cast<std::uint64_t>(epoch_.value_or(0)),
                           static_cast<std::uint64_t>(example));
    dataset::fill(out, part_->inputs, example, augmentation_, epoch_ ? &random : nullptr);
  }
  return batch;
}

}  // namespace plimsoll::engine
