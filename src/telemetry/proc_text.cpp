#include "telemetry/proc_text.hpp"

#include <charconv>

namespace plimsoll::telemetry {
namespace {
constexpr std::string_view kBlanks = " \t\n";
constexpr std::uint64_t kSector = 512;  // of /proc/diskstats, whatever the disk's own
}  // namespace

std::string_view Words::next() {
  const std::size_t begin = rest_.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return rest_ = {};
  rest_.remove_prefix(begin);
  const std::size_t length = std::min(rest_.find_first_of(kBlanks), rest_.size());
  const std::string_view word = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return word;
}

std::optional<std::uint64_t> whole_number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> Words::number() {
  return whole_number(next());
}

void Words::skip(int words) {
  while (words-- > 0) static_cast<void>(next());
}

void for_each_line(std::string_view text, const std::function<void(std::string_view)>& line) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  std::size_t at = 0;
  while ((at = text.find(key, at)) != std::string_view::npos) {
    if (at == 0 || text[at - 1] == '\n') return Words(text.substr(at + key.size())).number();
    at += key.size();
  }
  return std::nullopt;
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat out;
  const auto pid = Words(text.substr(0, open)).number();
  Words words(text.substr(close + 1));
  const std::string_view state = words.next();
  const auto parent = words.number();
  const auto group = words.number();
  words.skip(8);
  const auto user = words.number();
  const auto system = words.number();
  const auto children_user = words.number();
  const auto children_system = words.number();
  words.skip(2);
  const auto threads = words.number();
  words.skip(1);
  const auto start = words.number();
  words.skip(1);
  const auto resident = words.number();
  if (!pid || state.size() != 1 || !parent || !user || !system || !threads || !start) return std::nullopt;
  out.pid = static_cast<pid_t>(*pid);
  out.state = state[0];
  out.parent = static_cast<pid_t>(*parent);
  out.group = static_cast<pid_t>(group.value_or(0));
  out.own_ticks = *user + *system;
  // Signed in the kernel's text, and negative in some old ones: then nobody waited for anything.
  out.children_ticks = children_user.value_or(0) + children_system.value_or(0);
  out.threads = *threads;
  out.start = *start;
  out.resident_pages = resident.value_or(0);
  return out;
}

std::optional<ProcessIo> parse_process_io(std::string_view text) {
  const auto read = number_after(text, "read_bytes:");
  const auto written = number_after(text, "write_bytes:");
  if (!read || !written) return std::nullopt;
  return ProcessIo{*read, *written};
}

std::optional<std::uint64_t> parse_busy_ticks(std::string_view text) {
  Words words(text.substr(0, text.find('\n')));
  if (words.next() != "cpu") return std::nullopt;
  const auto user = words.number();
  const auto nice = words.number();
  const auto system = words.number();
  words.skip(2);  // idle, waiting for input and output
  const auto interrupts = words.number();
  const auto soft_interrupts = words.number();
  if (!user || !nice || !system) return std::nullopt;
  return *user + *nice + *system + interrupts.value_or(0) + soft_interrupts.value_or(0);
}

std::optional<std::uint64_t> parse_pressure(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  constexpr std::string_view key = " total=";
  const std::size_t at = line.find(key);
  if (!line.starts_with("some ") || at == std::string_view::npos) return std::nullopt;
  return whole_number(line.substr(at + key.size()));
}

std::optional<Transfer> parse_disks(std::string_view text, const TakesDevice& takes) {
  Transfer sum;
  bool any = false;
  for_each_line(text, [&](std::string_view line) {
    Words words(line);
    words.skip(2);
    const std::string_view name = words.next();
    words.skip(2);
    const auto read = words.number();
    words.skip(3);
    const auto written = words.number();
    if (name.empty() || !read || !written || !takes(name)) return;
    any = true;
    sum.in += *read * kSector;
    sum.out += *written * kSector;
  });
  return any ? std::optional(sum) : std::nullopt;
}

std::optional<Transfer> parse_network(std::string_view text, const TakesDevice& takes) {
  Transfer sum;
  bool any = false;
  for_each_line(text, [&](std::string_view line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) return;  // the two lines of titles
    const std::string_view name = Words(line.substr(0, colon)).next();
    Words words(line.substr(colon + 1));
    const auto received = words.number();
    words.skip(7);
    const auto sent = words.number();
    if (name.empty() || !received || !sent || !takes(name)) return;
    any = true;
    sum.in += *received;
    sum.out += *sent;
  });
  return any ? std::optional(sum) : std::nullopt;
}

}  // namespace plimsoll::telemetry
