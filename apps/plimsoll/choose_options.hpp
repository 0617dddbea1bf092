#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command_line.hpp"
#include "inspect_model.hpp"
#include "network_forms.hpp"
#include "plan/choose.hpp"
#include "plan/imaging.hpp"

namespace plimsoll {

/// What stands on the command line of `plimsoll choose`, as text; the functions check it.
struct ChooseOptions {
  std::string model;
  InspectOptions inspect;
  std::vector<std::string> devices;
  std::vector<double> depths;
  std::vector<std::string> precisions;
  std::vector<std::string> accuracies;
  std::vector<std::string> musts;
  std::string max_latency, max_power, max_mass, max_size, max_price, max_boot, min_accuracy;
  std::string scene, patch, period, downlink, relevant;
  double images = 0;
  double bits_per_pixel = 0;
  bool all = false, why = false, json = false, csv = false;

  void add_to(CommandLine& command);
  [[nodiscard]] Result<plan::Imaging> imaging(const NetworkForms& forms) const;
  /// The tighter of --max-latency and the budget that period and images leave.
  [[nodiscard]] Result<plan::Limits> limits(const plan::Imaging& imaging) const;
  [[nodiscard]] Result<std::vector<hardware::Arithmetic>> arithmetics() const;
  /// Those of --accuracy, which come before the catalogue's.
  [[nodiscard]] Status add_accuracies(std::vector<plan::Variant>& variants) const;
};

}  // namespace plimsoll
