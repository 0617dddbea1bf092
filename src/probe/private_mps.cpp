#include "probe/private_mps.hpp"

#include <chrono>
#include <system_error>
#include <thread>

#include "base/printable.hpp"
#include "base/process.hpp"

namespace plimsoll::probe {
namespace {

using namespace std::chrono_literals;

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr const char* kQuestion = "get_default_active_thread_percentage";
constexpr auto kAnswerTime = 20s;
constexpr auto kPause = 100ms;
constexpr int kAttempts = 100;  // with a pause after each

}  // namespace

Result<std::unique_ptr<PrivateMps>> PrivateMps::start(const std::string& uuid) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-mps");
  PLIMSOLL_TRY(folder);
  for (const char* part : {"pipe", "log"}) {
    std::error_code failed;
    std::filesystem::create_directory(folder->path() / part, failed);
    if (failed) return std::unexpected(Error{failed.message(), (folder->path() / part).string()});
  }
  ProcessOptions options;
  options.argv = {kControl, "-d"};
  // From here on it is told to quit, whatever happens: it may be there even where its start seems to fail.
  std::unique_ptr<PrivateMps> mps(new PrivateMps(*std::move(folder), uuid));
  options.environment = mps->client_environment();
  options.timeout = kAnswerTime;
  const Result<ProcessOutput> started = plimsoll::run(options);
  PLIMSOLL_TRY(started);
  if (!started->succeeded())
    return std::unexpected(
        Error{fmt::format("{}: {}", started->outcome(), printable(started->error + started->output, 300)),
              kControl,
              {},
              Error::Kind::machine_lacks});
  Status answer;
  for (int i = 0; i < kAttempts; ++i) {
    answer = mps->tell(kQuestion);
    if (answer) return mps;
    std::this_thread::sleep_for(kPause);
  }
  return std::unexpected(std::move(answer).error());
}

Environment PrivateMps::client_environment() const {
  return {{"CUDA_MPS_PIPE_DIRECTORY", (folder_.path() / "pipe").string()},
          {"CUDA_MPS_LOG_DIRECTORY", (folder_.path() / "log").string()},
          {"CUDA_VISIBLE_DEVICES", uuid_}};
}

Status PrivateMps::tell(const std::string& command) const {
  ProcessOptions options;
  options.argv = {kControl};
  options.environment = client_environment();
  options.input = command + "\n";
  options.timeout = kAnswerTime;
  options.output_limit = std::size_t{1} << 16;
  const Result<ProcessOutput> answer = plimsoll::run(options);
  if (!answer) return std::unexpected(answer.error());
  if (answer->succeeded()) return {};
  return std::unexpected(Error{fmt::format("{}: {}", answer->outcome(), printable(answer->error, 300)),
                               kControl,
                               {},
                               Error::Kind::machine_lacks});
}

PrivateMps::~PrivateMps() {
  // Its folder goes only when nobody writes into it any more.
  if (!tell("quit")) return;
  for (int i = 0; i < kAttempts && tell(kQuestion); ++i) std::this_thread::sleep_for(kPause);
}

}  // namespace plimsoll::probe
