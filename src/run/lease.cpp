#include "run/lease.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

using std::chrono::milliseconds;

// What SIGKILL, and whoever waits for the end of processes, may take.
constexpr Seconds kToBeGone{2};
constexpr Seconds kLookEvery{2};
constexpr Seconds kLookBefore{0.5};
constexpr Seconds kLookAgain{0.1};  // near the end

milliseconds as_milliseconds(Seconds seconds) {
  // Nobody waits for a year.
  return milliseconds(static_cast<std::int64_t>(std::ceil(std::clamp(seconds.value(), 0.0, 3e7) * 1000)));
}

}  // namespace

BootClock BootClock::of_machine(const std::filesystem::path& root) {
  return {.now =
              [] {
                timespec now{};
                ::clock_gettime(CLOCK_BOOTTIME, &now);
                return Seconds(static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
              },
          .boot =
              [root] {
                const std::string text =
                    read_file(root / "proc/sys/kernel/random/boot_id", 4096).value_or("");
                return text.substr(0, text.find('\n'));
              }};
}

std::string Lease::text() const {
  return fmt::format("{} {:.3f}\n", boot, until.value());
}

std::optional<Lease> Lease::parse(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto space = text.find(' ');
  if (space == std::string_view::npos || space == 0) return {};
  const std::string_view number = text.substr(space + 1);
  double seconds = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), seconds);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(seconds) || seconds < 0)
    return {};
  return Lease{std::string(text.substr(0, space)), Seconds(seconds)};
}

LeaseWatch::LeaseWatch(BootClock clock, Seconds patience, milliseconds grace)
    : clock_(std::move(clock)), boot_(clock_.boot()), until_(clock_.now() + patience), grace_(grace) {}

void LeaseWatch::note(const std::optional<Lease>& lease) {
  if (lease && !boot_.empty() && lease->boot == boot_) until_ = lease->until;
}

Seconds LeaseWatch::ask_at() const {
  return until_ - Seconds(std::chrono::duration<double>(grace_).count()) - kToBeGone;
}

bool LeaseWatch::is_over() const {
  return clock_.now() >= ask_at();
}

milliseconds LeaseWatch::grace_left() const {
  return std::min(grace_, as_milliseconds(until_ - kToBeGone - clock_.now()));
}

milliseconds LeaseWatch::next_look() const {
  return as_milliseconds(std::clamp(ask_at() - kLookBefore - clock_.now(), kLookAgain, kLookEvery));
}

}  // namespace plimsoll::running
