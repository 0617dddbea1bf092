#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "hardware/calibration.hpp"
#include "job/answer.hpp"

namespace plimsoll::probe {

/// What a calibration has found so far, as it stands in its journal: the engine's own lines, one after the
/// other (hello, launch, chain, point).
struct Gathered {
  std::optional<job::Hello> hello = {};               ///< the first engine's
  std::vector<double> launches = {};                  ///< s, each engine's
  std::map<std::string, job::ChainTime> chains = {};  ///< by name
  std::map<hardware::OperatorCase, hardware::OperatorPoint> points = {};
  std::map<hardware::OperatorCase, std::string> failures = {};  ///< cases without a time, and why
  [[nodiscard]] bool has(const hardware::OperatorCase& c) const {
    return points.contains(c) || failures.contains(c);
  }
  /// Takes what a calibration needs, and passes over the rest. False where the answer is a point that no
  /// calibration can hold.
  [[nodiscard]] bool take(const job::Answer& answer);
};

/// A journal's text. A last line without its end, torn by a crash, is left out; any other that is no answer
/// is an error that names it. `whole`: bytes up to the last line's end.
[[nodiscard]] Result<Gathered> read_journal(std::string_view text, std::size_t& whole);

/// The file that keeps them. A line is with the kernel when add() returns, and on the disk within some
/// seconds: a killed program loses nothing, a machine that loses power little.
class Journal {
 public:
  /// Opens, or makes, and reads it.
  [[nodiscard]] static Result<Journal> open(const std::filesystem::path& path);

  [[nodiscard]] const Gathered& gathered() const { return gathered_; }
  [[nodiscard]] Status add(const job::Answer& answer);
  [[nodiscard]] Status sync();

 private:
  Journal(std::filesystem::path path, FileDescriptor file, Gathered gathered);

  std::filesystem::path path_;
  FileDescriptor file_;
  Gathered gathered_;
  int unsynced_ = 0;
};

}  // namespace plimsoll::probe
