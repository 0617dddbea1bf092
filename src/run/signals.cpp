#include "run/signals.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/signalfd.h>

namespace plimsoll::running {

Result<SignalSource> SignalSource::open(bool children) {
  SignalSource out;
  sigset_t taken;
  sigemptyset(&taken);
  // What whoever started this process wants ignored (nohup, a shell's background jobs) stays ignored.
  const auto ignored = [](int signal) {
    struct sigaction now{};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT})
    if (!ignored(signal)) sigaddset(&taken, signal);
  if (children) sigaddset(&taken, SIGCHLD);
  if (::pthread_sigmask(SIG_BLOCK, &taken, &out.before_) != 0) return fail("cannot take signals");
  out.active_ = true;
  out.descriptor_ = FileDescriptor(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!out.descriptor_) return fail("cannot take signals: {}", std::generic_category().message(errno));
  // A reader of our output that leaves is an error of a write, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD,
              SIG_DFL);  // ignored, the kernel would reap the children and their ends would not be seen
  return out;
}

SignalSource::~SignalSource() {
  if (!active_) return;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<int> SignalSource::take() {
  std::vector<int> out;
  signalfd_siginfo info{};
  while (::read(descriptor_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    out.push_back(static_cast<int>(info.ssi_signo));
  return out;
}

}  // namespace plimsoll::running
