#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/job.hpp"

namespace plimsoll::running {

/// What a run's record says about where it came from. Files are kept as artifacts under their names.
struct Provenance {
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> files;
};

/// Host, user, kernel, the command, chosen variables of the environment, without secrets. At once.
[[nodiscard]] Provenance provenance_of(const JobSpec& job, const std::vector<std::string>& variables);

/// Revision, branch and diff of the directory. Asks `git`, with a time limit; what does not answer is absent.
[[nodiscard]] Provenance git_facts(const JobSpec& job);

/// `pip freeze` of the Python that the command starts, and its version; nothing where it starts none. Slow (a
/// second or more), so it is asked while the command runs.
[[nodiscard]] Provenance python_versions(const JobSpec& job);

[[nodiscard]] std::string this_host();

/// Same command, same directory: the same work. 16 hexadecimal digits.
[[nodiscard]] std::string fingerprint(const JobSpec& job);

}  // namespace plimsoll::running
