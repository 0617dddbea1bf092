#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dataset/dataset.hpp"
#include "job/learning.hpp"

namespace plimsoll::engine {

/// Inputs and labels of a few examples, on the host.
struct ExampleBatch {
  at::Tensor inputs, labels;
  std::int64_t counted =
      0;  ///< the first so many; the rest fills up to the size that the routine is made for
};

/// Examples of a data set in batches of one size.
class Batches {
 public:
  /// `part` outlives it.
  Batches(const dataset::Part& part, std::vector<std::int64_t> examples, std::int64_t size,
          job::Augmentation augmentation, std::uint64_t seed)
      : part_(&part),
        examples_(std::move(examples)),
        size_(size),
        augmentation_(std::move(augmentation)),
        seed_(seed) {}

  [[nodiscard]] std::int64_t examples() const { return static_cast<std::int64_t>(examples_.size()); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t whole() const { return examples() / size_; }  ///< batches that are full
  [[nodiscard]] std::int64_t all() const { return (examples() + size_ - 1) / size_; }

  /// From now on batches are of this epoch: in its order, augmented as drawn for it. The same again wherever
  /// it is begun, so that a training that was stopped goes on as it would have.
  void begin_epoch(std::int64_t epoch, bool shuffle);
  /// One batch of the epoch; or, without one, of the examples in their order, not augmented. Reads only what
  /// does not change: another thread may call it.
  [[nodiscard]] ExampleBatch batch(std::int64_t number) const;

 private:
  const dataset::Part* part_;
  std::vector<std::int64_t> examples_;
  std::int64_t size_;
  job::Augmentation augmentation_;
  std::uint64_t seed_;
  std::optional<std::int64_t> epoch_;
  std::vector<std::int64_t> order_;  ///< places in examples_
};

}  // namespace plimsoll::engine
