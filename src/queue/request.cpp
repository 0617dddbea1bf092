#include "queue/request.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/printable.hpp"
#include "run/job_json.hpp"
#include "run/provenance.hpp"

namespace plimsoll::queue {
namespace {

using job::Fields;
using job::Json;

constexpr int kMostGpus = 1024;
constexpr int kMostMoves = 100;
constexpr double kLatestTime = 1e11;  // s since 1970
constexpr std::size_t kMostKnown = std::size_t{1} << 20;
constexpr int kKnownLevels = 16;

constexpr std::array<std::string_view, 12> kKeys{"job",   "known",    "gpus",       "alone",
                                                 "keep",  "deadline", "save",       "save_patience_seconds",
                                                 "rerun", "runs_on",  "most_moves", "umask"};

struct NamedSignal {
  std::string_view name;
  int number;
};
// Not those that end programs: a supervisor takes them for the end of the job.
constexpr std::array kSignals{NamedSignal{"SIGUSR1", SIGUSR1}, NamedSignal{"SIGUSR2", SIGUSR2}};

}  // namespace

std::optional<int> signal_named(std::string_view name) {
  const auto found = std::ranges::find_if(kSignals, [&](const NamedSignal& signal) {
    return signal.name == name || signal.name.substr(3) == name;
  });
  return found == kSignals.end() ? std::nullopt : std::optional(found->number);
}

std::string signal_name(int signal) {
  const auto found = std::ranges::find(kSignals, signal, &NamedSignal::number);
  return found == kSignals.end() ? fmt::format("signal {}", signal) : std::string(found->name);
}

Json request_json(const JobRequest& request) {
  const JobRequest plain;
  Json out{{"job", running::job_json(request.job)}};
  if (!request.known.empty()) out["known"] = Json::parse(request.known, nullptr, false);
  if (request.gpus != plain.gpus) out["gpus"] = request.gpus;
  if (request.alone) out["alone"] = true;
  if (request.keep > 0) out["keep"] = request.keep;
  if (request.deadline) out["deadline"] = *request.deadline;
  if (request.save) out["save"] = signal_name(*request.save);
  if (request.save_patience != plain.save_patience)
    out["save_patience_seconds"] = request.save_patience.value();
  if (request.rerun) out["rerun"] = true;
  if (request.runs_on) out["runs_on"] = true;
  if (request.most_moves != plain.most_moves) out["most_moves"] = request.most_moves;
  out["umask"] = request.umask;
  return out;
}

Result<JobRequest> read_request(const Json& object) {
  if (!object.is_object()) return fail("a job of the queue is an object");
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(kKeys, key) == kKeys.end())
      return fail("a job of the queue has no key {}", quote(key));
  std::optional<Error> error;
  const Fields fields(object, "job of the queue", error);
  JobRequest out;
  auto spec = running::read_job_spec(fields.value("job"));
  if (!spec && fields.good()) return std::unexpected(std::move(spec).error());
  if (spec) out.job = *std::move(spec);
  if (fields.has("known")) {
    const Json& known = fields.value("known");
    if (!known.is_object()) fields.complain("known", "is no object");
    out.known = job::dump(known);
    if (out.known.size() > kMostKnown || !job::parse_within(out.known, kMostKnown, kKnownLevels))
      fields.complain("known", "is too large");
  }
  if (fields.has("gpus")) out.gpus = static_cast<int>(fields.whole("gpus", 1, kMostGpus));
  if (fields.has("alone")) out.alone = fields.flag("alone");
  if (fields.has("keep")) out.keep = fields.not_negative("keep");
  if (out.keep > 1) fields.complain("keep", "is a share of its speed alone, from 0 to 1");
  if (fields.has("deadline")) out.deadline = fields.not_negative("deadline");
  if (out.deadline.value_or(0) > kLatestTime) fields.complain("deadline", "is too far away");
  if (fields.has("save")) {
    const std::string word = fields.text("save");
    out.save = signal_named(word);
    if (fields.good() && !out.save)
      fields.complain("save", fmt::format("{} is no signal to save on: SIGUSR1 or SIGUSR2", quote(word)));
  }
  if (fields.has("save_patience_seconds"))
    out.save_patience = Seconds(std::min(fields.not_negative("save_patience_seconds"), 86400.0));
  if (fields.has("rerun")) out.rerun = fields.flag("rerun");
  if (fields.has("runs_on")) out.runs_on = fields.flag("runs_on");
  if (fields.has("most_moves")) out.most_moves = static_cast<int>(fields.whole("most_moves", 0, kMostMoves));
  if (fields.has("umask")) out.umask = static_cast<unsigned>(fields.whole("umask", 0, 0777));
  if (error) return std::unexpected(*std::move(error));
  if (out.job.command.empty()) return fail("there is nothing to run");
  if (!out.job.devices.empty() || out.job.sharing != running::Sharing::naive)
    return fail("devices and their sharing are the queue's to choose");
  return out;
}

std::string fingerprint_of(const JobRequest& request) {
  // What changes from run to run, or names it, says nothing of what it does to a GPU; its folder does, since
  // the same command means another program there.
  return running::fingerprint(request.job);
}

}  // namespace plimsoll::queue
