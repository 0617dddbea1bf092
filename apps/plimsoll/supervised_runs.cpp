#include "supervised_runs.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "run/process_identity.hpp"
#include "run/runtime_directory.hpp"
#include "run/supervisor_client.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kDigits = 8;  ///< of a run's id that people are shown

std::string listed(const std::vector<SupervisedRun>& runs) {
  std::vector<std::string> names;
  for (const SupervisedRun& run : runs) names.push_back(run.id.substr(0, kDigits));
  return fmt::format("{}", fmt::join(names, ", "));
}

Error not_found(std::string message, const std::vector<SupervisedRun>& runs) {
  return {std::move(message),
          {},
          runs.empty() ? "No run of yours goes on on this machine."
                       : fmt::format("These go on: {}.", listed(runs)),
          Error::Kind::not_found};
}

}  // namespace

Result<std::vector<SupervisedRun>> supervised_runs() {
  const auto base = running::RuntimeDirectory::base();
  if (!base) return std::unexpected(base.error());
  std::vector<SupervisedRun> out;
  for (const running::FoundSupervisor& supervisor : running::find_supervisors(*base))
    for (const std::string& run : supervisor.runs) out.push_back({run, supervisor.socket});
  for (const std::string& run : running::surviving_runs(*base)) out.push_back({run, {}});
  return out;
}

Result<SupervisedRun> supervised_run(std::string_view name) {
  const Result<std::vector<SupervisedRun>> runs = supervised_runs();
  if (!runs) return std::unexpected(runs.error());
  std::vector<SupervisedRun> found;
  for (const SupervisedRun& run : *runs)
    if (run.id.starts_with(name)) found.push_back(run);
  if (found.size() == 1) return found.front();
  if (name.empty())
    return std::unexpected(runs->empty() ? not_found("there is no run to name", *runs)
                                         : not_found("several runs go on; say which", *runs));
  if (found.empty())
    return std::unexpected(not_found(fmt::format("no run {} goes on here", quote(name)), *runs));
  return std::unexpected(not_found(fmt::format("{} begins several runs' ids", quote(name)), found));
}

}  // namespace plimsoll
