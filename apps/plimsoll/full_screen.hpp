#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {

/// The whole terminal: its second screen, without a cursor, with keys as they are pressed. What was there
/// before comes back when the object goes, and also where a signal ends the program. One at a time.
class FullScreen {
 public:
  [[nodiscard]] static Result<FullScreen> open();
  FullScreen(FullScreen&& other) noexcept : open_(other.open_) { other.open_ = false; }
  FullScreen& operator=(FullScreen&&) = delete;
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  ~FullScreen();

  struct Size {
    int width = 80, height = 24;
  };
  [[nodiscard]] Size size() const;
  void show(const std::vector<std::string>& lines) const;

  enum class Event { time, key, resized, ended };
  struct Happened {
    Event event = Event::time;
    char key = 0;
  };
  /// Waits for what comes first. `ended`: a signal asked the program to end, or the terminal is gone.
  [[nodiscard]] Happened wait(std::chrono::milliseconds most) const;
  /// As Ctrl-Z does elsewhere: gives the terminal back, stops, and takes it again when continued.
  void suspend() const;

 private:
  FullScreen() = default;
  bool open_ = true;
};

}  // namespace plimsoll
