#include "run/inventory.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "run/process_identity.hpp"
#include "run/provenance.hpp"

namespace plimsoll::running {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::vector<Occupant> occupants_of(const Result<std::vector<nvml::Process>>& processes) {
  std::vector<Occupant> out;
  if (!processes) return out;
  for (const nvml::Process& process : *processes)
    out.push_back({.pid = static_cast<pid_t>(process.pid), .used = process.used});
  return out;
}

MigSlice slice_of(const nvml::Library& nvml, unsigned parent, const nvml::MigInstance& instance) {
  return {.parent = parent,
          .number = instance.number,
          .gpu_instance = instance.gpu_instance,
          .compute_instance = instance.compute_instance,
          .uuid = instance.uuid,
          .name = instance.name,
          .profile = nvml::mig_profile(instance.name),
          .slices = instance.slices,
          .memory = instance.memory,
          .occupants = occupants_of(nvml.mig_processes(parent, instance.number))};
}

Gpu gpu_of(const nvml::Library& nvml, unsigned number) {
  Gpu gpu{.number = number,
          .uuid = nvml.uuid(number).value_or(""),
          .name = nvml.name(number).value_or(""),
          .mig = nvml.is_mig(number)};
  if (const auto memory = nvml.memory(number)) gpu.memory = *memory;
  gpu.occupants = occupants_of(nvml.processes(number));
  if (!gpu.mig) return gpu;
  for (const nvml::MigInstance& instance :
       nvml.mig_instances(number).value_or(std::vector<nvml::MigInstance>{}))
    gpu.slices.push_back(slice_of(nvml, number, instance));
  return gpu;
}

/// Every list of occupants on the machine.
template <class Act>
void for_each_list(std::vector<Gpu>& gpus, Act act) {
  for (Gpu& gpu : gpus) {
    act(gpu.occupants);
    for (MigSlice& slice : gpu.slices) act(slice.occupants);
  }
}

/// A driver gives a container the numbers that count in it, or, an older one, the machine's own. Those name
/// nobody in the container, or by chance somebody else: all must be there to be believed.
bool are_known(std::vector<Gpu>& gpus, const ProcessTable& table, const ProcessSpace& space) {
  if (space.is_outside_containers()) return true;
  bool all = true;
  for_each_list(gpus, [&](const std::vector<Occupant>& occupants) {
    all = all && std::ranges::all_of(occupants,
                                     [&](const Occupant& occupant) { return table.contains(occupant.pid); });
  });
  return all;
}

OrderedJson memory_json(const std::optional<nvml::Memory>& memory) {
  if (!memory) return nullptr;
  OrderedJson out{{"total_bytes", memory->total.count()},
                  {"free_bytes", memory->free.count()},
                  {"used_bytes", memory->used.count()}};
  if (memory->reserved) out["reserved_bytes"] = memory->reserved->count();
  return out;
}

OrderedJson occupants_json(const std::vector<Occupant>& occupants) {
  OrderedJson out = OrderedJson::array();
  for (const Occupant& occupant : occupants) {
    OrderedJson one{{"pid", occupant.pid}};
    if (occupant.used) one["used_bytes"] = occupant.used->count();
    if (!occupant.run.empty()) one["run"] = occupant.run;
    out.push_back(std::move(one));
  }
  return out;
}

OrderedJson slice_json(const MigSlice& slice) {
  OrderedJson out{{"parent", slice.parent},
                  {"number", slice.number},
                  {"gpu_instance", slice.gpu_instance},
                  {"compute_instance", slice.compute_instance},
                  {"uuid", slice.uuid},
                  {"profile", slice.profile}};
  if (slice.slices) out["slices"] = *slice.slices;
  out["memory"] = memory_json(slice.memory);
  out["processes"] = occupants_json(slice.occupants);
  return out;
}

OrderedJson gpu_json(const Gpu& gpu) {
  OrderedJson out{{"number", gpu.number},
                  {"uuid", gpu.uuid},
                  {"name", gpu.name},
                  {"memory", memory_json(gpu.memory)},
                  {"processes", occupants_json(gpu.occupants)},
                  {"mig", gpu.mig},
                  {"slices", OrderedJson::array()}};
  for (const MigSlice& slice : gpu.slices) out["slices"].push_back(slice_json(slice));
  return out;
}

}  // namespace

Host look_at_host(const nvml::Library* nvml, std::span<const KnownRun> known,
                  const std::filesystem::path& root) {
  const ProcessSpace space = ProcessSpace::here(root);
  Host host{.name = this_host(), .machine_id = space.machine_id};
  if (nvml == nullptr) return host;
  host.driver = nvml->driver_version().value_or("");
  for (unsigned i = 0; i < nvml->device_count().value_or(0); ++i) host.gpus.push_back(gpu_of(*nvml, i));
  const ProcessTable table = read_process_table(root);
  host.pids_are_known = are_known(host.gpus, table, space);
  if (!host.pids_are_known) return host;
  const auto runs = runs_by_process(table, known, ::getpid());
  for_each_list(host.gpus, [&](std::vector<Occupant>& occupants) {
    for (Occupant& occupant : occupants)
      if (const auto found = runs.find(occupant.pid); found != runs.end()) occupant.run = found->second;
  });
  return host;
}

OrderedJson to_json(const Inventory& inventory) {
  OrderedJson out{{"hosts", OrderedJson::array()}};
  for (const Host& host : inventory.hosts) {
    OrderedJson one{{"name", host.name}, {"driver", host.driver}, {"processes_known", host.pids_are_known}};
    if (!host.machine_id.empty()) one["machine"] = host.machine_id;
    one["gpus"] = OrderedJson::array();
    for (const Gpu& gpu : host.gpus) one["gpus"].push_back(gpu_json(gpu));
    out["hosts"].push_back(std::move(one));
  }
  return out;
}

}  // namespace plimsoll::running
