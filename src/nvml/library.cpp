#include "nvml/library.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

#include <dlfcn.h>

#include "nvml/abi.hpp"

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

/// The functions found; null where the driver is too old to have one.
struct Functions {
  abi::Init* init = nullptr;
  abi::Shutdown* shutdown = nullptr;
  abi::ErrorString* error_string = nullptr;
  abi::SystemText* driver_version = nullptr;
  abi::DeviceCount* device_count = nullptr;
  abi::DeviceByIndex* device_by_index = nullptr;
  abi::DeviceText* name = nullptr;
  abi::DeviceText* uuid = nullptr;
  abi::DeviceMemory* memory = nullptr;
  abi::DeviceMemoryV2* memory_v2 = nullptr;
  abi::DeviceCapability* capability = nullptr;
  abi::DeviceNumber* power_limit = nullptr;
  abi::DeviceProcesses* processes = nullptr;
  abi::DeviceProcesses* mps_processes = nullptr;
};

template <class Function>
void resolve(const Lookup& lookup, Function*& target, std::initializer_list<const char*> symbols) {
  for (const char* symbol : symbols)
    if (target == nullptr) target = reinterpret_cast<Function*>(lookup(symbol));
}

Functions find_functions(const Lookup& lookup) {
  Functions f;
  resolve(lookup, f.init, {"nvmlInit_v2", "nvmlInit"});
  resolve(lookup, f.shutdown, {"nvmlShutdown"});
  resolve(lookup, f.error_string, {"nvmlErrorString"});
  resolve(lookup, f.driver_version, {"nvmlSystemGetDriverVersion"});
  resolve(lookup, f.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  resolve(lookup, f.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  resolve(lookup, f.name, {"nvmlDeviceGetName"});
  resolve(lookup, f.uuid, {"nvmlDeviceGetUUID"});
  resolve(lookup, f.memory, {"nvmlDeviceGetMemoryInfo"});
  resolve(lookup, f.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  resolve(lookup, f.capability, {"nvmlDeviceGetCudaComputeCapability"});
  resolve(lookup, f.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  resolve(lookup, f.processes,
          {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  resolve(lookup, f.mps_processes,
          {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
  return f;
}

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
    if (f_.memory_v2 != nullptr) {
      abi::MemoryV2 info{.version = abi::kMemoryV2, .total = 0, .reserved = 0, .free = 0, .used = 0};
      // The second version leaves the reserved part out of `used`; the first counts it in, and so do we.
      if (ask_device(device, "its memory", f_.memory_v2, &info))
        return Memory{bytes(info.total), bytes(info.free), bytes(info.used) + bytes(info.reserved),
                      bytes(info.reserved)};
    }
    abi::Memory info{};
    PLIMSOLL_TRY(ask_device(device, "its memory", f_.memory, &info));
    return Memory{bytes(info.total), bytes(info.free), bytes(info.used)};
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
    auto listed = listed_by(device, f_.processes);
    if (!listed || f_.mps_processes == nullptr) return listed;
    // Clients of an MPS daemon stand in a list of their own; drivers that cannot list them have none.
    for (const Process& client : listed_by(device, f_.mps_processes).value_or(std::vector<Process>{}))
      if (std::ranges::find(*listed, client.pid, &Process::pid) == listed->end()) listed->push_back(client);
    return listed;
  }

 private:
  Error refused(std::string_view what, abi::Return code) const {
    const char* words = f_.error_string == nullptr ? nullptr : f_.error_string(code);
    Error error{fmt::format("does not tell {}: {}", what, words == nullptr ? "error" : words), "NVML"};
    error.message += fmt::format(" (code {})", code);
    error.kind = Error::Kind::machine_lacks;
    return error;
  }

  template <class Function, class... Args>
  Status ask(std::string_view what, Function* function, Args... args) const {
    if (function == nullptr) return lacks(fmt::format("this driver's library cannot tell {}", what));
    if (const abi::Return code = function(args...); code != abi::kSuccess)
      return std::unexpected(refused(what, code));
    return {};
  }

  template <class Function, class... Args>
  Status ask_device(unsigned device, std::string_view what, Function* function, Args... args) const {
    abi::Device handle = nullptr;
    Status status = ask("a handle", f_.device_by_index, device, &handle);
    if (status) status = ask(what, function, handle, args...);
    if (!status) return std::unexpected(std::move(status).error().within(fmt::format("GPU {}", device)));
    return status;
  }

  Result<std::vector<Process>> listed_by(unsigned device, abi::DeviceProcesses* function) const {
    abi::Device handle = nullptr;
    PLIMSOLL_TRY(ask("a handle", f_.device_by_index, device, &handle));
    if (function == nullptr) return lacks("this driver's library cannot tell the running processes");
    std::vector<abi::ProcessInfo> found(64);
    // Processes may start between two calls, so that a sufficient size is insufficient again.
    for (int attempt = 0; attempt < 8; ++attempt) {
      auto count = static_cast<unsigned>(found.size());
      const abi::Return code = function(handle, &count, found.data());
      if (code == abi::kInsufficientSize) {
        found.resize(std::max<std::size_t>(found.size() * 2, std::min(count, 1U << 20U)));
        continue;
      }
      if (code != abi::kSuccess) return std::unexpected(refused("the running processes", code));
      std::vector<Process> processes;
      for (const abi::ProcessInfo& info : std::span(found).first(std::min<std::size_t>(count, found.size())))
        processes.push_back({info.pid, info.used_memory == abi::kValueNotAvailable
                                           ? std::nullopt
                                           : std::optional(bytes(info.used_memory))});
      return processes;
    }
    return lacks("the list of processes grew faster than it could be read");
  }

  Lookup lookup_;  // keeps the library loaded: destroyed after the destructor's body has shut it down
  Functions f_;
};

}  // namespace

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
