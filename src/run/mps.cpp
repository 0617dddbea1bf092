#include "run/mps.hpp"

#include <charconv>
#include <chrono>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files.hpp"
#include "base/process.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr auto kAnswerTime = 10s;

}  // namespace

Result<Child> MpsPlace::start(const std::vector<ChosenDevice>& devices, bool outlives_caller) const {
  std::error_code failed;
  fs::create_directories(pipes, failed);
  if (!failed) fs::create_directories(logs, failed);
  if (failed) return std::unexpected(Error{failed.message(), pipes.string(), {}, Error::Kind::machine_lacks});
  const FileDescriptor output(
      ::open((logs / "console.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  ChildOptions options{.command = {kControl, "-f"},
                       .capture_output = false,
                       .output = output.get(),
                       .outlives_caller = outlives_caller};
  options.environment = variables();
  if (!devices.empty()) options.environment.emplace_back("CUDA_VISIBLE_DEVICES", device_list(devices));
  Result<Child> child = Child::start(options);
  if (child) return child;
  Error error = std::move(child).error();
  error.hint =
      "NVIDIA's driver brings nvidia-cuda-mps-control; in a container it must be passed in. Mode naive needs "
      "nothing.";
  return std::unexpected(std::move(error).within("MPS"));
}

Result<std::unique_ptr<MpsDaemon>> MpsDaemon::start(const RuntimeDirectory& directory,
                                                    const std::vector<ChosenDevice>& devices,
                                                    bool outlives_caller) {
  static int number = 0;  // of this process's daemons: each has a directory of its own
  const fs::path home = directory.path() / "mps" / fmt::format("{}", ++number);
  MpsPlace place{home / "pipe", home / "log"};
  Result<Child> child = place.start(devices, outlives_caller);
  PLIMSOLL_TRY(child);
  std::unique_ptr<MpsDaemon> daemon(new MpsDaemon(*std::move(child), std::move(place)));
  if (const auto identity = ProcessIdentity::of(daemon->pid()))
    PLIMSOLL_TRY(directory.note_daemon(*identity));
  return daemon;
}

Status MpsDaemon::wait_for_answer() const {
  // It is there when it answers; that takes some tenths of a second, or many seconds on a busy machine.
  Error last{"does not answer"};
  const auto has_gone = [&] {  // without what the loop notes of its child
    siginfo_t info{};
    const int code = ::waitid(P_PID, static_cast<id_t>(pid()), &info, WEXITED | WNOHANG | WNOWAIT);
    return code != 0 || info.si_pid == pid();
  };
  for (int attempt = 0; attempt < 600 && !has_gone(); ++attempt) {
    Result<std::string> answer = ask("get_default_active_thread_percentage");
    if (answer) return {};
    last = std::move(answer).error();
    std::this_thread::sleep_for(100ms);
  }
  const std::string log = log_tail();
  if (!log.empty()) last.message += "; it says: " + log;
  last.kind = Error::Kind::machine_lacks;
  return std::unexpected(std::move(last).within("the MPS daemon"));
}

Variables MpsPlace::variables() const {
  return {{"CUDA_MPS_PIPE_DIRECTORY", pipes.string()}, {"CUDA_MPS_LOG_DIRECTORY", logs.string()}};
}

Variables MpsPlace::client_variables(std::optional<double> percentage, std::optional<Bytes> memory) const {
  Variables out = variables();
  if (percentage) out.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", *percentage));
  if (memory)
    // The limit is per device, by its number as the client sees it; whole mebibytes are what it takes.
    out.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                     fmt::format("0={}M", std::max<std::int64_t>(1, memory->count() / kMiB.count())));
  return out;
}

Result<std::string> MpsPlace::ask(const std::string& command) const {
  ProcessOptions options;
  options.argv = {kControl};
  options.environment = variables();
  options.input = command + "\n";
  options.timeout = kAnswerTime;
  options.output_limit = std::size_t{1} << 20;
  Result<ProcessOutput> answer = plimsoll::run(options);
  if (!answer) return std::unexpected(std::move(answer).error());
  if (!answer->succeeded()) return fail("{} {}: {}", kControl, answer->outcome(), answer->error);
  std::string text = std::move(answer->output);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<pid_t> MpsPlace::servers() const {
  std::vector<pid_t> out;
  const std::string text = ask("get_server_list").value_or("");
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    pid_t pid = 0;
    const auto [next, error] = std::from_chars(at, end, pid);
    if (error == std::errc() && pid > 0) out.push_back(pid);
    if (next > at) at = next;
  }
  return out;
}

std::string MpsPlace::log_tail() const {
  std::string out;
  for (const char* name : {"console.log", "control.log"}) {
    std::string text = read_file(logs / name, std::size_t{16} << 20).value_or("");
    if (text.size() > 300) text.erase(0, text.size() - 300);
    out += text;
  }
  return out;
}

std::vector<ProcessIdentity> MpsPlace::processes() const {
  return processes_with(fmt::format("CUDA_MPS_PIPE_DIRECTORY={}", pipes.string()));
}

MpsDaemon::~MpsDaemon() {
  // The server is a process of its own: where the daemon was killed, it is still there.
  if (!child_.has_ended()) {
    static_cast<void>(ask("quit"));
    for (int i = 0; i < 100 && !child_.has_ended(); ++i) std::this_thread::sleep_for(20ms);
  }
  child_.signal_group(SIGKILL);
  for (const ProcessIdentity& left : place_.processes()) ::kill(left.pid, SIGKILL);
}

}  // namespace plimsoll::running
