#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command_line.hpp"
#include "estimate/count.hpp"
#include "model_source.hpp"
#include "network/inference.hpp"
#include "report/inspection.hpp"

namespace plimsoll {

/// From a MODEL on the command line to its counts: the path that inspect and weigh share.
struct InspectOptions {
  BindingOptions binding;
  network::Mode mode = network::Mode::infer;
  bool allow_unknown = false;
  estimate::Conventions conventions;

  void add_to(CommandLine& command);
};

struct InspectedModel {
  LoadedModel loaded;
  network::Shapes shapes;
  estimate::Counts counts;
  estimate::Conventions conventions;

  [[nodiscard]] report::Inspection view() const {
    return {loaded.label, loaded.network, shapes, counts, conventions, loaded.notes};
  }
};

[[nodiscard]] Result<InspectedModel> inspect_model(const std::string& spec, const InspectOptions& options);

/// --mode infer|train
void add_mode_option(CommandLine& command, network::Mode& mode);

}  // namespace plimsoll
