#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
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

  void add_to(CLI::App& command);
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

/// One of `words`, each of which stands for a value; anything else is refused with the list of them. (What
/// CLI::CheckedTransformer prints are the values too: bytes, for an enumeration of bytes.)
template <class T>
void takes_one_of(CLI::Option* option, const std::map<std::string, T>& words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  option->transform(CLI::Transformer(words))->transform(CLI::IsMember(names));  // the last one first
}

/// --mode infer|train
void add_mode_option(CLI::App& command, network::Mode& mode);

}  // namespace plimsoll
