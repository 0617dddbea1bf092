#include "run/launch.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "run/process_identity.hpp"
#include "run/recover.hpp"
#include "run/secrets.hpp"
#include "run/slurm_place.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;

void add_device_tags(const std::vector<ChosenDevice>& devices, std::map<std::string, std::string>& tags) {
  if (devices.empty()) return;
  tags["plimsoll.devices"] = device_list(devices);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const ChosenDevice& device = devices[i];
    const std::string key = fmt::format("plimsoll.device.{}.", device.number ? *device.number : i);
    if (!device.name.empty()) tags[key + "name"] = device.name;
    if (device.total) tags[key + "memory_bytes"] = fmt::format("{}", device.total->count());
    tags[key + "uuid"] = device.uuid;
  }
  // Wherever the run's first device stands among the machine's, it is found under 0.
  if (!devices.front().name.empty()) tags.try_emplace("plimsoll.device.0.name", devices.front().name);
}

std::map<std::string, std::string> settings_tags(const JobSpec& job, const Launch& launch,
                                                 const SessionOptions& options) {
  std::map<std::string, std::string> tags = launch.tags;
  tags["plimsoll.mode"] = launch.mode;
  if (!job.workload.empty()) tags["plimsoll.workload"] = job.workload;
  tags["plimsoll.sampling.rate"] = fmt::format("{}", options.rate);
  if (job.time_limit) tags["plimsoll.limit.seconds"] = fmt::format("{}", job.time_limit->value());
  if (job.epoch_limit) tags["plimsoll.limit.epochs"] = fmt::format("{}", *job.epoch_limit);
  if (job.mps_percentage) tags["plimsoll.mps.percentage"] = fmt::format("{}", *job.mps_percentage);
  if (job.mps_memory) tags["plimsoll.mps.memory_bytes"] = fmt::format("{}", job.mps_memory->count());
  if (launch.need) {
    tags["plimsoll.need.bytes"] = fmt::format("{}", launch.need->bytes.count());
    tags["plimsoll.need.source"] = launch.need->source;
  } else if (!launch.devices.empty()) {
    tags["plimsoll.need.source"] = "unknown";
  }
  if (options.watch.if_killed == IfKilled::leave) tags[std::string(kIfKilledTag)] = "leave";
  if (launch.retry) tags["plimsoll.retry"] = "true";
  if (const auto self = ProcessIdentity::of(::getpid())) tags["plimsoll.supervisor"] = self->text();
  add_device_tags(launch.devices, tags);
  for (const auto& [name, value] : job.tags) tags[name] = value;
  return tags;
}

}  // namespace

Result<Bytes> estimated_need(const JobSpec& job, const std::string& program) {
  ProcessOptions process;
  process.argv = {program, "estimate"};
  process.argv.insert(process.argv.end(), job.estimate.begin(), job.estimate.end());
  process.argv.emplace_back("--json");
  process.directory = job.directory;
  process.timeout = std::chrono::seconds(60);
  Result<ProcessOutput> answer = plimsoll::run(process);
  if (!answer) return std::unexpected(std::move(answer).error());
  const auto parsed = nlohmann::json::parse(answer->output, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("memory") || !parsed["memory"].contains("device_used_bytes") ||
      !parsed["memory"]["device_used_bytes"].is_number_integer())
    return fail("plimsoll estimate {}: {}", answer->outcome(), answer->error);
  return Bytes(parsed["memory"]["device_used_bytes"].get<std::int64_t>());
}

Result<Record> create_record(const JobSpec& job, const Launch& launch, store::Store& store,
                             const SessionOptions& options, const std::string& driver) {
  const Provenance provenance = provenance_of(job, options.recorded_variables);
  store::NewRun run;
  run.experiment = job.experiment;
  run.name = job.name.empty() ? fs::path(job.command.front()).filename().string() : job.name;
  run.start = store::now();
  // A parameter is recorded because somebody asked for it, so that its name alone hides nothing.
  for (const auto& [name, value] : job.params) run.params.emplace(name, masked_text(value));
  run.tags = settings_tags(job, launch, options);
  for (const auto& tag : provenance.tags) run.tags.insert(tag);
  const SlurmPlace place = slurm_place(job);
  for (const auto& tag : place.tags) run.tags.insert(tag);
  if (place.first && !place.is_first) run.tags.emplace("mlflow.parentRunId", *place.first);
  if (!driver.empty()) run.tags["plimsoll.driver"] = driver;
  Record record;
  if (launch.mode != "alone" && !launch.devices.empty())
    record.alone = solo_profile(store, fingerprint(job), launch.devices.front().name);
  if (record.alone) run.tags["plimsoll.alone"] = record.alone->run;
  if (place.is_first) run.id = place.first;
  Result<std::string> id = store.create(run);
  if (!id && run.id && id.error().kind == Error::Kind::exists_already) {  // the same once more in one step
    run.id.reset();
    id = store.create(run);
  }
  if (!id) return std::unexpected(std::move(id).error());
  record.id = *std::move(id);
  const auto written = [&]() -> Status {
    Result<fs::path> artifacts = store.artifacts(record.id);
    if (!artifacts) return std::unexpected(std::move(artifacts).error());
    record.artifacts = *std::move(artifacts);
    for (const auto& [name, contents] : provenance.files)
      PLIMSOLL_TRY(write_file(record.artifacts / name, contents));
    return {};
  }();
  if (!written) {
    static_cast<void>(store.change(record.id, {.status = store::RunStatus::failed, .end = store::now()}));
    return std::unexpected(written.error());
  }
  return record;
}

Status add_to_record(const Record& record, const Provenance& found, store::Store& store) {
  for (const auto& [name, contents] : found.files)
    PLIMSOLL_TRY(write_file(record.artifacts / name, contents));
  if (found.tags.empty()) return {};
  return store.change(record.id, {.tags = found.tags});
}

}  // namespace plimsoll::running
