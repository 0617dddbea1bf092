#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command_line.hpp"
#include "model_source.hpp"
#include "network/inference.hpp"
#include "program/count.hpp"
#include "report/inspection.hpp"

namespace plimsoll {

/// From a MODEL on the command line to its counts: the path that inspect and weigh share.
struct InspectOptions {
  network::Setting setting;
  BindingOptions binding;
  bool allow_unknown = false;
  program::Conventions conventions;

  void add_to(CommandLine& command);
};

struct InspectedModel {
  LoadedModel loaded;
  network::Shapes shapes;
  program::Counts counts;
  program::Conventions conventions;

  [[nodiscard]] report::Inspection view() const {
    return {loaded.label, loaded.network, shapes, counts, conventions, loaded.notes};
  }
};

[[nodiscard]] Result<InspectedModel> inspect_model(const std::string& spec, const InspectOptions& options);

/// --mode infer|train
void add_mode_option(CommandLine& command, network::Mode& mode);

}  // namespace plimsoll
