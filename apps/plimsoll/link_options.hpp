#pragma once
#include <string>

#include "base/error.hpp"
#include "command_line.hpp"
#include "network/setting.hpp"

namespace plimsoll {

/// What connects several GPUs: --link, --link-latency, --gpus-per-machine.
struct LinkOptions {
  std::string link, latency;

  void add_to(CommandLine& command, network::Interconnect& interconnect);
  /// As they were given, each with a space before it.
  [[nodiscard]] std::string words(const network::Interconnect& interconnect) const;
  /// Once parsed.
  [[nodiscard]] Status read(network::Interconnect& interconnect) const;
};

}  // namespace plimsoll
