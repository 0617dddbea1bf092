#include "inspect_model.hpp"

#include <map>

#include "batches.hpp"

namespace plimsoll {

void add_mode_option(CommandLine& command, network::Mode& mode) {
  static const std::map<std::string, network::Mode> kModes = {{"infer", network::Mode::infer},
                                                              {"train", network::Mode::train}};
  command.add_choice("--mode,-m", mode, kModes, "infer (default) or train")->option_text("MODE");
}

void InspectOptions::add_to(CommandLine& command) {
  binding.add_to(command, setting);
  add_mode_option(command, setting.mode);
  command.add_flag("--allow-unknown", allow_unknown,
                   "Go on without operators that are unknown; they are listed as not counted");
  command
      .add_option("--flops-per-mac", conventions.flops_per_mac, "FLOPs of a multiply-add: 2 (default) or 1")
      ->in_range(1, 2)
      ->option_text("N");
  command.add_flag("--bias,!--no-bias", conventions.bias, "Count the additions of biases (default: yes)");
  command.add_flag("--batch-norm,!--no-batch-norm", conventions.batch_norm,
                   "Count BatchNorm in inference (default: yes)");
  command.add_flag("--halve-causal,!--no-halve-causal", conventions.halve_causal,
                   "Count half of the products of causal attention (default: no)");
}

Result<InspectedModel> inspect_model(const std::string& spec, const InspectOptions& options) {
  Result<Batches> batches = Batches::load(spec, options);
  if (!batches) return std::unexpected(std::move(batches).error());
  Result<network::Shapes> shapes = batches->shapes(0);
  if (!shapes) return std::unexpected(std::move(shapes).error());
  program::Counts counts = batches->count(*shapes);
  return InspectedModel{std::move(*batches).take(), std::move(*shapes), std::move(counts),
                        options.conventions};
}

}  // namespace plimsoll
