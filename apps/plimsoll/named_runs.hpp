#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/store.hpp"

namespace plimsoll {

/// The run that a person named on a command line: by its id, by the beginning of it, or as `last`, the one
/// that was started last among those of the view.
[[nodiscard]] Result<store::Run> named_run(store::Store& store, std::string_view name,
                                           store::View view = store::View::active);
/// All of them in that order, or the first error: nothing is done before all are known.
[[nodiscard]] Result<std::vector<store::Run>> named_runs(store::Store& store,
                                                         const std::vector<std::string>& names,
                                                         store::View view = store::View::active);

}  // namespace plimsoll
