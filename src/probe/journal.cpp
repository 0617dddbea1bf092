#include "probe/journal.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>

#include <fcntl.h>

#include "base/files.hpp"
#include "hardware/operator_place.hpp"
#include "probe/operator_names.hpp"

namespace plimsoll::probe {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr int kLinesBetweenSyncs = 100;

Error cannot(std::string_view what, const std::filesystem::path& path) {
  return {fmt::format("{}: {}", what, std::strerror(errno)), path.string()};
}

/// Of operators whose memory anybody asks for.
bool has_workspace(hardware::OperatorClass c) {
  using enum hardware::OperatorClass;
  return is_convolution(c) || c == attention || c == grouped_attention;
}

Status write_all(int file, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::unexpected(cannot("cannot be written", path));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

bool Gathered::take(const job::Answer& answer) {
  if (const auto* greeting = std::get_if<job::Hello>(&answer); greeting != nullptr && !hello)
    hello = *greeting;
  if (const auto* started = std::get_if<job::Launch>(&answer)) launches.push_back(started->seconds);
  if (const auto* chain = std::get_if<job::ChainTime>(&answer)) chains.insert_or_assign(chain->name, *chain);
  const auto* point = std::get_if<job::Point>(&answer);
  if (point == nullptr) return true;
  const auto what = calibration_case(point->what);
  if (!what) return false;
  if (!point->seconds) {
    failures[*what] = point->failure.value_or("gave no time");
    return true;
  }
  if (!(*point->seconds > 0) || !std::isfinite(*point->seconds)) return false;
  hardware::OperatorPoint kept{*what, *point->seconds, point->spread.value_or(0)};
  if (point->workspace_bytes && has_workspace(what->operator_class))
    kept.workspace = static_cast<double>(*point->workspace_bytes);
  // What was taken again because it was doubtful: others at work can only make it slower.
  if (const auto before = points.find(*what); before == points.end() || kept.seconds < before->second.seconds)
    points[*what] = kept;
  failures.erase(*what);
  return true;
}

Result<Gathered> read_journal(std::string_view text, std::size_t& whole) {
  Gathered gathered;
  whole = 0;
  for (int number = 1;; ++number) {
    const std::size_t end = text.find('\n', whole);
    if (end == text.npos) return gathered;
    const Result<job::Answer> answer = job::read_answer(text.substr(whole, end - whole));
    if (!answer || !gathered.take(*answer))
      return std::unexpected(
          Error{.message = answer ? "is not a point of a calibration" : answer.error().text(),
                .where = fmt::format("line {}", number),
                .hint = "the journal of an interrupted calibration is damaged; remove it to begin afresh"});
    whole = end + 1;
  }
}

Journal::Journal(std::filesystem::path path, FileDescriptor file, Gathered gathered)
    : path_(std::move(path)), file_(std::move(file)), gathered_(std::move(gathered)) {}

Result<Journal> Journal::open(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return std::unexpected(cannot("cannot be opened", path));
  const Result<std::string> text = read_file(path, kMostBytes);
  if (!text) return std::unexpected(text.error());
  std::size_t whole = 0;
  Result<Gathered> gathered = read_journal(*text, whole);
  if (!gathered) return std::unexpected(std::move(gathered).error().within(path.string()));
  if (::ftruncate(file.get(), static_cast<off_t>(whole)) != 0 || ::lseek(file.get(), 0, SEEK_END) < 0)
    return std::unexpected(cannot("cannot be continued", path));
  return Journal(path, std::move(file), std::move(*gathered));
}

Status Journal::add(const job::Answer& answer) {
  if (!gathered_.take(answer)) return fail("the engine told a point of no class that is known");
  PLIMSOLL_TRY(write_all(file_.get(), job::write(answer) + "\n", path_));
  if (++unsynced_ < kLinesBetweenSyncs) return {};
  return sync();
}

Status Journal::sync() {
  unsynced_ = 0;
  if (::fdatasync(file_.get()) != 0) return std::unexpected(cannot("cannot be kept", path_));
  return {};
}

}  // namespace plimsoll::probe
