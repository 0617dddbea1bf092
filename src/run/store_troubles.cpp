#include "run/store_troubles.hpp"

#include <map>

#include "base/printable.hpp"

namespace plimsoll::running {
namespace {

/// "the disk is full. Make room and try again."
std::string with_hint(const Error& error) {
  return error.hint.empty() ? error.text() + "." : fmt::format("{}. {}", error.text(), error.hint);
}

/// Errors with the same advice are of one kind, whatever the system said beside.
const std::string& kind_of(const Error& error) {
  return error.hint.empty() ? error.message : error.hint;
}

/// Metrics of one run that met the same end for the same reason.
struct Alike {
  std::string first;  // metric
  std::size_t metrics = 0;
  std::uint64_t given_up = 0;

  [[nodiscard]] std::string names() const {
    if (metrics == 1) return fmt::format("metric {}", quote(first));
    return fmt::format("metric {} and {} more", quote(first), metrics - 1);
  }
};

}  // namespace

void StoreTroubles::say(const std::string& kind, std::string sentence) {
  // A store that is damaged in many places is damaged; the records have the rest.
  constexpr std::size_t kMostSentences = 12;
  if (told_ >= kMostSentences || !said_.insert(kind).second) return;
  ++told_;
  sentences_.push_back(std::move(sentence));
}

bool StoreTroubles::note(const Status& written, bool held) {
  if (!written) {
    troubled_ = true;
    say("nothing: " + kind_of(written.error()),
        fmt::format("the store takes nothing now: {} What comes is held in memory meanwhile, {} points at "
                    "most, and tried again.",
                    with_hint(written.error()), most_held_));
  } else if (troubled_ && !held) {
    troubled_ = false;
    say("again", "the store takes metrics again");
    // Where it refuses once more, that is news.
    std::erase_if(said_, [](const std::string& kind) { return !kind.starts_with("lost: "); });
  }
  return !sentences_.empty();
}

std::vector<StoreTroubles::ForRecord> StoreTroubles::note(const std::vector<Outbox::Refusal>& refusals) {
  std::map<std::pair<std::string, std::string>, std::pair<Alike, Error>> held, given_up;
  for (const Outbox::Refusal& refusal : refusals) {
    auto& [alike, error] = (refusal.given_up > 0 ? given_up : held)[{refusal.run, refusal.error.text()}];
    if (alike.metrics++ == 0) alike.first = refusal.metric;
    alike.given_up += refusal.given_up;
    error = refusal.error;
  }
  std::vector<ForRecord> out;
  const double seconds = std::chrono::duration<double>(patience_).count();
  for (const auto& [key, entry] : held) {
    const auto& [alike, error] = entry;
    troubled_ = true;
    out.push_back({key.first, fmt::format("the store refuses {}: {}", alike.names(), error.text())});
    say("refuses: " + kind_of(error),
        fmt::format("the store refuses {}: {} What comes of it is held in memory and tried again for {:g} s.",
                    alike.names(), with_hint(error), seconds));
  }
  for (const auto& [key, entry] : given_up) {
    const auto& [alike, error] = entry;
    const std::string lost =
        fmt::format("{} points of {} are lost: {}", alike.given_up, alike.names(), error.text());
    out.push_back({key.first, fmt::format("{} is lost: {}", alike.names(), error.text()), true});
    say("lost: " + kind_of(error), lost);
  }
  return out;
}

}  // namespace plimsoll::running
