#include "run/launch.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "run/client_limits.hpp"
#include "run/process_identity.hpp"
#include "run/provenance.hpp"
#include "run/secrets.hpp"
#include "run/summary.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;

/// What `plimsoll estimate` says that the job takes on the device.
Result<Bytes> estimated(const JobSpec& job, const SessionOptions& options) {
  ProcessOptions process;
  process.argv = {options.program, "estimate"};
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
  if (launch.retry) tags["plimsoll.retry"] = "true";
  if (const auto self = ProcessIdentity::of(::getpid())) tags["plimsoll.supervisor"] = self->text();
  add_device_tags(launch.devices, tags);
  for (const auto& [name, value] : job.tags) tags[name] = value;
  return tags;
}

}  // namespace

std::optional<Need> need_of(const JobSpec& job, store::Store& store, const SessionOptions& options) {
  if (job.need) return Need{*job.need, "given"};
  if (!job.estimate.empty())
    if (const auto bytes = estimated(job, options)) return Need{*bytes, "plimsoll estimate"};
  if (const auto bytes = last_gpu_memory(store, fingerprint(job))) return Need{*bytes, "its last run"};
  return {};
}

void prove_limits(Launch& launch, const JobSpec& job, const MpsDaemon& daemon, const SessionOptions& options,
                  std::map<std::string, Result<std::string>>& known) {
  const Variables limits = daemon.client_variables(job.mps_percentage, job.mps_memory);
  launch.variables.insert(launch.variables.end(), limits.begin(), limits.end());
  std::string key;
  for (const auto& [name, value] : launch.variables) key += fmt::format("{}={}\n", name, value);
  auto found = known.find(key);
  if (found == known.end()) {
    const Result<CudaFacts> facts = probe_cuda(options.program, launch.variables);
    Result<std::string> text = facts ? Result<std::string>(to_json(*facts)) : std::unexpected(facts.error());
    found = known.emplace(key, std::move(text)).first;
  }
  if (found->second)
    launch.tags["plimsoll.mps.effective"] = *found->second;
  else
    launch.tags["plimsoll.mps.unproven"] = found->second.error().text();
}

Result<std::string> create_record(const JobSpec& job, const Launch& launch, store::Store& store,
                                  const SessionOptions& options, const nvml::Library* nvml) {
  Provenance provenance = provenance_of(job, options.recorded_variables);
  store::NewRun run;
  run.experiment = job.experiment;
  run.name = job.name.empty() ? fs::path(job.command.front()).filename().string() : job.name;
  run.start = store::now();
  // A parameter is recorded because somebody asked for it, so that its name alone hides nothing.
  for (const auto& [name, value] : job.params) run.params.emplace(name, masked_text(value));
  run.tags = settings_tags(job, launch, options);
  run.tags.merge(provenance.tags);
  if (nvml != nullptr)
    if (const auto driver = nvml->driver_version()) run.tags["plimsoll.driver"] = *driver;
  Result<std::string> id = store.create(run);
  if (!id) return id;
  const auto written = [&]() -> Status {
    const Result<fs::path> artifacts = store.artifacts(*id);
    if (!artifacts) return std::unexpected(artifacts.error());
    for (const auto& [name, contents] : provenance.files)
      PLIMSOLL_TRY(write_file(*artifacts / name, contents));
    return {};
  }();
  if (!written) {
    static_cast<void>(store.change(*id, {.status = store::RunStatus::failed, .end = store::now()}));
    return std::unexpected(written.error());
  }
  return id;
}

}  // namespace plimsoll::running
