#pragma once
#include <csignal>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace plimsoll::running {

/// The signals that a person or a scheduler sends, taken as events while the object lives. Made before any
/// other thread, so that all of them leave the signals to it.
class SignalSource {
 public:
  /// `children`: SIGCHLD, too, for one who reaps what others left behind.
  [[nodiscard]] static Result<SignalSource> open(bool children = false);
  SignalSource(SignalSource&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        before_(other.before_),
        active_(std::exchange(other.active_, false)) {}
  SignalSource& operator=(SignalSource&&) = delete;
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;
  ~SignalSource();

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] std::vector<int> take();  ///< those that came since

 private:
  SignalSource() = default;
  FileDescriptor descriptor_;
  sigset_t before_{};
  bool active_ = false;
};

}  // namespace plimsoll::running
