#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/all_errors.hpp"
#include "plan/schedule/job.hpp"
#include "workload_source.hpp"

namespace plimsoll {

/// A job as a person gives it.
struct PlanJobRequest {
  plan::schedule::Job job = {};
  std::vector<std::string> after_names = {}, apart_names = {};
  std::optional<WorkloadRequest> workload = {};  ///< of a model
  std::string kind_name = {};                    ///< by which measured groups know it
  std::string workload_key = {};                 ///< equal for those that are alike
  std::optional<double> steps = {};              ///< to do; else job.seconds
  std::optional<double> share = {};              ///< of a GPU, that a command says it keeps busy
  std::optional<Bytes> need = {};                ///< memory, as it says
  std::optional<double> startup = {};            ///< s before its first step, as it says
  std::optional<double> limit = {};              ///< s, of a service's requests
  double within = 0.99;                          ///< of the requests that must meet it
  std::vector<std::int64_t> batches = {};        ///< of requests, that a service may form; empty: as it says
  std::vector<std::string> command = {}, estimate = {};
  [[nodiscard]] bool serves() const { return limit.has_value(); }
};

/// A list of jobs in JSON, or [[job]] tables where `name`, which says where it comes from, ends in .toml. All
/// mistakes are told at once.
[[nodiscard]] AllErrors<std::vector<PlanJobRequest>> read_plan_jobs(std::string_view text,
                                                                    const std::string& name);

}  // namespace plimsoll
