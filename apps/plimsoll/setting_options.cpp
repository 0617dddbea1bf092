#include "setting_options.hpp"

#include <map>

#include "inspect_model.hpp"

namespace plimsoll {

void add_precision_option(CommandLine& command, network::Precision& precision) {
  static const std::map<std::string, network::Precision> kPrecisions = [] {
    std::map<std::string, network::Precision> names;
    for (const auto p : {network::Precision::fp32, network::Precision::fp32_strict, network::Precision::tf32,
                         network::Precision::fp16, network::Precision::bf16, network::Precision::amp_bf16,
                         network::Precision::amp_fp16, network::Precision::int8})
      names.emplace(network::name(p), p);
    return names;
  }();
  command
      .add_choice("--precision,-p", precision, kPrecisions,
                  "fp32 (default), fp32-strict, tf32, fp16, bf16, amp-bf16, amp-fp16, int8")
      ->option_text("PRECISION");
}

void add_optimizer_option(CommandLine& command, network::Optimizer& optimizer) {
  static const std::map<std::string, network::Optimizer> kOptimizers = {
      {"sgd", network::Optimizer::sgd},
      {"momentum", network::Optimizer::momentum},
      {"adam", network::Optimizer::adam},
      {"adamw", network::Optimizer::adamw}};
  command.add_choice("--optimizer", optimizer, kOptimizers, "sgd (default), momentum, adam, adamw")
      ->option_text("OPTIMIZER");
}

void add_loss_option(CommandLine& command, network::Loss& loss) {
  static const std::map<std::string, network::Loss> kLosses = {
      {"cross-entropy", network::Loss::cross_entropy},
      {"mean-square", network::Loss::mean_square},
      {"none", network::Loss::none}};
  command.add_choice("--loss", loss, kLosses, "cross-entropy (default), mean-square, none")
      ->option_text("LOSS");
}

void add_in_place_option(CommandLine& command, network::InPlace& in_place) {
  static const std::map<std::string, network::InPlace> kInPlace = {{"auto", network::InPlace::automatic},
                                                                   {"always", network::InPlace::always},
                                                                   {"never", network::InPlace::never}};
  command
      .add_choice("--inplace", in_place, kInPlace,
                  "Compute activations in place: auto (default: after a convolution, normalization or "
                  "addition), always or never")
      ->option_text("WHEN");
}

void add_key_value_cache_option(CommandLine& command, bool& key_value_cache) {
  command.add_flag("--kv-cache,!--no-kv-cache", key_value_cache,
                   "Keep keys and values of causal attention, as decoders do (default: yes)");
}

void add_devices_option(CommandLine& command, std::vector<std::string>& devices, const std::string& help) {
  command.add_option("--device,-d", devices, help)->delimiter(',')->option_text("DEVICE,…");
}

void add_context_option(CommandLine& command, std::int64_t& context) {
  command
      .add_option("--context", context,
                  "Tokens that the key-value cache holds already, in inference (default: 0)")
      ->in_range(std::int64_t{0}, std::int64_t{1} << 40)
      ->option_text("TOKENS");
}

void add_layout_option(CommandLine& command, network::Layout& layout) {
  command.add_flag_function(
      "--channels-last", [&layout] { layout = network::Layout::channels_last; },
      "Keep images as NHWC in memory");
}

void add_setting_options(CommandLine& command, network::Setting& setting) {
  add_precision_option(command, setting.precision);
  add_optimizer_option(command, setting.optimizer);
  add_loss_option(command, setting.loss);
  add_layout_option(command, setting.layout);
  add_in_place_option(command, setting.in_place);
  command.add_option("--freeze", setting.frozen, "Do not train parameters whose names begin with this")
      ->delimiter(',')
      ->option_text("PREFIX,…");
  command.add_flag("--checkpoint", setting.checkpoint,
                   "Recompute activations in the backward pass, in about √layers segments");
  command.add_option("--accumulate", setting.accumulate, "Passes per optimizer step (default: 1)")
      ->in_range(1, 1 << 20)
      ->option_text("N");
  static const std::map<std::string, network::ZeroGrad> kZeroGrad = {
      {"before-forward", network::ZeroGrad::before_forward},
      {"before-backward", network::ZeroGrad::before_backward},
      {"keep", network::ZeroGrad::keep}};
  command
      .add_choice("--zero-grad", setting.zero_grad, kZeroGrad,
                  "before-forward (default), before-backward, or keep (set_to_none=False)")
      ->option_text("WHEN");
  command.add_flag("--fused-optimizer", setting.fused_optimizer,
                   "Use an optimizer without temporaries (fused=True)");
  command.add_flag("--expandable-segments", setting.allocator.expandable_segments,
                   "As PyTorch with PYTORCH_CUDA_ALLOC_CONF= expandable_segments:True");
  command
      .add_option_function(
          "--max-split-size",
          [&setting](const std::int64_t& mib) { setting.allocator.max_split_size = mib << 20; },
          "As PyTorch with PYTORCH_CUDA_ALLOC_CONF= max_split_size_mb:MIB")
      ->in_range(std::int64_t{21}, std::int64_t{1} << 30)
      ->option_text("MIB");
  command.add_option("--gpus", setting.devices, "GPUs that train together (default: 1)")
      ->in_range(1, 1 << 20)
      ->option_text("N");
  static const std::map<std::string, network::Sharding> kSharding = {
      {"none", network::Sharding::none},
      {"data-parallel", network::Sharding::data_parallel},
      {"zero1", network::Sharding::zero1},
      {"zero2", network::Sharding::zero2},
      {"zero3", network::Sharding::zero3}};
  command
      .add_choice("--sharding", setting.sharding, kSharding,
                  "What --gpus share: none (default), data-parallel, zero1, zero2 or zero3")
      ->option_text("HOW");
  add_key_value_cache_option(command, setting.key_value_cache);
  add_context_option(command, setting.context);
  static const std::map<std::string, network::Logits> kLogits = {{"all", network::Logits::all},
                                                                 {"last", network::Logits::last}};
  command
      .add_choice("--logits", setting.logits, kLogits,
                  "For which positions a decoder's head computes in inference: all (default) or last")
      ->option_text("WHICH");
}

}  // namespace plimsoll
