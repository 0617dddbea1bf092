#include "queue/slurm/answers.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.hpp"

namespace plimsoll::queue::slurm {
namespace {

constexpr std::size_t kMostRows = 10'000;
constexpr std::int64_t kMostTime = 1'000'000'000;  // s, and more than Slurm counts of anything
constexpr std::int64_t kThousand = 1000;

/// Up to the next `end`, which is taken away too.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view out = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return out;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> count_in(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 0 || out > kMostTime)
    return std::nullopt;
  return out;
}

}  // namespace

std::vector<AllocationRow> read_rows(std::string_view text) {
  std::vector<AllocationRow> out;
  while (!text.empty() && out.size() < kMostRows) {
    std::string_view line = take_until(text, '\n');
    AllocationRow row;
    row.id = take_until(line, '|');
    row.state = take_until(line, '|');
    row.nodes = take_until(line, '|');
    row.comment = without_blanks(line);
    if (!row.id.empty() && !row.state.empty()) out.push_back(std::move(row));
  }
  return out;
}

Result<std::string> submitted_number(std::string_view text) {
  std::string_view rest = without_blanks(text);
  rest = rest.substr(std::min(rest.find_last_of('\n') + 1, rest.size()));  // a site's plugin may greet first
  const std::string_view id = take_until(rest, ';');
  if (!count_in(id)) return fail("sbatch answered {} in place of a job's number", quote(std::string(text)));
  return std::string(id);
}

std::optional<Seconds> read_time(std::string_view text) {
  std::string_view rest = without_blanks(text);
  std::int64_t days = 0;
  if (const std::size_t dash = rest.find('-'); dash != std::string_view::npos) {
    const auto found = count_in(rest.substr(0, dash));
    if (!found) return std::nullopt;
    days = *found;
    rest.remove_prefix(dash + 1);
  }
  constexpr std::int64_t kPart = 60, kDay = 86400;
  std::int64_t seconds = 0;
  int parts = 0;
  do {
    const auto part = count_in(take_until(rest, ':'));
    if (!part || ++parts > 3) return std::nullopt;
    seconds = seconds * kPart + *part;
  } while (!rest.empty());
  if (parts < 2) return std::nullopt;
  return Seconds(static_cast<double>(days * kDay + seconds));
}

std::optional<Seconds> read_time_left(std::string_view text, double now) {
  std::string_view rest = without_blanks(text);
  const std::string_view passed = take_until(rest, '|');
  const auto left = read_time(passed);
  double ends = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), ends);
  // Of one without a limit some versions tell an end, a year from now.
  if (!left || error != std::errc() || end != rest.data() + rest.size()) return left;
  return std::min(*left, Seconds(std::max(0.0, ends - now)));
}

std::optional<std::string> config_value(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (without_blanks(take_until(line, '=')) == name) return std::string(without_blanks(line));
  }
  return std::nullopt;
}

std::optional<std::string> field_value(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (!begins || end >= text.size() || text[end] != '=') continue;
    const std::string_view rest = text.substr(end + 1);
    return std::string(rest.substr(0, std::min(rest.find_first_of(" \n"), rest.size())));
  }
  return std::nullopt;
}

std::int64_t count_of(std::string_view gres, std::string_view name) {
  std::int64_t out = 0;
  while (!gres.empty()) {
    // A comma within "(IDX:0,1)" separates nothing.
    std::size_t end = 0;
    for (int depth = 0; end < gres.size() && (depth > 0 || gres[end] != ','); ++end)
      depth += gres[end] == '(' ? 1 : gres[end] == ')' ? -1 : 0;
    std::string_view one = gres.substr(0, end);
    gres.remove_prefix(std::min(end + 1, gres.size()));
    one = one.substr(0, one.find('('));
    if (take_until(one, ':') != name) continue;
    std::string_view last = one.substr(std::min(one.find_last_of(':') + 1, one.size()));
    std::int64_t unit = 1;
    if (last.ends_with('K')) {
      unit = kThousand;
      last.remove_suffix(1);
    }
    out += one.empty() ? 1 : count_in(last).value_or(1) * unit;
  }
  return out;
}

}  // namespace plimsoll::queue::slurm
