#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "store/store.hpp"

namespace plimsoll::running {

/// In a record's tags: what was asked for where the supervisor is killed, and what then became of it.
inline constexpr std::string_view kIfKilledTag = "plimsoll.if_killed";
inline constexpr std::string_view kUnwatched = "unwatched";

/// Ends what a killed Plimsoll left behind, and marks its runs in the store as lost, or as unwatched where
/// they go on.
[[nodiscard]] Status recover(store::Store& store, const std::function<void(const std::string&)>& say);

/// Marks the runs in the store as lost whose supervisor is gone. A store may be shared by machines and
/// containers, some with one name: only a run of which it can be told is marked (Whereabouts). `root` and
/// `host` are this machine's.
[[nodiscard]] Status mark_lost_runs(store::Store& store, const std::function<void(const std::string&)>& say,
                                    const std::filesystem::path& root, const std::string& host);

}  // namespace plimsoll::running
