#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "report/table.hpp"
#include "store/store.hpp"

namespace plimsoll {

/// What `plimsoll runs` and its verbs were asked.
struct RunsOptions {
  std::string store;
  std::vector<std::string> runs;  ///< as the person named them
  store::Search search{.limit = 50};
  std::vector<std::string> columns;
  std::vector<std::string> metrics;
  std::string format = "csv";
  std::string output;
  bool json = false, csv = false, all = false, yes = false, deleted = false;
};

/// The verbs of `plimsoll runs`: each prints its answer on standard output and gives the exit code.
[[nodiscard]] Result<int> list_runs(const RunsOptions& options, const report::TextStyle& style);
[[nodiscard]] Result<int> show_run(const RunsOptions& options, const report::TextStyle& style);
[[nodiscard]] Result<int> compare_runs(const RunsOptions& options, const report::TextStyle& style);
[[nodiscard]] Result<int> export_points(const RunsOptions& options, const report::TextStyle& style);
[[nodiscard]] Result<int> delete_runs(const RunsOptions& options, const report::TextStyle& style);
[[nodiscard]] Result<int> restore_runs(const RunsOptions& options, const report::TextStyle& style);
[[nodiscard]] Result<int> purge_runs(const RunsOptions& options, const report::TextStyle& style);

}  // namespace plimsoll
