#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "store/run.hpp"

namespace plimsoll::report {

/// The words of the command as its tag holds them; none where it holds something else.
[[nodiscard]] std::vector<std::string> command_words(const store::Run& run);
/// Words as a person would type them.
[[nodiscard]] std::string command_line(const std::vector<std::string>& words);

/// What was run, without what ran it: "train.py --lr 0.1" of `/usr/bin/python3 -u src/train.py --lr 0.1`, of
/// `torchrun --nproc-per-node 2 train.py --lr 0.1` and the like; any other program by its own name.
[[nodiscard]] std::string script_line(const std::vector<std::string>& words);

/// What to call a run: the name that somebody gave it; else, since a run that nobody named is called after
/// its program, its script; else the first digits of its id. Printable.
[[nodiscard]] std::string run_title(const store::Run& run);
/// The first 8 digits of its id. Printable.
[[nodiscard]] std::string short_id(const store::Run& run);

}  // namespace plimsoll::report
