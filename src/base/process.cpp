#include "base/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file_descriptor.hpp"
#include "base/own_children.hpp"
#include "base/spawning.hpp"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{20};  // how late an exit may be seen while a grandchild holds the pipes open
constexpr std::size_t kPipeChunk = std::size_t{64} << 10;
constexpr std::size_t kFullestPipe = std::size_t{1}
                                     << 20;                // /proc/sys/fs/pipe-max-size, and the usual 64 KiB
constexpr std::size_t kMostInput = std::size_t{64} << 10;  // what a fresh pipe holds

std::unexpected<Error> cannot(std::string_view what, int code, Error::Kind kind = Error::Kind::internal) {
  return std::unexpected(
      Error{.message = fmt::format("{}: {}", what, std::generic_category().message(code)), .kind = kind});
}

/// A pipe that holds `text` and then ends; none where there is no text. What fits into a fresh pipe needs
/// nobody to write it while the program runs.
Result<FileDescriptor> input_pipe(std::string_view text) {
  if (text.empty()) return FileDescriptor();
  if (text.size() > kMostInput) return fail("more than {} bytes of input", kMostInput);
  auto pipe = make_pipe(true);
  if (!pipe) return std::unexpected(std::move(pipe).error());
  while (!text.empty()) {
    const ssize_t written = ::write(pipe->write_end.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return cannot("cannot write a program's input", errno);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return std::move(pipe->read_end);
}

/// What arrives on one pipe: kept up to a limit, and handed on line by line.
class Capture {
 public:
  enum class Keep : bool { beginning, end };

  Capture(FileDescriptor source, std::size_t limit, Keep keep,
          const std::function<void(std::string_view)>& on_line, std::size_t longest_line)
      : source_(std::move(source)),
        limit_(limit),
        keep_(keep),
        on_line_(on_line),
        longest_line_(longest_line) {}

  [[nodiscard]] bool open() const { return static_cast<bool>(source_); }
  [[nodiscard]] int descriptor() const { return source_.get(); }  ///< -1, which poll ignores, once closed
  [[nodiscard]] bool truncated() const { return truncated_; }

  /// Takes what is there now; closes at the end of the stream. No more than a pipe can hold, so that a writer
  /// who never pauses does not keep the caller from looking at the clock.
  void drain() {
    std::array<char, kPipeChunk> chunk;  // filled by read
    for (std::size_t taken = 0; open() && taken < kFullestPipe;) {
      const ssize_t count = ::read(source_.get(), chunk.data(), chunk.size());
      if (count > 0) {
        take({chunk.data(), static_cast<std::size_t>(count)});
        taken += static_cast<std::size_t>(count);
      } else if (count == 0) {
        source_.reset();
      } else if (errno != EINTR) {
        if (errno != EAGAIN) source_.reset();
        return;
      }
    }
  }

  [[nodiscard]] std::string finish() {
    if (on_line_ && !line_.empty()) on_line_(line_);
    trim();
    return std::move(kept_);
  }

 private:
  void take(std::string_view text) {
    keep(text);
    if (on_line_) split(text);
  }

  void keep(std::string_view text) {
    if (keep_ == Keep::beginning) {
      const std::size_t room = limit_ - std::min(limit_, kept_.size());
      truncated_ = truncated_ || text.size() > room;
      kept_.append(text.substr(0, room));
      return;
    }
    kept_.append(text);
    if (kept_.size() / 2 > limit_) trim();  // seldom, so that a flood costs linear time
  }

  void trim() {
    if (kept_.size() <= limit_) return;
    kept_.erase(0, kept_.size() - limit_);
    truncated_ = true;
  }

  void split(std::string_view text) {
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      line_.append(text.substr(0, end));
      on_line_(line_);
      line_.clear();
      text.remove_prefix(end + 1);
    }
    line_.append(text);
    if (line_.size() >= longest_line_) {
      on_line_(line_);
      line_.clear();
    }
  }

  FileDescriptor source_;
  std::size_t limit_;
  Keep keep_;
  const std::function<void(std::string_view)>& on_line_;
  std::size_t longest_line_;
  std::string kept_;
  std::string line_;
  bool truncated_ = false;
};

/// posix_spawn's two descriptions of the child, freed together. Its calls return an error number; the first
/// that is not 0 is kept.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// `input` -1: nothing to read.
  void set_descriptors(int input, int output, int error) {
    if (input < 0)
      check(posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    else
      check(posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO));
    check(posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO));
    check(posix_spawn_file_actions_adddup2(&actions_, error, STDERR_FILENO));
    check(posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1));
  }
  void set_directory(const std::filesystem::path& directory) {
    if (!directory.empty()) check(posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str()));
  }
  /// Its own group, and signals as a program expects to find them whatever this process did to its own.
  void set_group_and_signals() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    check(posix_spawnattr_setpgroup(&attributes_, 0));
    check(posix_spawnattr_setsigmask(&attributes_, &none));
    check(posix_spawnattr_setsigdefault(&attributes_, &all));
    check(posix_spawnattr_setflags(&attributes_,
                                   POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }

  [[nodiscard]] int spawn(pid_t& child, const char* program, std::vector<char*>& argv,
                          std::vector<char*>& environment) {
    child = start_own_child([&] {
      pid_t pid = -1;
      if (failure_ == 0)
        failure_ = ::posix_spawn(&pid, program, &actions_, &attributes_, argv.data(), environment.data());
      return failure_ == 0 ? pid : -1;
    });
    return failure_;
  }

 private:
  void check(int code) {
    if (failure_ == 0) failure_ = code;
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  int failure_ = 0;
};

/// A child that was started and not yet reaped, so that its number and its group's cannot be anybody else's.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Reached unreaped only when a caller's callback throws.
  ~Child() {
    if (reaped_) return;
    signal_group(SIGKILL);
    reap();
  }

  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    const int code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    // No child to ask about: this process ignores SIGCHLD, and the kernel has reaped it.
    return code == 0 ? info.si_pid == pid_ : errno == ECHILD;
  }
  void signal_group(int signal) const { ::kill(-pid_, signal); }
  /// Its wait status; waits for the end.
  int reap() {
    reaped_ = true;
    return wait_for_own_child(pid_);
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

/// Reads both streams until the child has ended, `deadline` has passed or `should_end` says so; true where it
/// has ended.
bool watch(const Child& child, Capture& output, Capture& error, Clock::time_point deadline,
           const std::function<bool()>& should_end = {}) {
  milliseconds pause{1};  // after both streams ended the child usually follows within the millisecond
  while (true) {
    const auto now = Clock::now();
    if (now >= deadline) return child.has_ended();
    auto wait = output.open() || error.open() ? kTick : std::exchange(pause, std::min(pause * 2, kTick));
    wait = std::min(wait, std::chrono::ceil<milliseconds>(deadline - now));

    // Asked before the streams are read: what the child wrote before it ended is then in the pipes.
    const bool ended = child.has_ended();
    if (!ended) {
      std::array<pollfd, 2> sources{{{output.descriptor(), POLLIN, 0}, {error.descriptor(), POLLIN, 0}}};
      ::poll(sources.data(), sources.size(), static_cast<int>(wait.count()));
    }
    output.drain();
    error.drain();
    if (ended) return true;
    if (should_end && should_end()) return child.has_ended();
  }
}

bool may_execute(const std::filesystem::path& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string_view> search_path_of(const ProcessOptions& options) {
  for (const auto& [name, value] : options.environment)
    if (name == "PATH") return value;
  return {};
}

}  // namespace

std::string ProcessOutput::outcome() const {
  if (timed_out) return "ran longer than allowed and was ended";
  if (ended_early) return "was ended early";
  if (signal != 0) return fmt::format("was ended by signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("exited with code {}", exit_code);
}

Result<std::filesystem::path> find_program(std::string_view name,
                                           std::optional<std::string_view> search_path) {
  const auto lacking = [](std::string message, std::string hint) {
    return std::unexpected(
        Error{.message = std::move(message), .hint = std::move(hint), .kind = Error::Kind::machine_lacks});
  };
  if (name.empty()) return fail("no program is named");
  if (name.contains('/')) {
    std::filesystem::path path = std::filesystem::absolute(name);
    if (may_execute(path)) return path;
    return lacking(fmt::format("there is no program {}", name), "");
  }
  const char* const inherited = std::getenv("PATH");
  std::string_view rest = search_path.value_or(inherited != nullptr ? inherited : "/usr/bin:/bin");
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const std::string_view directory = rest.substr(0, colon);
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    // An empty entry means the working directory to a shell; here it means nothing, on purpose.
    if (directory.empty()) continue;
    auto path = std::filesystem::absolute(std::filesystem::path(directory) / name);
    if (may_execute(path)) return path;
  }
  return lacking(fmt::format("the program {} is not in PATH", name),
                 fmt::format("install {} or add its directory to PATH", name));
}

Result<ProcessOutput> run(const ProcessOptions& options) {
  if (options.argv.empty()) return fail("no program is named");
  auto program = find_program(options.argv.front(), search_path_of(options));
  if (!program) return std::unexpected(std::move(program).error());

  auto output_pipe = make_pipe();
  if (!output_pipe) return std::unexpected(std::move(output_pipe).error());
  auto error_pipe = make_pipe();
  if (!error_pipe) return std::unexpected(std::move(error_pipe).error());

  auto input = input_pipe(options.input);
  if (!input) return std::unexpected(std::move(input).error());

  SpawnPlan plan;
  plan.set_descriptors(input->get(), output_pipe->write_end.get(), error_pipe->write_end.get());
  plan.set_directory(options.directory);
  plan.set_group_and_signals();
  auto argv = options.argv;
  auto environment = environment_with(options.environment);
  auto argv_pointers = exec_pointers(argv);
  auto environment_pointers = exec_pointers(environment);

  const auto started = Clock::now();
  pid_t pid = 0;
  if (const int code = plan.spawn(pid, program->c_str(), argv_pointers, environment_pointers); code != 0) {
    auto failure =
        cannot(fmt::format("cannot start {}", program->string()), code, Error::Kind::machine_lacks);
    if (!options.directory.empty()) failure.error().where = fmt::format("in {}", options.directory.string());
    return failure;
  }
  Child child(pid);
  output_pipe->write_end.reset();
  error_pipe->write_end.reset();
  Capture output(std::move(output_pipe->read_end), options.output_limit, Capture::Keep::beginning,
                 options.on_output_line, options.longest_line);
  Capture error(std::move(error_pipe->read_end), options.error_limit, Capture::Keep::end,
                options.on_error_line, options.longest_line);

  ProcessOutput result;
  const auto deadline = options.timeout ? started + *options.timeout : Clock::time_point::max();
  if (!watch(child, output, error, deadline, options.should_end)) {
    result.timed_out = Clock::now() >= deadline;
    result.ended_early = !result.timed_out;
    child.signal_group(SIGTERM);
    watch(child, output, error, Clock::now() + options.grace);
    child.signal_group(SIGKILL);  // also for children that outlive a leader which obeyed
  }
  const int status = child.reap();
  result.elapsed = Clock::now() - started;
  output.drain();
  error.drain();
  result.output = output.finish();
  result.error = error.finish();
  result.output_truncated = output.truncated();
  result.error_truncated = error.truncated();
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return result;
}

}  // namespace plimsoll
