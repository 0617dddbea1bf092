#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "store/store.hpp"

namespace plimsoll::running {

/// Marks the runs in the store as lost whose supervisor is gone. A store may be shared by machines and
/// containers, some with one name: only a run of which it can be told is marked (Whereabouts). `root` and
/// `host` are this machine's.
[[nodiscard]] Status mark_lost_runs(store::Store& store, const std::function<void(const std::string&)>& say,
                                    const std::filesystem::path& root, const std::string& host);

}  // namespace plimsoll::running
