#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace plimsoll {

// What every way of starting a program needs.

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};
/// Both ends above the standard descriptors, so that placing one in the child cannot overwrite another even
/// where this process runs with some of its own standard descriptors closed; closed on exec.
[[nodiscard]] Result<Pipe> make_pipe(bool blocking_reads = false);

/// This process's environment with `added` in addition, or in its place; of a name given twice the last
/// counts.
[[nodiscard]] std::vector<std::string> environment_with(
    std::span<const std::pair<std::string, std::string>> added);

/// The form that exec wants; valid as long as the texts are.
[[nodiscard]] std::vector<char*> exec_pointers(std::vector<std::string>& texts);

}  // namespace plimsoll
