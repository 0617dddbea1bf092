#pragma once
#include <optional>
#include <span>
#include <vector>

#include "plan/choose.hpp"

/// What is known of a candidate's time and energy, best source first.
namespace plimsoll::plan {

/// Times of one image of `patches` samples, best first: measured, scaled by clock from an equal core, a
/// measured bound, estimated, and the floor that the peak rate sets.
struct ImageTime {
  Known pass;
  Known image;
  std::int64_t batch = 1;
  std::optional<Known> energy = {};  ///< J per image where an estimate has it
};
[[nodiscard]] std::vector<ImageTime> image_times(const Question& question, std::size_t variant,
                                                 const hardware::Device& device,
                                                 hardware::Arithmetic arithmetic,
                                                 std::span<const hardware::Device> catalogue,
                                                 const Estimators& estimators);

/// The board's own peak, else the card's limit.
[[nodiscard]] std::optional<Known> peak_power(const hardware::Device& device);

/// Peak power for as long as an image takes: a ceiling.
[[nodiscard]] std::optional<Known> energy_ceiling(const hardware::Device& device, const Known& image);

/// How many samples are worth running together there.
[[nodiscard]] std::int64_t batch_for(const hardware::Device& device, std::int64_t patches);

}  // namespace plimsoll::plan
