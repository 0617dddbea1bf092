#include "run/recover.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/text.hpp"
#include "run/outcome.hpp"
#include "run/process_identity.hpp"
#include "run/provenance.hpp"
#include "run/runtime_directory.hpp"
#include "run/summary.hpp"

namespace plimsoll::running {
namespace {

/// When it was last heard of.
store::Time last_sign(const store::Run& run) {
  store::Time latest = run.start;
  for (const auto& [name, metric] : run.metrics) latest = std::max(latest, metric.latest.time);
  return latest;
}

/// Whether its end can be told from here.
bool is_lost(const store::Run& run, const std::filesystem::path& root, const std::string& host) {
  const auto supervisor = run.tags.find("plimsoll.supervisor");
  if (supervisor == run.tags.end()) return false;  // not started by `plimsoll run`
  const auto identity = ProcessIdentity::parse(supervisor->second);
  if (!identity) return false;
  const Whereabouts found = identity->whereabouts(root);
  if (found == Whereabouts::gone) return true;
  // Machines started from one image may have one id: those that also have a name of their own are told apart.
  const auto named = run.tags.find("plimsoll.host");
  return found == Whereabouts::restarted && named != run.tags.end() && named->second == host;
}

/// Its command was to go on without the one who watched it, and does.
bool goes_on(const store::Run& run, const std::filesystem::path& root) {
  const auto asked = run.tags.find(std::string(kIfKilledTag));
  return asked != run.tags.end() && asked->second == "leave" &&
         !processes_with(fmt::format("{}={}", kRunVariable, run.id), 0, root).empty();
}

}  // namespace

Status recover(store::Store& store, const std::function<void(const std::string&)>& say) {
  const auto base = RuntimeDirectory::base();
  if (!base) return std::unexpected(base.error());
  const Cleaned cleaned = clean_up(*base);
  if (cleaned.processes > 0 && say)
    say(fmt::format("ended {} processes that an interrupted plimsoll had left behind", cleaned.processes));
  return mark_lost_runs(store, say, "/", this_host());
}

Status mark_lost_runs(store::Store& store, const std::function<void(const std::string&)>& say,
                      const std::filesystem::path& root, const std::string& host) {
  store::Search search;
  search.filter = "attributes.status = 'RUNNING'";
  search.limit = 10'000;
  const auto running = store.search(search);
  if (!running && running.error().may_pass()) return std::unexpected(running.error());
  if (!running) {
    // Old runs that cannot be read are no reason not to begin a new one.
    if (say) say(fmt::format("runs that were lost before cannot be looked for: {}", running.error().text()));
    return {};
  }
  for (const store::Run& run : *running) {
    if (!is_lost(run, root, host)) continue;
    if (goes_on(run, root)) {
      const auto known = run.tags.find("plimsoll.outcome");
      if (known != run.tags.end() && known->second == kUnwatched) continue;
      PLIMSOLL_TRY(
          store.change(run.id, {.tags = {{"plimsoll.outcome", std::string(kUnwatched)},
                                         {"plimsoll.reason",
                                          "the plimsoll that watched it was killed; its command goes "
                                          "on, as was asked for, and nobody sees how"}}}));
      if (say)
        say(fmt::format("run {} goes on unwatched; plimsoll stop {} ends it", run.id.substr(0, 8),
                        run.id.substr(0, 8)));
      continue;
    }
    const store::Time end = last_sign(run);
    store::Change change{.status = store::RunStatus::failed, .end = end};
    change.tags["plimsoll.outcome"] = name(Outcome::lost);
    change.tags["plimsoll.reason"] =
        "its end was not recorded: the plimsoll that watched it was killed, or could not write any more; the "
        "end given is its "
        "last sign of life";
    const Status ended = store.change(run.id, change);
    if (!ended && ended.error().may_pass()) return ended;
    if (say)
      say(ended ? fmt::format("run {} is lost: its end was not seen", run.id.substr(0, 8))
                : fmt::format("run {} is lost, and that cannot be recorded: {}", run.id.substr(0, 8),
                              ended.error().text()));
    // What can be had of its summary; the end stands without.
    if (ended)
      if (const auto summary = summarise(store, run, end)) std::ignore = store.append(*summary);
  }
  return {};
}

}  // namespace plimsoll::running
