#include "nvml/library.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

#include <dlfcn.h>

#include "nvml/functions.hpp"

namespace plimsoll::nvml {
namespace {

constexpr const char* kDefaultLibrary = "libnvidia-ml.so.1";

std::unexpected<Error> lacks(std::string message, std::string hint = {}) {
  return std::unexpected(Error{std::move(message), "NVML", std::move(hint), Error::Kind::machine_lacks});
}

Bytes bytes(unsigned long long count) {
  constexpr auto most = static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max());
  return Bytes(static_cast<std::int64_t>(std::min(count, most)));
}

/// Text in a buffer that the library filled; the end is searched for, not trusted.
template <std::size_t N>
std::string text_of(const std::array<char, N>& buffer) {
  return std::string(buffer.begin(), std::find(buffer.begin(), buffer.end(), '\0'));
}

Process process_of(const abi::ProcessInfo& info) {
  Process out{.pid = info.pid};
  if (info.used_memory != abi::kValueNotAvailable) out.used = bytes(info.used_memory);
  if (info.gpu_instance != abi::kNoInstance) out.gpu_instance = info.gpu_instance;
  if (info.compute_instance != abi::kNoInstance) out.compute_instance = info.compute_instance;
  return out;
}

constexpr double kPercent = 100;

class DriverLibrary final : public Library {
 public:
  DriverLibrary(Lookup lookup, Functions functions) : lookup_(std::move(lookup)), f_(functions) {}
  DriverLibrary(const DriverLibrary&) = delete;
  DriverLibrary& operator=(const DriverLibrary&) = delete;
  ~DriverLibrary() override { f_.shutdown(); }

  Result<std::string> driver_version() const override {
    std::array<char, abi::kDriverVersionLength> buffer{};
    PLIMSOLL_TRY(ask("the driver's version", f_.driver_version, buffer.data(), unsigned{buffer.size()}));
    return text_of(buffer);
  }

  Result<unsigned> device_count() const override {
    unsigned count = 0;
    PLIMSOLL_TRY(ask("the number of GPUs", f_.device_count, &count));
    return count;
  }

  Result<std::string> name(unsigned device) const override {
    std::array<char, abi::kNameLength> buffer{};
    PLIMSOLL_TRY(ask_device(device, "its name", f_.name, buffer.data(), unsigned{buffer.size()}));
    return text_of(buffer);
  }

  Result<std::string> uuid(unsigned device) const override {
    std::array<char, abi::kUuidLength> buffer{};
    PLIMSOLL_TRY(ask_device(device, "its UUID", f_.uuid, buffer.data(), unsigned{buffer.size()}));
    return text_of(buffer);
  }

  Result<Memory> memory(unsigned device) const override {
    const Result<abi::Device> handle = handle_of(device);
    Result<Memory> memory = handle ? memory_of(*handle) : std::unexpected(handle.error());
    if (!memory) return std::unexpected(std::move(memory).error().within(fmt::format("GPU {}", device)));
    return memory;
  }

  Result<ComputeCapability> compute_capability(unsigned device) const override {
    ComputeCapability capability;
    PLIMSOLL_TRY(
        ask_device(device, "its compute capability", f_.capability, &capability.major, &capability.minor));
    return capability;
  }

  Result<Watts> enforced_power_limit(unsigned device) const override {
    unsigned milliwatts = 0;
    PLIMSOLL_TRY(ask_device(device, "its power limit", f_.power_limit, &milliwatts));
    return Watts(milliwatts / 1000.0);
  }

  Result<std::vector<Process>> processes(unsigned device) const override {
    const Result<abi::Device> handle = handle_of(device);
    if (!handle) return std::unexpected(handle.error());
    return processes_on(*handle);
  }

  Result<Power> power(unsigned device) const override {
    // nvmlDeviceGetPowerUsage is an average over a second on Ampere and later, and hides every short peak.
    abi::FieldValue field{};
    field.field = abi::kFieldPowerInstant;
    if (f_.fields != nullptr && ask_device(device, "its power", f_.fields, 1, &field) &&
        field.status == abi::kSuccess && field.type == abi::kUnsignedInt)
      return Power{Watts(field.value.whole / 1000.0), true};
    unsigned milliwatts = 0;
    PLIMSOLL_TRY(ask_device(device, "its power", f_.power, &milliwatts));
    return Power{Watts(milliwatts / 1000.0), false};
  }

  Result<Joules> energy(unsigned device) const override {
    unsigned long long millijoules = 0;
    PLIMSOLL_TRY(ask_device(device, "its energy", f_.energy, &millijoules));
    return Joules(static_cast<double>(millijoules) / 1000.0);
  }

  Result<Utilization> utilization(unsigned device) const override {
    abi::Utilization rates{};
    PLIMSOLL_TRY(ask_device(device, "its utilization", f_.utilization, &rates));
    return Utilization{rates.gpu / kPercent, rates.memory / kPercent};
  }

  Result<double> sm_clock(unsigned device) const override { return clock(device, abi::kClockSm); }
  Result<double> memory_clock(unsigned device) const override { return clock(device, abi::kClockMemory); }

  Result<double> temperature(unsigned device) const override {
    unsigned degrees = 0;
    PLIMSOLL_TRY(ask_device(device, "its temperature", f_.temperature, abi::kTemperatureGpu, &degrees));
    return degrees;
  }

  Result<std::uint64_t> throttle(unsigned device) const override {
    unsigned long long reasons = 0;
    PLIMSOLL_TRY(ask_device(device, "why its clocks are low", f_.throttle, &reasons));
    return reasons;
  }

  Result<std::vector<ProcessUtilization>> process_utilization(unsigned device,
                                                              std::uint64_t since) const override {
    const Result<abi::Device> handle = handle_of(device);
    if (!handle) return std::unexpected(handle.error());
    std::vector<abi::ProcessUtilization> found(256);
    abi::Return code = abi::kNotSupported;
    for (int attempt = 0; attempt < 8 && f_.process_utilization != nullptr; ++attempt) {
      auto count = static_cast<unsigned>(found.size());
      code = f_.process_utilization(*handle, found.data(), &count, since);
      if (code == abi::kInsufficientSize) {
        found.resize(std::max<std::size_t>(found.size() * 2, std::min(count, 1U << 20U)));
        continue;
      }
      found.resize(std::min<std::size_t>(count, found.size()));
      break;
    }
    if (code == abi::kNotSupported && f_.processes_utilization != nullptr)
      return newer_process_utilization(*handle, since);
    std::vector<ProcessUtilization> out;
    if (code == abi::kNotFound) return out;
    if (code != abi::kSuccess) return std::unexpected(refused(f_, "the processes' utilization", code));
    for (const abi::ProcessUtilization& p : found)
      if (p.pid != 0) out.push_back({p.pid, p.time, p.sm / kPercent, p.memory / kPercent});
    return out;
  }

  bool is_for_one_process(unsigned device) const override {
    constexpr unsigned kExclusiveProcess = 3;  // NVML_COMPUTEMODE_EXCLUSIVE_PROCESS
    unsigned mode = 0;
    return ask_device(device, "its compute mode", f_.compute_mode, &mode) && mode == kExclusiveProcess;
  }

  bool is_mig(unsigned device) const override {
    unsigned current = 0;
    unsigned pending = 0;
    // A GPU that knows no MIG says so as an error.
    return ask_device(device, "its MIG mode", f_.mig_mode, &current, &pending) && current != 0;
  }

  Result<std::vector<MigInstance>> mig_instances(unsigned device) const override {
    std::vector<MigInstance> out;
    if (!is_mig(device)) return out;
    unsigned most = 0;
    PLIMSOLL_TRY(ask_device(device, "its MIG devices", f_.mig_count, &most));
    for (unsigned i = 0; i < std::min(most, 64U); ++i) {
      abi::Device slice = nullptr;
      if (!ask_device(device, "a MIG device", f_.mig_by_index, i, &slice)) continue;  // not made
      MigInstance instance{.number = i};
      if (!ask("a GPU instance", f_.gpu_instance, slice, &instance.gpu_instance)) continue;
      if (!ask("a compute instance", f_.compute_instance, slice, &instance.compute_instance)) continue;
      describe(slice, instance);
      out.push_back(std::move(instance));
    }
    return out;
  }

  Result<std::vector<Process>> mig_processes(unsigned device, unsigned number) const override {
    abi::Device slice = nullptr;
    PLIMSOLL_TRY(ask_device(device, "a MIG device", f_.mig_by_index, number, &slice));
    return processes_on(slice);
  }

  Result<std::unique_ptr<ActivityWindow>> watch_activity(
      unsigned device, std::optional<unsigned> gpu_instance) const override {
    const Result<abi::Device> handle = handle_of(device);
    if (!handle) return std::unexpected(handle.error());
    return open_activity_window(f_, *handle, gpu_instance);
  }

 private:
  Result<double> clock(unsigned device, int domain) const {
    unsigned megahertz = 0;
    PLIMSOLL_TRY(ask_device(device, "its clock", f_.clock, domain, &megahertz));
    return megahertz * 1e6;
  }

  Result<std::vector<ProcessUtilization>> newer_process_utilization(abi::Device handle,
                                                                    std::uint64_t since) const {
    std::vector<abi::ProcessUtilizationV1> found(256);
    for (int attempt = 0; attempt < 8; ++attempt) {
      abi::ProcessesUtilizationV1 request{.version = abi::kProcessesUtilizationV1,
                                          .count = static_cast<unsigned>(found.size()),
                                          .last_seen = since,
                                          .samples = found.data()};
      const abi::Return code = f_.processes_utilization(handle, &request);
      if (code == abi::kInsufficientSize) {
        found.resize(std::max<std::size_t>(found.size() * 2, std::min(request.count, 1U << 20U)));
        continue;
      }
      std::vector<ProcessUtilization> out;
      if (code == abi::kNotFound) return out;
      if (code != abi::kSuccess) return std::unexpected(refused(f_, "the processes' utilization", code));
      for (const abi::ProcessUtilizationV1& p :
           std::span(found).first(std::min<std::size_t>(request.count, found.size())))
        if (p.pid != 0) out.push_back({p.pid, p.time, p.sm / kPercent, p.memory / kPercent});
      return out;
    }
    return lacks("the list of processes grew faster than it could be read");
  }

  template <class Function, class... Args>
  Status ask(std::string_view what, Function* function, Args... args) const {
    if (function == nullptr) return std::unexpected(cannot_tell(what));
    if (const abi::Return code = function(args...); code != abi::kSuccess)
      return std::unexpected(refused(f_, what, code));
    return {};
  }

  template <class Function, class... Args>
  Status ask_device(unsigned device, std::string_view what, Function* function, Args... args) const {
    const Result<abi::Device> handle = handle_of(device);
    Status status = handle ? ask(what, function, *handle, args...) : std::unexpected(handle.error());
    if (!status) return std::unexpected(std::move(status).error().within(fmt::format("GPU {}", device)));
    return status;
  }

  /// Handles stay valid until shutdown, and asking for one may wake a GPU: each is asked for once.
  Result<abi::Device> handle_of(unsigned device) const {
    abi::Device handle = device < handles_.size() ? handles_[device].load() : nullptr;
    if (handle != nullptr) return handle;
    PLIMSOLL_TRY(ask("a handle", f_.device_by_index, device, &handle));
    if (device < handles_.size()) handles_[device] = handle;
    return handle;
  }

  Result<Memory> memory_of(abi::Device handle) const {
    if (f_.memory_v2 != nullptr) {
      abi::MemoryV2 info{.version = abi::kMemoryV2, .total = 0, .reserved = 0, .free = 0, .used = 0};
      // The second version leaves the reserved part out of `used`; the first counts it in, and so do we.
      if (ask("its memory", f_.memory_v2, handle, &info))
        return Memory{bytes(info.total), bytes(info.free), bytes(info.used) + bytes(info.reserved),
                      bytes(info.reserved)};
    }
    abi::Memory info{};
    PLIMSOLL_TRY(ask("its memory", f_.memory, handle, &info));
    return Memory{bytes(info.total), bytes(info.free), bytes(info.used)};
  }

  /// What is told of a slice beside its numbers; what is not, stays absent.
  void describe(abi::Device slice, MigInstance& instance) const {
    std::array<char, abi::kUuidLength> uuid{};
    if (ask("a UUID", f_.uuid, slice, uuid.data(), unsigned{uuid.size()})) instance.uuid = text_of(uuid);
    std::array<char, abi::kNameLength> name{};
    if (ask("a name", f_.name, slice, name.data(), unsigned{name.size()})) instance.name = text_of(name);
    abi::Attributes attributes{};
    if (ask("a slice's size", f_.attributes, slice, &attributes)) {
      if (attributes.gpu_slices > 0) instance.slices = attributes.gpu_slices;
      if (attributes.multiprocessors > 0) instance.multiprocessors = attributes.multiprocessors;
    }
    if (const auto memory = memory_of(slice)) instance.memory = *memory;
  }

  Result<std::vector<Process>> processes_on(abi::Device handle) const {
    auto listed = listed_by(handle, f_.processes);
    if (!listed || f_.mps_processes == nullptr) return listed;
    // Clients of an MPS daemon stand in a list of their own; drivers that cannot list them have none.
    for (const Process& client : listed_by(handle, f_.mps_processes).value_or(std::vector<Process>{}))
      if (std::ranges::find(*listed, client.pid, &Process::pid) == listed->end()) listed->push_back(client);
    return listed;
  }

  Result<std::vector<Process>> listed_by(abi::Device handle, abi::DeviceProcesses* function) const {
    if (function == nullptr) return std::unexpected(cannot_tell("the running processes"));
    std::vector<abi::ProcessInfo> found(64);
    // Processes may start between two calls, so that a sufficient size is insufficient again.
    for (int attempt = 0; attempt < 8; ++attempt) {
      auto count = static_cast<unsigned>(found.size());
      const abi::Return code = function(handle, &count, found.data());
      if (code == abi::kInsufficientSize) {
        found.resize(std::max<std::size_t>(found.size() * 2, std::min(count, 1U << 20U)));
        continue;
      }
      if (code != abi::kSuccess) return std::unexpected(refused(f_, "the running processes", code));
      std::vector<Process> processes;
      for (const abi::ProcessInfo& info : std::span(found).first(std::min<std::size_t>(count, found.size())))
        processes.push_back(process_of(info));
      return processes;
    }
    return lacks("the list of processes grew faster than it could be read");
  }

  Lookup lookup_;  // keeps the library loaded: destroyed after the destructor's body has shut it down
  Functions f_;
  mutable std::array<std::atomic<abi::Device>, 64> handles_{};
};

}  // namespace

std::string mig_profile(std::string_view name) {
  constexpr std::string_view kBefore = " MIG ";
  const auto at = name.rfind(kBefore);
  return at == std::string_view::npos ? std::string() : std::string(name.substr(at + kBefore.size()));
}

Result<std::unique_ptr<Library>> bind(Lookup lookup) {
  const Functions f = find_functions(lookup);
  if (f.init == nullptr || f.shutdown == nullptr || f.device_count == nullptr || f.device_by_index == nullptr)
    return lacks(
        "the library opened is not NVIDIA's management library: it has no nvmlInit_v2, nvmlShutdown, "
        "nvmlDeviceGetCount_v2 or nvmlDeviceGetHandleByIndex_v2");
  if (const abi::Return code = f.init(); code != abi::kSuccess) {
    const char* words = f.error_string == nullptr ? nullptr : f.error_string(code);
    return lacks(fmt::format("cannot be initialised: {} (code {})", words == nullptr ? "error" : words, code),
                 code == abi::kDriverNotLoaded
                     ? "load NVIDIA's kernel driver; in a container, pass the GPUs in"
                     : std::string());
  }
  return std::make_unique<DriverLibrary>(std::move(lookup), f);
}

Result<std::unique_ptr<Library>> open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return lacks(fmt::format("cannot open {}: {}", path, reason == nullptr ? "unknown reason" : reason),
                 "NVIDIA's driver brings this library; without an NVIDIA GPU nothing is wrong");
  }
  // Shared because std::function copies what it holds; the last copy closes the library.
  std::shared_ptr<void> library(handle, [](void* opened) { dlclose(opened); });
  return bind([library = std::move(library)](const char* symbol) { return dlsym(library.get(), symbol); });
}

Result<std::unique_ptr<Library>> open() {
  const char* override_path = std::getenv("PLIMSOLL_NVML_LIBRARY");
  return open(override_path != nullptr && *override_path != '\0' ? override_path : kDefaultLibrary);
}

}  // namespace plimsoll::nvml
