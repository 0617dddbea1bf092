#pragma once
#include <string>
#include <vector>

#include "command_line.hpp"
#include "network/setting.hpp"

namespace plimsoll {

/// The options that say how a network is run, shared by the commands that estimate and measure.
void add_precision_option(CommandLine& command, network::Precision& precision);
void add_optimizer_option(CommandLine& command, network::Optimizer& optimizer);
void add_loss_option(CommandLine& command, network::Loss& loss);
void add_in_place_option(CommandLine& command, network::InPlace& in_place);
void add_key_value_cache_option(CommandLine& command, bool& key_value_cache);
void add_context_option(CommandLine& command, std::int64_t& context);
void add_layout_option(CommandLine& command, network::Layout& layout);
/// All that an estimate can be asked with, beside mode, batch and sequence.
void add_setting_options(CommandLine& command, network::Setting& setting);

/// --device, a list
void add_devices_option(CommandLine& command, std::vector<std::string>& devices, const std::string& help);

}  // namespace plimsoll
