#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.hpp"
#include "engine/session.hpp"
#include "engine/swapping/block_memory.hpp"

namespace plimsoll::engine {

/// A weight on the host, and its place among the tensors of all models once they are laid out.
struct SwappedWeight {
  std::vector<network::TensorId> tensors;  ///< of the network; several where they are the same bytes
  at::Tensor contents = {};
  std::size_t number = 0;
};

/// Instructions up to `end` of a model's, of which the first reads weights that must be there.
struct SwappedLayer {
  std::size_t end = 0;
  std::vector<std::size_t> weights = {};  ///< of the model's
  Seconds seconds = {};                   ///< with all weights there
};

/// A network that is to take turns with others in a memory.
struct SwappedModel {
  Session session;
  GivenInputs inputs = {};
  std::vector<SwappedWeight> weights = {};  ///< those that are read while it runs
  std::vector<SwappedLayer> layers = {};
  std::vector<at::Tensor> expected = {};  ///< what it gives, on the host; undefined where that is no tensor
  std::int64_t activation_bytes = 0;
};

/// Opens a model's session, runs it with all its weights on the device, so that it is known what its
/// instructions read, how long its layers take and what it gives, and takes the weights from the device to
/// the host. `drawn_as`: weights that take the place of those that are drawn, by tensor. Nothing where
/// operators cannot be executed: that has been answered.
[[nodiscard]] Result<std::unique_ptr<SwappedModel>> bring_in(
    const job::Job& job, const std::vector<std::pair<network::TensorId, at::Tensor>>& drawn_as,
    const Emit& emit);

/// From now on the weight is what stands at this address of the device.
void place_at(SwappedModel& model, const SwappedWeight& weight, std::byte* address);

/// The outputs of a pass, on the host.
[[nodiscard]] std::vector<at::Tensor> on_host(const std::vector<Value>& outputs);
/// Of one form, and the same bits.
[[nodiscard]] bool same_bits(const at::Tensor& a, const at::Tensor& b);

}  // namespace plimsoll::engine
