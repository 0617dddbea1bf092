#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "run/client_limits.hpp"
#include "run/kept_files.hpp"
#include "run/launch.hpp"
#include "run/prediction.hpp"
#include "run/provenance.hpp"
#include "store/store.hpp"

namespace plimsoll::running {

/// The slow things that a supervisor has done beside its loop; tests put theirs in place.
struct Services {
  std::function<Result<std::unique_ptr<store::Store>>(const std::string&)> open_store =
      [](const std::string& where) { return store::open(where); };
  /// More to be opened with the store, before any command starts; says what is wrong.
  std::function<void(const std::function<void(const std::string&)>& warn)> open_also = {};
  std::function<Provenance(const JobSpec&)> git = git_facts;
  std::function<Provenance(const JobSpec&)> python = python_versions;
  std::function<std::vector<std::string>(const JobSpec&, const std::vector<std::string>&,
                                         const std::filesystem::path&)>
      keep_files = running::keep_files;
  std::function<Result<Bytes>(const JobSpec&, const std::string&)> estimate = estimated_need;
  std::function<Result<std::vector<std::map<std::string, std::string>>>(
      const std::vector<Companion>&, const std::string& program, const std::string& store,
      const std::filesystem::path& directory)>
      predict = predicted_together;
  std::function<Result<CudaFacts>(const std::string&, const Variables&)> probe = probe_cuda;
  /// A command starts without git's answer after this.
  std::chrono::milliseconds git_patience = std::chrono::seconds(1);
  /// After the commands' end, with whatever does not answer; longer than the recorder's own with a store.
  std::chrono::milliseconds patience = std::chrono::seconds(45);
};

}  // namespace plimsoll::running
