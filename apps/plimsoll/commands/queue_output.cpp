#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "base/printable.hpp"
#include "interruption.hpp"
#include "queue_client.hpp"
#include "queue_commands.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kLookForOutput{100};
constexpr std::chrono::milliseconds kAskAgain{500};
constexpr std::size_t kAtOnce = std::size_t{64} << 10;

struct OutputOptions {
  std::string job, store;
  bool follow = false;
};

/// A job as its daemon tells it: which run it is now, and whether it is over.
struct Followed {
  std::string run, outcome, state;
};

Result<Followed> look_at(std::int64_t number) {
  const auto answer = ask_queue({{"type", "list"}, {"quick", true}, {"numbers", {number}}});
  PLIMSOLL_TRY(answer);
  const job::Json& jobs = (*answer)["jobs"];
  if (jobs.empty())
    return std::unexpected(Error{fmt::format("there is no job {}", number), {}, {}, Error::Kind::not_found});
  const job::Json& job = jobs.front();
  if (!job.contains("command")) return fail("job {} is another user's", number);
  return Followed{
      .run = job.value("run", ""), .outcome = job.value("outcome", ""), .state = job.value("state", "")};
}

/// Hands on what has come to a run's output since the last time.
class OutputFile {
 public:
  OutputFile(store::Store& store, std::string run) : store_(store), run_(std::move(run)) {}
  [[nodiscard]] const std::string& run() const { return run_; }

  /// False where nobody reads standard output any more.
  [[nodiscard]] Result<bool> hand_on() {
    if (!file_) {
      const auto folder = store_.artifacts(run_);
      PLIMSOLL_TRY(folder);
      file_ = FileDescriptor(::open((*folder / "output.log").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      if (!file_) return true;  // nothing was printed yet
    }
    std::array<char, kAtOnce> bytes;  // filled by read
    while (true) {
      const ssize_t count = ::read(file_.get(), bytes.data(), bytes.size());
      if (count <= 0) return true;
      for (ssize_t done = 0; done < count;) {
        const ssize_t written =
            ::write(STDOUT_FILENO, bytes.data() + done, static_cast<std::size_t>(count - done));
        if (written < 0) return false;
        done += written;
      }
    }
  }

 private:
  store::Store& store_;
  std::string run_;
  FileDescriptor file_;
};

Result<int> output(const OutputOptions& options) {
  const auto numbers = job_numbers({options.job});
  PLIMSOLL_TRY(numbers);
  if (numbers->size() != 1) return std::unexpected(Error{"one job at a time", options.job});
  auto job = look_at(numbers->front());
  PLIMSOLL_TRY(job);
  auto store = store::open(options.store);
  PLIMSOLL_TRY(store);
  auto signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(*std::move(signals));
  std::unique_ptr<OutputFile> file;
  std::chrono::steady_clock::time_point asked = std::chrono::steady_clock::now();
  while (!interruption.came()) {
    if (!job->run.empty() && (!file || file->run() != job->run)) {
      // What the attempt before printed last, before that of the next.
      if (file)
        if (const auto rest = file->hand_on(); !rest || !*rest) return 0;
      file = std::make_unique<OutputFile>(**store, job->run);
    }
    const bool over = job->state == "ended";
    if (file) {
      const auto read = file->hand_on();
      PLIMSOLL_TRY(read);
      if (!*read) return 0;
    }
    if (over || !options.follow) {
      if (!file)
        return std::unexpected(
            Error{fmt::format("job {} has printed nothing: it has not run", numbers->front()),
                  {},
                  "--follow waits for it.",
                  Error::Kind::not_found});
      return !options.follow || job->outcome == "finished" ? 0 : 1;
    }
    std::this_thread::sleep_for(kLookForOutput);
    if (std::chrono::steady_clock::now() - asked < kAskAgain) continue;
    asked = std::chrono::steady_clock::now();
    // Its daemon may be away for a moment; the job goes on.
    if (auto now = look_at(numbers->front()))
      job = std::move(now);
    else if (now.error().kind == Error::Kind::not_found)
      return std::unexpected(std::move(now).error());
  }
  return 0;
}

}  // namespace

void add_queue_output(CommandLine& queue, Invocation& invocation) {
  auto options = std::make_shared<OutputOptions>();
  CommandLine* command = queue.add_subcommand("output", "What a job has printed");
  command->add_option("job", options->job, "Number of the job")->required()->option_text("JOB");
  command->add_flag(
      "-f,--follow", options->follow,
      "Wait for more until the job has ended, also over its moves; the exit code is 1 where it failed");
  command
      ->add_option(
          "--store", options->store,
          "The store that its run is in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("STORE");
  command->footer(
      "Examples:\n"
      "  plimsoll queue output 12\n"
      "  plimsoll queue output 12 --follow   as it comes; Ctrl-C leaves the job alone");
  command->callback([options, &invocation] { invocation.run = [options] { return output(*options); }; });
}

}  // namespace plimsoll
