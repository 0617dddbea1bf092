#pragma once
#include <csignal>
#include <utility>

#include "run/signals.hpp"

namespace plimsoll {

/// Takes Ctrl-C and its like while a program of ours works, which has a process group of its own.
class Interruption {
 public:
  explicit Interruption(running::SignalSource source) : source_(std::move(source)) {}
  [[nodiscard]] bool came() {
    for (const int signal : source_.take()) {
      if (signal == SIGTSTP) ::raise(SIGSTOP);  // Ctrl-Z; the program goes on
      if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) signal_ = signal;
    }
    return signal_ != 0;
  }
  [[nodiscard]] int signal() const { return signal_; }

 private:
  running::SignalSource source_;
  int signal_ = 0;
};

}  // namespace plimsoll
