#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace plimsoll::telemetry {

/// Words between blanks, one after the other, without copies.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  [[nodiscard]] std::string_view next();  ///< empty at the end
  /// The next word as a whole number; nothing where it is none, or too large.
  [[nodiscard]] std::optional<std::uint64_t> number();
  void skip(int words);

 private:
  std::string_view rest_;
};

[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view word);
void for_each_line(std::string_view text, const std::function<void(std::string_view)>& line);
/// The number after `key` at the beginning of a line ("MemFree:   123 kB", "usage_usec 5").
[[nodiscard]] std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key);

/// /proc/PID/stat.
struct ProcessStat {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t own_ticks = 0;       ///< of this process, all threads, in user and kernel
  std::uint64_t children_ticks = 0;  ///< of children that it has waited for
  std::uint64_t threads = 0;
  std::uint64_t start = 0;  ///< ticks since boot; with the pid it names a process for good
  std::uint64_t resident_pages = 0;
  [[nodiscard]] bool alive() const { return state != 'Z' && state != 'X'; }
};
/// Programs choose their name: it may hold brackets, blanks and newlines ("a) R 1 (b").
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

/// /proc/PID/io: bytes that reached, or came from, storage.
struct ProcessIo {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};
[[nodiscard]] std::optional<ProcessIo> parse_process_io(std::string_view text);

/// The first line of /proc/stat: ticks in which processors worked; waiting, idling and other machines' ticks
/// left out.
[[nodiscard]] std::optional<std::uint64_t> parse_busy_ticks(std::string_view text);

/// "some" of /proc/pressure/…: microseconds in which some task waited.
[[nodiscard]] std::optional<std::uint64_t> parse_pressure(std::string_view text);

struct Transfer {
  std::uint64_t in = 0;   ///< read or received, bytes
  std::uint64_t out = 0;  ///< written or sent
};
/// /proc/diskstats and /proc/net/dev, over the devices that `takes` accepts.
using TakesDevice = std::function<bool(std::string_view name)>;
[[nodiscard]] std::optional<Transfer> parse_disks(std::string_view text, const TakesDevice& takes);
[[nodiscard]] std::optional<Transfer> parse_network(std::string_view text, const TakesDevice& takes);

}  // namespace plimsoll::telemetry
