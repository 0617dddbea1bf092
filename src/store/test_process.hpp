#pragma once
#include <csignal>
#include <functional>

#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"

namespace plimsoll::store::test {

/// A process of this test's own that runs `work`; its result is the exit code. Killed and waited for at the
/// end.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : process_(::fork()) {
    if (process_ == 0) ::_exit(work());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  int wait() {
    int status = 0;
    if (process_ > 0) ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }

 private:
  pid_t process_;
};

struct Pipe {
  FileDescriptor read, write;
  Pipe() {
    int ends[2];
    if (::pipe(ends) == 0) {
      read = FileDescriptor(ends[0]);
      write = FileDescriptor(ends[1]);
    }
  }
};

}  // namespace plimsoll::store::test
