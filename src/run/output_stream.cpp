#include "run/output_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include "run/kept_files.hpp"

namespace plimsoll::running {
namespace {

constexpr std::size_t kOutputChunk = std::size_t{64} << 10;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;
constexpr std::size_t kLongestOutputLine = std::size_t{64} << 10;
constexpr std::size_t kLogEnd = std::size_t{1} << 20;

}  // namespace

void Tail::add(std::string_view text) {
  total_ += text.size();
  if (text.size() >= limit_) {
    kept_ = text.substr(text.size() - limit_);
    return;
  }
  kept_ += text;
  if (kept_.size() > 2 * limit_) kept_.erase(0, kept_.size() - limit_);  // seldom: linear time in all
}

std::string_view Tail::text() const {
  const std::string_view all = kept_;
  return all.substr(all.size() - std::min(limit_, all.size()));
}

LogFile::LogFile(const std::filesystem::path& path, std::uint64_t limit)
    : directory_(path.parent_path()),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)),
      room_(limit),
      end_(kLogEnd),
      failed_(!file_) {}

void LogFile::add(std::string_view text) {
  const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(room_, text.size()));
  write(text.substr(0, now));
  room_ -= now;
  if (now < text.size()) end_.add(text.substr(now));
}

void LogFile::write(std::string_view text) {
  while (!failed_ && !text.empty()) {
    const ssize_t count = ::write(file_.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      failed_ = true;
    else
      text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void LogFile::finish() {
  if (finished_) return;
  finished_ = true;
  if (end_.dropped() > 0) write(fmt::format("\n[plimsoll: {} bytes left out here]\n", end_.dropped()));
  write(end_.text());
  // What a power cut may cost of a run that goes on, it must not of one that has ended.
  if (!failed_ && (::fsync(file_.get()) != 0 || !flush_entries(directory_))) failed_ = true;
}

void Passage::add(std::string_view text) {
  if (broken_) return;
  pending_ += text;
}

void Passage::collect(Interests& interests) {
  if (broken_ || pending_.empty()) return;
  interests.push_back({descriptor_, POLLOUT, [this] { write_some(); }});
}

void Passage::write_some() {
  // A pipe that is ready takes this much without blocking; asked here again, since another passage may lead
  // to the same pipe and have filled it.
  pollfd ready{descriptor_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return;
  const std::size_t length = std::min<std::size_t>(pending_.size() - written_, PIPE_BUF);
  const ssize_t count = ::write(descriptor_, pending_.data() + written_, length);
  if (count < 0) {
    if (errno == EINTR || errno == EAGAIN) return;
    close();
    return;
  }
  written_ += static_cast<std::size_t>(count);
  if (written_ == pending_.size()) {
    pending_.clear();
    written_ = 0;
  } else if (written_ > kMostPending / 2) {
    pending_.erase(0, written_);
    written_ = 0;
  }
}

bool OutputStream::read_some() {
  std::array<char, kOutputChunk> chunk;  // filled by read
  for (std::size_t taken = 0; is_open() && taken < kMostAtOnce;) {
    const ssize_t count = ::read(source_.get(), chunk.data(), chunk.size());
    if (count > 0) {
      const std::string_view text(chunk.data(), static_cast<std::size_t>(count));
      on_text_(text);
      split(text);
      taken += text.size();
    } else if (count == 0) {
      if (grows_) return false;
      source_.reset();
    } else if (errno != EINTR) {
      if (errno != EAGAIN) source_.reset();
      return false;
    }
  }
  return is_open();
}

void OutputStream::split(std::string_view text) {
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (skipping_) {
      skipping_ = false;
    } else if (line_.empty()) {
      on_line_(text.substr(0, end));
    } else {
      line_ += text.substr(0, end);
      on_line_(line_);
      line_.clear();
    }
    text.remove_prefix(end + 1);
  }
  // Nothing of interest is that long, and what follows in it is no beginning of a line.
  skipping_ = skipping_ || line_.size() + text.size() > kLongestOutputLine;
  if (skipping_)
    line_.clear();
  else
    line_ += text;
}

void OutputStream::finish() {
  if (!line_.empty()) on_line_(line_);
  line_.clear();
}

void OutputStream::close() {
  source_.reset();
}

}  // namespace plimsoll::running
