#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "job/fields.hpp"

namespace plimsoll::running {

/// The door of a supervisor: whoever started it, and whoever of its user comes later, is told what happens
/// and says what is wanted. It has a thread of its own, so that a signal arrives whatever else goes on.
/// Signals that are asked for are sent to this process itself, which takes them as it takes those of a
/// terminal or a scheduler.
class Control {
 public:
  /// Somebody who looks at a run's output.
  struct Viewer {
    int number = 0;
    std::string run;
    FileDescriptor output;
    FileDescriptor error;
  };
  struct News {
    std::vector<Viewer> came;
    std::vector<int> left;
    bool caller_left = false;            ///< the one who started it has gone; others may come
    std::vector<std::string> stop = {};  ///< runs that are to end
    std::vector<std::string> kill = {};  ///< runs that are to end at once
  };

  /// Listens at `path`; `caller`: the connection to the one who started this process, or none; taken where
  /// that succeeds.
  [[nodiscard]] static Result<std::unique_ptr<Control>> start(const std::filesystem::path& path,
                                                              FileDescriptor&& caller);
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control();  ///< after what was told has been sent, or nobody takes it for a while

  /// To everybody there. `kept`: also to those who come later.
  void tell(const job::Json& message, bool kept = false);
  /// To everybody there, and to those who come later in place of what was told under this key before.
  void tell_newest(const std::string& key, const job::Json& message);
  [[nodiscard]] int descriptor() const;  ///< readable when there are news
  [[nodiscard]] News take();

 private:
  struct State;
  explicit Control(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::running
