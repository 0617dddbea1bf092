#include "job/setting_json.hpp"

namespace plimsoll::job {
namespace {

constexpr std::int64_t kMostDevices = 1 << 20, kMostPasses = 1 << 20;

template <class Number>
Json if_any(const std::optional<Number>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json setting_json(const network::Setting& setting) {
  return {{"mode", network::name(setting.mode)},
          {"batch", if_any(setting.batch)},
          {"sequence", if_any(setting.sequence)},
          {"context", setting.context},
          {"precision", network::name(setting.precision)},
          {"layout", network::name(setting.layout)},
          {"in_place", network::name(setting.in_place)},
          {"key_value_cache", setting.key_value_cache},
          {"logits", network::name(setting.logits)},
          {"fold", setting.fold},
          {"literal", setting.literal},
          {"captured", setting.captured},
          {"cudnn_benchmark", setting.cudnn_benchmark},
          {"optimizer", network::name(setting.optimizer)},
          {"loss", network::name(setting.loss)},
          {"frozen", texts_json(setting.frozen)},
          {"checkpoint", setting.checkpoint},
          {"checkpoints", texts_json(setting.checkpoints)},
          {"accumulate", setting.accumulate},
          {"zero_grad", network::name(setting.zero_grad)},
          {"fused_optimizer", setting.fused_optimizer},
          {"expandable_segments", setting.allocator.expandable_segments},
          {"max_split_size", setting.allocator.max_split_size},
          {"devices", setting.devices},
          {"sharding", network::name(setting.sharding)},
          {"link_bandwidth", if_any(setting.interconnect.bandwidth)},
          {"link_latency", if_any(setting.interconnect.latency)},
          {"devices_per_machine", setting.interconnect.devices_per_machine}};
}

network::Setting read_setting(const Fields& fields) {
  return {.mode = fields.choice("mode", network::mode_named),
          .batch = fields.whole_if_any("batch"),
          .sequence = fields.whole_if_any("sequence"),
          .context = fields.whole("context"),
          .precision = fields.choice("precision", network::precision_named),
          .layout = fields.choice("layout", network::layout_named),
          .in_place = fields.choice("in_place", network::in_place_named),
          .key_value_cache = fields.flag("key_value_cache"),
          .logits = fields.choice("logits", network::logits_named),
          .fold = fields.flag("fold"),
          .literal = fields.flag("literal"),
          .captured = fields.flag("captured"),
          .cudnn_benchmark = fields.flag("cudnn_benchmark"),
          .optimizer = fields.choice("optimizer", network::optimizer_named),
          .loss = fields.choice("loss", network::loss_named),
          .frozen = fields.texts("frozen"),
          .checkpoint = fields.flag("checkpoint"),
          .checkpoints = fields.texts("checkpoints"),
          .accumulate = static_cast<int>(fields.whole("accumulate", 1, kMostPasses)),
          .zero_grad = fields.choice("zero_grad", network::zero_grad_named),
          .fused_optimizer = fields.flag("fused_optimizer"),
          .allocator = {.expandable_segments = fields.flag("expandable_segments"),
                        .max_split_size = fields.whole("max_split_size", 1)},
          .devices = static_cast<int>(fields.whole("devices", 1, kMostDevices)),
          .sharding = fields.choice("sharding", network::sharding_named),
          .interconnect = {
              .bandwidth = fields.not_negative_if_any("link_bandwidth"),
              .latency = fields.not_negative_if_any("link_latency"),
              .devices_per_machine = static_cast<int>(fields.whole("devices_per_machine", 1, kMostDevices))}};
}

}  // namespace plimsoll::job
