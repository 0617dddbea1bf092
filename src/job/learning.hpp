#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::job {

/// How the learning rate moves after its warm-up, step by step: as PyTorch's schedulers of these names.
enum class Decline : std::uint8_t {
  none,       ///< it stays
  step,       ///< times a factor every so many epochs
  cosine,     ///< half a cosine, down to nothing at the end
  one_cycle,  ///< up from a 25th in the first 30 %, then down to a 10,000th of that (Smith and Topin 2018)
};
[[nodiscard]] std::string_view name(Decline decline);  ///< "one-cycle"
[[nodiscard]] std::optional<Decline> decline_named(std::string_view name);

struct Schedule {
  Decline decline = Decline::none;
  double warm_up_epochs = 0;  ///< in which the rate grows in equal steps to the whole
  double step_epochs = 30;    ///< Decline::step
  double step_factor = 0.1;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The learning rate of a step, counted from 0, of `steps` in all. `peak` is the rate that was asked for.
[[nodiscard]] double learning_rate_at(const Schedule& schedule, double peak, std::int64_t step,
                                      std::int64_t steps_per_epoch, std::int64_t steps);

/// What is done to images as they are learned from; only `mean` and `deviation` where they are judged.
struct Augmentation {
  std::int64_t crop = 0;  ///< cut out of the image with so many zeros around it, at a place drawn
  bool flip = false;      ///< left to right, half of them
  /// By channel, of values from 0 to 1; empty: values are left as they are.
  std::vector<double> mean = {}, deviation = {};
  friend bool operator==(const Augmentation&, const Augmentation&) = default;
};

/// What the training of one network is asked beside its setting and its data.
struct Learning {
  Schedule schedule = {};
  std::optional<double> weight_decay = {};  ///< absent: the optimizer's own, 0.01 of AdamW
  Augmentation augmentation = {};
  /// Weights that no file holds are drawn as PyTorch's modules draw theirs when they are made.
  bool framework_weights = false;
  std::optional<double> target_accuracy = {};  ///< the training ends with the epoch that reaches it
  std::string folder = {};                     ///< where saves and the trained weights go; empty: nowhere
  std::int64_t save_every = 0;                 ///< steps; 0: with every epoch
  bool go_on = false;                          ///< from the save in the folder, where there is one
  friend bool operator==(const Learning&, const Learning&) = default;
};

// Files in Learning::folder. Each appears whole or not at all.
inline constexpr std::string_view kSaveFile = "save.safetensors";      ///< to go on from
inline constexpr std::string_view kTrainedFile = "model.safetensors";  ///< the weights, by name

}  // namespace plimsoll::job
