#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "run/errands.hpp"
#include "run/output_stream.hpp"

namespace plimsoll::running {

/// A run's log, written beside the loop: a disk that does not answer holds nobody up. What waits for it is
/// bounded, twice over while some of it is being written; beyond that the oldest is left out, and counted.
class LogWriter {
 public:
  /// `errands` outlives it.
  LogWriter(Errands& errands, const std::filesystem::path& path, std::uint64_t limit,
            std::size_t most_waiting = std::size_t{8} << 20);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  void add(std::string_view text);
  void finish();  ///< nothing may be added after it
  [[nodiscard]] bool is_finished() const { return shared_->finished; }
  [[nodiscard]] bool failed() const { return shared_->failed; }  ///< not all of it is there

 private:
  /// What the errands' consequences touch, in the loop; they may come after the writer's end.
  struct Shared {
    std::shared_ptr<LogFile> file;  // in the lane alone, after the first errand
    std::string waiting = {};
    std::uint64_t left_out = 0;
    bool under_way = false;
    bool finishing = false;
    bool finished = false;
    bool failed = false;
  };
  static void proceed(Errands& errands, const std::shared_ptr<Shared>& shared);
  Errands& errands_;
  std::size_t most_waiting_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace plimsoll::running
