#include "job/learning_json.hpp"

#include <cmath>

namespace plimsoll::job {
namespace {

constexpr std::int64_t kMostCrop = 1 << 14;
constexpr std::size_t kMostChannels = 1 << 16;

Json schedule_json(const Schedule& schedule) {
  return {{"decline", name(schedule.decline)},
          {"warm_up_epochs", real_json(schedule.warm_up_epochs)},
          {"step_epochs", real_json(schedule.step_epochs)},
          {"step_factor", real_json(schedule.step_factor)}};
}
Schedule read_schedule(const Fields& fields) {
  Schedule schedule{.decline = fields.choice("decline", decline_named),
                    .warm_up_epochs = fields.not_negative("warm_up_epochs"),
                    .step_epochs = fields.not_negative("step_epochs"),
                    .step_factor = fields.not_negative("step_factor")};
  if (schedule.decline == Decline::step && schedule.step_epochs <= 0)
    fields.complain("step_epochs", "is not above 0");
  return schedule;
}

Augmentation read_augmentation(const Fields& fields) {
  Augmentation augmentation{.crop = fields.whole("crop", 0, kMostCrop),
                            .flip = fields.flag("flip"),
                            .mean = fields.reals("mean"),
                            .deviation = fields.not_negatives("deviation")};
  for (const double mean : augmentation.mean)
    if (!std::isfinite(mean)) fields.complain("mean", "is not finite");
  if (augmentation.mean.size() != augmentation.deviation.size() || augmentation.mean.size() > kMostChannels)
    fields.complain("mean", "is not of as many channels as deviation");
  return augmentation;
}

}  // namespace

Json learning_json(const Learning& learning) {
  const Augmentation& augmentation = learning.augmentation;
  Json json = {{"schedule", schedule_json(learning.schedule)},
               {"augmentation",
                {{"crop", augmentation.crop},
                 {"flip", augmentation.flip},
                 {"mean", reals_json(augmentation.mean)},
                 {"deviation", reals_json(augmentation.deviation)}}},
               {"framework_weights", learning.framework_weights},
               {"folder", text_json(learning.folder)},
               {"save_every", learning.save_every},
               {"go_on", learning.go_on}};
  if (learning.weight_decay) json["weight_decay"] = real_json(*learning.weight_decay);
  if (learning.target_accuracy) json["target_accuracy"] = real_json(*learning.target_accuracy);
  return json;
}

Learning read_learning(const Fields& fields) {
  Learning learning{.schedule = read_schedule(fields.section("schedule")),
                    .weight_decay = fields.not_negative_if_any("weight_decay"),
                    .augmentation = read_augmentation(fields.section("augmentation")),
                    .framework_weights = fields.flag("framework_weights"),
                    .target_accuracy = fields.not_negative_if_any("target_accuracy"),
                    .folder = fields.text("folder"),
                    .save_every = fields.whole("save_every"),
                    .go_on = fields.flag("go_on")};
  if (learning.folder.find('\0') != std::string::npos) fields.complain("folder", "is not a path");
  return learning;
}

}  // namespace plimsoll::job
