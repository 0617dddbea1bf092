#pragma once
#include <cstdint>
#include <vector>

#include "network/network.hpp"
#include "network/scopes.hpp"

namespace plimsoll::network {

/// What a graph does not say of how long a framework holds a tensor: its modules' code does, which is read
/// from the names of operators (see Scopes). `executed` says which operators of the main graph run, `reads`
/// what each of them reads.
inline constexpr std::uint32_t kHeld = 0xffffffff;

/// For each tensor the executed operator until which the code keeps a name for it, though nobody reads it
/// any more; kHeld where it keeps none. A concatenation whose parts are all read again is a value of its own
/// beside them, as in DenseNet: `features = torch.cat(inputs, 1)`, then `self.conv1(self.relu1(
/// self.norm1(features)))`. Where its parts are done with it takes the name of one of them, and so does
/// what is made of it. The name lasts while the module makes one thing of it, operator by operator.
[[nodiscard]] std::vector<std::uint32_t> named_until(const Network& network,
                                                     const std::vector<bool>& executed,
                                                     const std::vector<std::vector<TensorId>>& reads,
                                                     const Scopes& scopes);

/// A module's argument is held by its caller until the module returns, not only until its last use inside:
/// `x = self.layer1(x)` keeps the old x while layer1 runs. For each tensor of the main graph: the executed
/// operator after which the framework's own references to it are gone, names of the code included; kHeld for
/// what outlives the pass (results, weights, inputs) and for what no executed operator makes.
[[nodiscard]] std::vector<std::uint32_t> released_after(const Network& network,
                                                        const std::vector<bool>& executed,
                                                        const std::vector<std::vector<TensorId>>& reads);

}  // namespace plimsoll::network
