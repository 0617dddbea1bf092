#include "run/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/own_children.hpp"
#include "base/process.hpp"
#include "base/spawning.hpp"

namespace plimsoll::running {
namespace {

std::unexpected<Error> cannot(std::string_view what, int code) {
  return std::unexpected(Error{.message = fmt::format("{}: {}", what, std::generic_category().message(code)),
                               .kind = Error::Kind::machine_lacks});
}

/// All that the new process does before it becomes the program. Other threads may have held locks when it was
/// forked off, so only calls that are safe in a signal handler.
struct Beginning {
  const char* program;
  char** argv;
  char** environment;
  const char* directory;
  int output;
  int error;
  int failure;  // a pipe through which errno goes back
  bool inherit_input;
  bool outlives_caller;
  pid_t parent;

  [[noreturn]] void run() const {
    if (::setpgid(0, 0) != 0) give_up();
    // The caller's death must not leave it behind unwatched. The parent may have died before the call.
    if (!outlives_caller && (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || ::getppid() != parent)) give_up();
    sigset_t none;
    sigemptyset(&none);
    ::signal(SIGPIPE, SIG_DFL);  // the only one that this process changed for itself
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (!inherit_input) {
      const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (null < 0 || ::dup2(null, STDIN_FILENO) < 0) give_up();
    }
    if (::dup2(output, STDOUT_FILENO) < 0 || ::dup2(error, STDERR_FILENO) < 0) give_up();
    if (*directory != '\0' && ::chdir(directory) != 0) give_up();
    ::execve(program, argv, environment);
    give_up();
  }
  [[noreturn]] void give_up() const {
    const int code = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure, &code, sizeof code);
    ::_exit(127);
  }
};

std::optional<std::string_view> search_path_of(const ChildOptions& options) {
  for (const auto& [name, value] : options.environment)
    if (name == "PATH") return value;
  return {};
}

}  // namespace

Result<Child> Child::start(const ChildOptions& options) {
  if (options.command.empty()) return fail("no program is named");
  // A relative path is meant from where the program will run.
  std::string name = options.command.front();
  if (name.contains('/') && !name.starts_with('/') && !options.directory.empty())
    name = options.directory + "/" + name;
  auto program = find_program(name, search_path_of(options));
  if (!program) return std::unexpected(std::move(program).error());
  auto failure = make_pipe(true);
  if (!failure) return std::unexpected(std::move(failure).error());
  auto output = make_pipe();
  if (!output) return std::unexpected(std::move(output).error());
  auto error = make_pipe();
  if (!error) return std::unexpected(std::move(error).error());

  std::vector<std::string> argv = options.command;
  std::vector<std::string> environment = environment_with(options.environment);
  std::vector<char*> argv_pointers = exec_pointers(argv);
  std::vector<char*> environment_pointers = exec_pointers(environment);
  const std::string path = program->string();
  const Beginning beginning{.program = path.c_str(),
                            .argv = argv_pointers.data(),
                            .environment = environment_pointers.data(),
                            .directory = options.directory.c_str(),
                            .output = options.capture_output ? output->write_end.get() : options.output,
                            .error = options.capture_output ? error->write_end.get() : options.output,
                            .failure = failure->write_end.get(),
                            .inherit_input = options.inherit_input,
                            .outlives_caller = options.outlives_caller,
                            .parent = ::getpid()};
  const pid_t pid = start_own_child([&] {
    const pid_t started = ::fork();
    if (started == 0) beginning.run();
    return started;
  });
  if (pid < 0) return cannot("cannot start a process", errno);

  Child child;
  child.pid_ = pid;
  ::setpgid(pid, pid);  // whoever comes first: a signal to the group must find it
  failure->write_end.reset();
  int code = 0;
  ssize_t got = 0;
  while ((got = ::read(failure->read_end.get(), &code, sizeof code)) < 0 && errno == EINTR) {
  }
  if (got == sizeof code) {
    auto refusal = cannot(fmt::format("cannot start {}", path), code);
    if (!options.directory.empty()) refusal.error().where = fmt::format("in {}", options.directory);
    return refusal;
  }
  child.exit_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!child.exit_) return cannot("cannot watch the process", errno);
  if (options.capture_output) {
    child.output_ = std::move(output->read_end);
    child.error_ = std::move(error->read_end);
  }
  return child;
}

Child::~Child() {
  if (pid_ == 0 || reaped_) return;
  signal_group(SIGKILL);
  reap();
}

bool Child::has_ended() {
  if (ended_ || reaped_) return true;
  siginfo_t info{};
  const int code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  ended_ = code == 0 ? info.si_pid == pid_ : errno == ECHILD;
  if (ended_ && code == 0) {
    const bool exited = info.si_code == CLD_EXITED;
    status_ = exited ? info.si_status : -info.si_status;
  }
  return ended_;
}

int Child::exit_code() const {
  return std::max(status_, 0);
}
int Child::signal() const {
  return std::max(-status_, 0);
}

void Child::signal_group(int signal) const {
  if (!reaped_) ::kill(-pid_, signal);
}

void Child::reap() {
  if (reaped_) return;
  const int status = wait_for_own_child(pid_);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  reaped_ = ended_ = true;
}

}  // namespace plimsoll::running
