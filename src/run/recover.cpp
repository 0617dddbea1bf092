#include <fmt/format.h>

#include "base/text.hpp"
#include "run/process_identity.hpp"
#include "run/provenance.hpp"
#include "run/runtime_directory.hpp"
#include "run/session.hpp"
#include "run/summary.hpp"

namespace plimsoll::running {
namespace {

/// When it was last heard of.
store::Time last_sign(const store::Run& run) {
  store::Time latest = run.start;
  for (const auto& [name, metric] : run.metrics) latest = std::max(latest, metric.latest.time);
  return latest;
}

}  // namespace

Status recover(store::Store& store, const std::function<void(const std::string&)>& say) {
  const auto base = RuntimeDirectory::base();
  if (!base) return std::unexpected(base.error());
  const Cleaned cleaned = clean_up(*base);
  if (cleaned.processes > 0 && say)
    say(fmt::format("ended {} processes that an interrupted plimsoll had left behind", cleaned.processes));
  store::Search search;
  search.filter = "attributes.status = 'RUNNING'";
  search.limit = 10'000;
  const auto running = store.search(search);
  if (!running) return std::unexpected(running.error());
  for (const store::Run& run : *running) {
    const auto supervisor = run.tags.find("plimsoll.supervisor");
    if (supervisor == run.tags.end()) continue;  // not started by `plimsoll run`
    const auto identity = ProcessIdentity::parse(supervisor->second);
    if (!identity || identity->lives() || identity->is_elsewhere()) continue;
    // A store may be shared by machines; only what ran on this one can be told to be gone.
    const auto host = run.tags.find("plimsoll.host");
    if (host == run.tags.end() || host->second != this_host()) continue;
    const store::Time end = last_sign(run);
    if (const auto summary = summarise(store, run, end)) PLIMSOLL_TRY(store.append(*summary));
    store::Change change{.status = store::RunStatus::failed, .end = end};
    change.tags["plimsoll.outcome"] = name(Outcome::lost);
    change.tags["plimsoll.reason"] =
        "nobody recorded its end: the plimsoll that watched it was killed, or could not write any more; the "
        "end given is its "
        "last sign of life";
    PLIMSOLL_TRY(store.change(run.id, change));
    if (say) say(fmt::format("run {} is lost: nobody watched its end", run.id.substr(0, 8)));
  }
  return {};
}

}  // namespace plimsoll::running
