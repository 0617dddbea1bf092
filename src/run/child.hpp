#pragma once
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace plimsoll::running {

struct ChildOptions {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment =
      {};  ///< added to this process's, or in its place
  std::string directory = {};
  bool inherit_input = false;    ///< else its standard input is empty
  bool capture_output = true;    ///< through pipes; else both streams go to `output`
  int output = -1;               ///< a descriptor, where nothing is captured
  bool outlives_caller = false;  ///< else it gets SIGTERM when this process dies
};

/// A started program: leader of a process group of its own. Not reaped, so that its number and its group's
/// cannot become anybody else's. To be started by a thread that lives as long as the process: the kernel
/// takes the thread's end for its.
class Child {
 public:
  /// machine_lacks where the program is absent or cannot be executed.
  [[nodiscard]] static Result<Child> start(const ChildOptions& options);

  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        exit_(std::move(other.exit_)),
        output_(std::move(other.output_)),
        error_(std::move(other.error_)),
        status_(other.status_),
        ended_(other.ended_),
        reaped_(other.reaped_) {}
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  ///< ends the group, firmly, and reaps

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int exit_descriptor() const { return exit_.get(); }  ///< readable once it has ended
  [[nodiscard]] FileDescriptor& output() { return output_; }         ///< not blocking
  [[nodiscard]] FileDescriptor& error() { return error_; }
  /// Where its output goes to a file: what is read instead of a pipe.
  void read_output_from(FileDescriptor file) { output_ = std::move(file); }

  [[nodiscard]] bool has_ended();  ///< without waiting
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] int signal() const;
  void signal_group(int signal) const;
  /// Gives the number back; the group's number stays in use while members live.
  void reap();

 private:
  Child() = default;
  pid_t pid_ = 0;
  FileDescriptor exit_;
  FileDescriptor output_;
  FileDescriptor error_;
  int status_ = 0;
  bool ended_ = false;
  bool reaped_ = false;
};

}  // namespace plimsoll::running
