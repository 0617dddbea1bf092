#pragma once
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "estimate/memory/memory.hpp"
#include "network/setting.hpp"

namespace plimsoll {

/// The options that say how a network is run, shared by the commands that estimate and measure.
void add_precision_option(CLI::App& command, network::Precision& precision);
void add_optimizer_option(CLI::App& command, network::Optimizer& optimizer);
void add_loss_option(CLI::App& command, network::Loss& loss);
void add_in_place_option(CLI::App& command, network::InPlace& in_place);
void add_key_value_cache_option(CLI::App& command, bool& key_value_cache);

struct MemoryOptions {
  estimate::MemorySetting setting;  ///< its mode comes from --mode

  void add_to(CLI::App& command);
};

/// --device, a list
void add_devices_option(CLI::App& command, std::vector<std::string>& devices, const std::string& help);

}  // namespace plimsoll
