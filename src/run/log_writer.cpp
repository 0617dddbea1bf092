#include "run/log_writer.hpp"

#include <utility>

#include <fmt/format.h>

namespace plimsoll::running {
namespace {

constexpr std::size_t kMuch = std::size_t{1} << 20;
constexpr std::string_view kLane = "log";
constexpr std::string_view kWhat = "writing the commands' output to its log";

}  // namespace

LogWriter::LogWriter(Errands& errands, const std::filesystem::path& path, std::uint64_t limit,
                     std::size_t most_waiting)
    : errands_(errands), most_waiting_(most_waiting) {
  shared_->under_way = true;
  errands.send(kLane, std::string(kWhat), [&errands, shared = shared_, path, limit]() -> Errands::Then {
    auto file = std::make_shared<LogFile>(path, limit);
    return [&errands, shared, file] {
      shared->file = file;
      shared->under_way = false;
      proceed(errands, shared);
    };
  });
}

void LogWriter::add(std::string_view text) {
  std::string& waiting = shared_->waiting;
  // A string that grows by doubling holds both copies for a moment, when memory is already short.
  if (waiting.size() > kMuch && waiting.capacity() < 2 * most_waiting_)
    waiting.reserve(2 * most_waiting_ + text.size());
  waiting += text;
  if (waiting.size() > 2 * most_waiting_) {  // seldom: linear time in all
    shared_->left_out += waiting.size() - most_waiting_;
    waiting.erase(0, waiting.size() - most_waiting_);
    shared_->failed = true;
  }
  proceed(errands_, shared_);
}

void LogWriter::finish() {
  shared_->finishing = true;
  proceed(errands_, shared_);
}

void LogWriter::proceed(Errands& errands, const std::shared_ptr<Shared>& shared) {
  if (shared->under_way || shared->finished || (shared->waiting.empty() && !shared->finishing)) return;
  shared->under_way = true;
  std::string text = std::exchange(shared->waiting, {});
  const std::uint64_t left_out = std::exchange(shared->left_out, 0);
  const bool last = shared->finishing;
  errands.send(
      kLane, std::string(kWhat),
      [&errands, shared, file = shared->file, text = std::move(text), left_out, last]() -> Errands::Then {
        if (left_out > 0) file->add(fmt::format("\n[plimsoll: {} bytes left out here]\n", left_out));
        file->add(text);
        if (last) file->finish();
        const bool failed = file->failed();
        return [&errands, shared, last, failed] {
          shared->under_way = false;
          shared->failed = shared->failed || failed;
          shared->finished = last;
          proceed(errands, shared);
        };
      });
}

}  // namespace plimsoll::running
