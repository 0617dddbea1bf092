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

/// Host, user, kernel, git revision and diff of the directory, chosen variables of the environment. Asks
/// `git`, with a time limit; what does not answer is absent.
[[nodiscard]] Provenance provenance_of(const Job& job, const std::vector<std::string>& variables);

/// `pip freeze` of the Python that the command starts, and its version; nothing where it starts none. Slow (a
/// second or more), so it is asked while the command runs.
[[nodiscard]] Provenance python_versions(const Job& job);

/// Whether a variable or option of this name holds what nobody should read: keys, tokens, passwords.
[[nodiscard]] bool is_secret_name(std::string_view name);
/// The value as it may be kept: "***" where the name says that it is secret, user:password@ taken out of
/// addresses.
[[nodiscard]] std::string masked(std::string_view name, std::string_view value);
/// A command line with secret options masked: `--api-key X`, `--token=X`, PASSWORD=X.
[[nodiscard]] std::vector<std::string> masked_command(const std::vector<std::string>& command);

[[nodiscard]] std::string this_host();

/// Same command, same directory: the same work. 16 hexadecimal digits.
[[nodiscard]] std::string fingerprint(const Job& job);

}  // namespace plimsoll::running
