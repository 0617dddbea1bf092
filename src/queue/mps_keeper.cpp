#include "queue/mps_keeper.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <sys/stat.h>

#include "base/files.hpp"

namespace plimsoll::queue {
namespace {

constexpr std::size_t kLongestIdentity = 4096;

}  // namespace

MpsKeeper::MpsKeeper(std::filesystem::path folder, running::ChosenDevice device)
    : folder_(std::move(folder)), device_(std::move(device)), place_{folder_ / "pipe", folder_ / "log"} {
  const auto noted =
      running::ProcessIdentity::parse(read_file(folder_ / "daemon", kLongestIdentity).value_or(""));
  if (!noted || !noted->lives()) return;
  identity_ = noted;
  generation_ = 1;
}

MpsKeeper::~MpsKeeper() {
  // Its destructor would end the daemon, on which jobs depend that go on.
  if (child_ && !ends_ && lives()) static_cast<void>(child_.release());
}

bool MpsKeeper::lives() {
  if (child_) return !child_->has_ended();
  return identity_ && identity_->lives();
}

Status MpsKeeper::ensure() {
  if (lives()) return {};
  child_.reset();
  identity_.reset();
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed)
    return std::unexpected(Error{failed.message(), folder_.string(), {}, Error::Kind::machine_lacks});
  // Other users' jobs are clients, too, where root's daemon runs them; where the folder lies decides who
  // comes in.
  ::chmod(folder_.c_str(), 0755);
  auto started = place_.start({device_}, true);
  PLIMSOLL_TRY(started);
  child_ = std::make_unique<running::Child>(*std::move(started));
  ++generation_;
  if (const auto identity = running::ProcessIdentity::of(child_->pid()))
    PLIMSOLL_TRY(write_file(folder_ / "daemon", identity->text()));
  return {};
}

Status wait_for_mps(const running::MpsPlace& place) {
  Error last{"does not answer", {}, {}, Error::Kind::machine_lacks};
  for (int attempt = 0; attempt < 600; ++attempt) {
    auto answer = place.ask("get_default_active_thread_percentage");
    if (answer) return {};
    last.message = answer.error().text();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (const std::string log = place.log_tail(); !log.empty()) last.message += "; it says: " + log;
  return std::unexpected(std::move(last).within("the MPS daemon"));
}

}  // namespace plimsoll::queue
