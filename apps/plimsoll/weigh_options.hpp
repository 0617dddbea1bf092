#pragma once
#include <string>
#include <vector>

#include "command_line.hpp"
#include "inspect_model.hpp"
#include "link_options.hpp"
#include "network/setting.hpp"

namespace plimsoll {

/// The options of `plimsoll weigh`.
struct WeighOptions {
  std::string model;
  InspectOptions inspect;
  LinkOptions links;
  std::vector<std::string> devices;
  std::string calibration;
  std::string dataset_size, country;
  std::string html;
  bool measure = false;
  bool floors = false;
  bool json = false;

  void add_to(CommandLine& command);
};

}  // namespace plimsoll
