#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "store/transfer.hpp"

namespace plimsoll::store {

/// Brings the experiments and runs of an MLflow store into one of Plimsoll's, under the same ids: of a file
/// store (the folder mlruns, or the one that it is in) or of a SQLite database. Artifacts are copied where
/// they lie beside it; what lies elsewhere is left there. Nothing of it is changed, and nothing in it is
/// trusted: symbolic links, names that lead elsewhere and files that are not as MLflow writes them are
/// refused or left out. May be repeated.
[[nodiscard]] Result<Transferred> import_mlflow(const std::filesystem::path& path, Store& to,
                                                const Progress& progress = {});

/// What a store of MLflow says is a time in milliseconds; nothing where no clock can have shown it.
[[nodiscard]] constexpr std::optional<Time> time_of_mlflow(std::int64_t milliseconds) {
  constexpr std::int64_t kLatest = std::int64_t{1} << 52;
  if (milliseconds < -kLatest || milliseconds > kLatest) return {};
  return milliseconds * 1000;
}

/// The two kinds, by what is found at the path.
[[nodiscard]] Result<Transferred> import_mlflow_files(const std::filesystem::path& root, Store& to,
                                                      const Progress& progress);
[[nodiscard]] Result<Transferred> import_mlflow_database(const std::filesystem::path& file, Store& to,
                                                         const Progress& progress);

}  // namespace plimsoll::store
