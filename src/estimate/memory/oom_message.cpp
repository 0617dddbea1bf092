#include "estimate/memory/oom_message.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/printable.hpp"

namespace plimsoll::estimate {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// What loggers put before a line, and people who quote one: "[rank0]: ", "> ", "2024-06-17T13:18:29Z ERROR
/// ".
std::string_view without_prefix(std::string_view line) {
  constexpr std::size_t kLongestBrackets = 64;
  constexpr std::array<std::string_view, 7> kLevels = {"INFO",  "ERROR",    "WARNING", "WARN",
                                                       "DEBUG", "CRITICAL", "stderr"};
  while (!line.empty()) {
    if (is_space(line[0]) || line[0] == '>' || line[0] == '|') {
      line.remove_prefix(1);
      continue;
    }
    if (line[0] == '[') {
      const std::size_t end = line.substr(0, kLongestBrackets).find(']');
      if (end == std::string_view::npos) break;
      line.remove_prefix(end + 1);
      if (line.starts_with(':')) line.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, std::min(end, kLongestBrackets));
    const bool time = is_digit(word[0]) &&
                      word.find_first_not_of("0123456789-:.,TZ+/") == std::string_view::npos &&
                      word.find_first_of("-:/") != std::string_view::npos;
    const bool level = std::ranges::find(kLevels, word.substr(0, word.find(':'))) != kLevels.end();
    if (!time && !level) break;
    line.remove_prefix(word.size());
  }
  return line;
}

/// The log without spaces, line breaks, colours and prefixes: however a message was broken into lines, even
/// within a number, it reads the same.
std::string squeezed(std::string_view log) {
  std::string out;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    const std::string_view line = without_prefix(log.substr(0, end));
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
        i += 2;
        while (i < line.size() && (is_digit(line[i]) || line[i] == ';')) ++i;
      } else if (!is_space(line[i])) {
        out += line[i];
      }
    }
    if (end == std::string_view::npos) break;
    log.remove_prefix(end + 1);
  }
  return out;
}

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 6> kUnits = {
    {{"bytes", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"B", 1}}};

/// A size as the allocator writes it; nothing where there is none.
struct Size {
  bool found = false;
  double bytes = 0;
  std::string_view rest = {};  ///< after it
};

Size size_at(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (end == text.data() || !is_digit(text[0])) return {};
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc::result_out_of_range) number = HUGE_VAL;
  for (const Unit& unit : kUnits)
    if (rest.starts_with(unit.name)) return {true, number * unit.bytes, rest.substr(unit.name.size())};
  return {};
}

/// Where the size that ends just before `end` begins.
std::size_t begin_of_size(std::string_view text, std::size_t end) {
  std::size_t at = end;
  while (at > 0 && !is_digit(text[at - 1]) && end - at < 5) --at;  // the unit
  while (at > 0 && (is_digit(text[at - 1]) || text[at - 1] == '.')) --at;
  while (at < end && text[at] == '.') ++at;
  return at;
}

/// Reads one message, without spaces. The first size that cannot be one is kept as the error.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// The size after the first `words`.
  std::optional<Bytes> after(std::string_view words) {
    const std::size_t at = text_.find(words);
    if (at == std::string_view::npos) return {};
    return checked(size_at(text_.substr(at + words.size())));
  }
  /// The size before the first `words`.
  std::optional<Bytes> before(std::string_view words) {
    const std::size_t at = text_.find(words);
    if (at == std::string_view::npos) return {};
    return checked(size_at(text_.substr(begin_of_size(text_, at))));
  }
  std::optional<int> gpu() const {
    const std::size_t at = text_.find("GPU");
    if (at == std::string_view::npos) return {};
    int index = 0;
    const std::string_view digits = text_.substr(at + 3);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    return error == std::errc{} && index >= 0 ? std::optional(index) : std::nullopt;
  }
  /// "Process1234has10.00GiBmemoryinuse", each of them.
  std::vector<OutOfMemory::Process> processes() {
    constexpr std::string_view kWord = "Process";
    std::vector<OutOfMemory::Process> out;
    for (std::size_t at = text_.find(kWord); at != std::string_view::npos; at = text_.find(kWord, at + 1)) {
      std::string_view rest = text_.substr(at + kWord.size());
      std::int64_t pid = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (error != std::errc{} || pid < 0 || !rest.starts_with("has")) continue;
      if (const auto bytes = checked(size_at(rest.substr(3)))) out.push_back({pid, *bytes});
    }
    return out;
  }
  [[nodiscard]] bool too_large() const { return too_large_; }

 private:
  std::optional<Bytes> checked(const Size& size) {
    constexpr double kNotTold = 0x1p64;  // NVML's -1, where the driver does not tell (Windows, WSL)
    if (!size.found || size.bytes == kNotTold) return {};
    if (!(size.bytes < 0x1p63)) {
      too_large_ = true;
      return {};
    }
    return Bytes::rounded(size.bytes);
  }

  std::string_view text_;
  bool too_large_ = false;
};

/// The last message of the log, from its request on; empty where there is none.
std::string_view last_message(std::string_view log) {
  constexpr std::string_view kBegin = "outofmemory.Triedtoallocate";
  constexpr std::size_t kLongest = std::size_t{64} << 10;
  const std::size_t at = log.rfind(kBegin);
  if (at == std::string_view::npos) return {};
  std::string_view message = log.substr(at + kBegin.size(), kLongest);
  for (const std::string_view last :
       {"reservedbyPyTorchbutunallocated", "reservedintotalbyPyTorch", "cached)"})
    if (const std::size_t end = message.find(last); end != std::string_view::npos) {
      message = message.substr(0, end + last.size());
      break;
    }
  return message;
}

void recognise_this_process(OutOfMemory& m) {
  const std::optional<Bytes> reserved = m.reserved();
  if (m.process || !reserved || !m.total || !m.free) return;
  Bytes named;
  for (const auto& p : m.processes) named += p.bytes;
  const Bytes in_use = *m.total - *m.free;
  if (named + *reserved <= in_use + Bytes(in_use.count() / 100)) return;  // all of them can be others
  auto best = m.processes.end();
  for (auto it = m.processes.begin(); it != m.processes.end(); ++it)
    if (it->bytes >= *reserved && (best == m.processes.end() || it->bytes < best->bytes)) best = it;
  if (best == m.processes.end()) return;
  m.process = best->bytes;
  m.process_recognised = true;
  m.processes.erase(best);
}

std::optional<Bytes> difference(std::optional<Bytes> whole, std::optional<Bytes> part) {
  if (!whole || !part) return {};
  return std::max(*whole - *part, Bytes());
}

}  // namespace

std::optional<Bytes> OutOfMemory::reserved() const {
  if (!allocated || !unallocated) return {};
  return *allocated + *unallocated;
}

std::optional<Bytes> OutOfMemory::context() const {
  return difference(process, reserved());
}

std::optional<Bytes> OutOfMemory::others() const {
  return difference(difference(total, free), process);
}

std::optional<Bytes> OutOfMemory::unexplained() const {
  std::optional<Bytes> left = difference(difference(total, free), process ? process : reserved());
  for (const Process& p : processes) left = difference(left, p.bytes);
  return left;
}

std::optional<double> OutOfMemory::fragmentation() const {
  const std::optional<Bytes> all = reserved();
  if (!all || *all <= Bytes()) return {};
  return *unallocated / *all;
}

Result<OutOfMemory> parse_out_of_memory(std::string_view log) {
  const std::string text = squeezed(log);
  const std::string_view message = last_message(text);
  if (message.empty()) {
    Error error{"it holds no out-of-memory message of PyTorch"};
    error.hint = "It begins with \"CUDA out of memory. Tried to allocate\".";
    return std::unexpected(std::move(error));
  }
  Reader reader(message);
  OutOfMemory out;
  const std::optional<Bytes> requested = reader.after("");
  if (requested) out.requested = *requested;
  out.gpu = reader.gpu();
  out.total = reader.after("hasatotalcapacityof");
  if (!out.total) out.total = reader.after("hasatotalcapactyof");  // so in 2.1
  if (!out.total) out.total = reader.before("totalcapacity;");
  out.free = reader.before("isfree.");
  if (!out.free) out.free = reader.before("free;");
  out.allowed = reader.before("allowed;");
  out.process = reader.after("thisprocesshas");
  out.processes = reader.processes();
  out.allocated = reader.before("isallocatedbyPyTorch");
  if (!out.allocated) out.allocated = reader.before("alreadyallocated;");
  out.private_pools = reader.before("allocatedinprivatepools");
  out.unallocated = reader.before("isreservedbyPyTorchbutunallocated");
  if (!out.unallocated) out.unallocated = reader.before("cached)");
  if (!out.unallocated)
    out.unallocated = difference(reader.before("reservedintotalbyPyTorch"), out.allocated);
  if (reader.too_large()) return fail("the out-of-memory message names a size of 2^63 bytes or more");
  if (!requested)
    return fail("the out-of-memory message does not say how much was asked for: {}",
                quote(message.substr(0, 40)));
  recognise_this_process(out);
  return out;
}

}  // namespace plimsoll::estimate
