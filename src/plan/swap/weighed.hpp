#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/all_errors.hpp"
#include "base/units.hpp"
#include "estimate/profile/profile.hpp"
#include "network/network.hpp"
#include "program/program.hpp"
#include "swapping/models.hpp"

namespace plimsoll::swapping {

struct NamedTensor {
  std::string name;
  Bytes bytes;
  std::vector<std::int64_t> dims;
};

/// A network as something that is swapped: its tensors by name, and its layers with the time that each takes.
struct WeighedModel {
  Model model;  ///< whose layers name `tensors`
  std::vector<NamedTensor> tensors;
};

/// Pure. Weights belong to the layer whose calls read them; what computes without weights belongs to the
/// layer before it. `captured`: by the device's own time, as with a graph; else as a framework launches it
/// call by call.
[[nodiscard]] WeighedModel weighed(const std::string& name, const network::Network& network,
                                   const program::Program& program, const estimate::Profile& profile,
                                   bool captured);

/// Tensors that models share. With `models`: what has the name in all of them, one `*` for any letters;
/// without: "model:tensor", each.
struct SharedGroup {
  std::vector<std::string> models, tensors;
};

/// All in one, each shared tensor once. Fails where a group names what there is not, or what is not alike;
/// all mistakes are told at once.
[[nodiscard]] AllErrors<Models> joined(std::span<const WeighedModel> models,
                                       std::span<const SharedGroup> groups);

}  // namespace plimsoll::swapping
