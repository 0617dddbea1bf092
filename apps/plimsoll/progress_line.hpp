#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "job/answer.hpp"

namespace plimsoll {

/// One line on standard error that says what is being measured, how far it is and how long it may take; on a
/// terminal alone. Taken away when the object goes.
class ProgressLine {
 public:
  /// `seconds_each`: what a row may take, until one has shown what it does take.
  ProgressLine(std::int64_t rows, double seconds_each);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void begin_row(const std::string& what);  ///< "resnet50 on cuda:0, batch 2"
  void show(const job::Progress& progress);
  void end_row();

  /// The line without the terminal's commands.
  [[nodiscard]] static std::string line(std::string_view what, std::int64_t row, std::int64_t rows,
                                        const job::Progress& progress, std::optional<double> seconds_left);

 private:
  using Clock = std::chrono::steady_clock;
  void put(std::string text);
  [[nodiscard]] double seconds_left(const job::Progress& progress) const;

  bool shown_;
  int width_;
  std::int64_t rows_, row_ = 0;
  double seconds_each_;
  double finished_seconds_ = 0;
  std::string what_;
  Clock::time_point row_begun_ = Clock::now();
  std::optional<Clock::time_point> drawn_;
};

}  // namespace plimsoll
