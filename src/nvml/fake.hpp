#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nvml/library.hpp"

namespace plimsoll::nvml {

/// One GPU of a FakeLibrary. What is absent is answered as a driver answers what it does not support.
struct FakeDevice {
  std::string name;
  std::string uuid = "GPU-00000000-0000-0000-0000-000000000000";
  std::optional<Memory> memory = {};
  std::optional<ComputeCapability> capability = {};
  std::optional<Watts> power_limit = {};
  std::optional<std::vector<Process>> processes = {};
  std::optional<Power> power = {};
  std::optional<Joules> energy = {};
  std::optional<Utilization> utilization = {};
  std::optional<double> sm_clock = {};
  std::optional<double> memory_clock = {};
  std::optional<double> temperature = {};
  std::optional<std::uint64_t> throttle = {};
  std::optional<std::vector<ProcessUtilization>> process_utilization = {};
  std::vector<MigInstance> mig = {};
  bool for_one_process = false;                                 ///< exclusive-process mode
  bool mig_mode = false;                                        ///< also without an instance
  std::map<unsigned, std::vector<Process>> mig_processes = {};  ///< by the instance's number
  std::optional<Activity> activity = {};
  std::map<unsigned, Activity> instance_activity = {};  ///< by GPU instance
};

/// NVML for tests: answers from values, which a test may change between questions.
class FakeLibrary : public Library {
 public:
  explicit FakeLibrary(std::vector<FakeDevice> devices, std::string driver = "550.54.15")
      : devices_(std::move(devices)), driver_(std::move(driver)) {}

  [[nodiscard]] FakeDevice& device(unsigned index) { return devices_.at(index); }

  Result<std::string> driver_version() const override { return driver_; }
  Result<unsigned> device_count() const override { return static_cast<unsigned>(devices_.size()); }
  Result<std::string> name(unsigned device) const override { return answer(device, &FakeDevice::name); }
  Result<std::string> uuid(unsigned device) const override { return answer(device, &FakeDevice::uuid); }
  Result<Memory> memory(unsigned device) const override {
    return required(answer(device, &FakeDevice::memory));
  }
  Result<ComputeCapability> compute_capability(unsigned device) const override {
    return required(answer(device, &FakeDevice::capability));
  }
  Result<Watts> enforced_power_limit(unsigned device) const override {
    return required(answer(device, &FakeDevice::power_limit));
  }
  Result<std::vector<Process>> processes(unsigned device) const override {
    return required(answer(device, &FakeDevice::processes));
  }
  Result<Power> power(unsigned device) const override { return required(answer(device, &FakeDevice::power)); }
  Result<Joules> energy(unsigned device) const override {
    return required(answer(device, &FakeDevice::energy));
  }
  Result<Utilization> utilization(unsigned device) const override {
    return required(answer(device, &FakeDevice::utilization));
  }
  Result<double> sm_clock(unsigned device) const override {
    return required(answer(device, &FakeDevice::sm_clock));
  }
  Result<double> memory_clock(unsigned device) const override {
    return required(answer(device, &FakeDevice::memory_clock));
  }
  Result<double> temperature(unsigned device) const override {
    return required(answer(device, &FakeDevice::temperature));
  }
  Result<std::uint64_t> throttle(unsigned device) const override {
    return required(answer(device, &FakeDevice::throttle));
  }
  Result<std::vector<ProcessUtilization>> process_utilization(unsigned device,
                                                              std::uint64_t since) const override {
    auto all = required(answer(device, &FakeDevice::process_utilization));
    if (all) std::erase_if(*all, [since](const ProcessUtilization& p) { return p.time <= since; });
    return all;
  }
  Result<std::vector<MigInstance>> mig_instances(unsigned device) const override {
    return answer(device, &FakeDevice::mig);
  }
  bool is_for_one_process(unsigned device) const override {
    return device < devices_.size() && devices_[device].for_one_process;
  }
  bool is_mig(unsigned device) const override {
    return device < devices_.size() && (devices_[device].mig_mode || !devices_[device].mig.empty());
  }
  Result<std::vector<Process>> mig_processes(unsigned device, unsigned number) const override {
    const auto all = answer(device, &FakeDevice::mig_processes);
    if (!all) return std::unexpected(all.error());
    const auto found = all->find(number);
    if (found == all->end()) return lacks("Not Supported (code 3)");
    return found->second;
  }
  Result<std::unique_ptr<ActivityWindow>> watch_activity(
      unsigned device, std::optional<unsigned> gpu_instance) const override {
    auto window = std::make_unique<Window>(*this, device, gpu_instance);
    if (const Result<Activity> now = window->advance(true); !now) return std::unexpected(now.error());
    return window;
  }

 private:
  class Window final : public ActivityWindow {
   public:
    Window(const FakeLibrary& library, unsigned device, std::optional<unsigned> gpu_instance)
        : library_(&library), device_(device), gpu_instance_(gpu_instance) {}
    Result<Activity> advance(bool costly) override {
      auto activity = all();
      for (std::size_t i = 0; activity && i < activity->size(); ++i)
        if (kActivityMetrics[i].costly && !costly) (*activity)[i].reset();
      return activity;
    }

   private:
    [[nodiscard]] Result<Activity> all() const {
      if (!gpu_instance_) return required(library_->answer(device_, &FakeDevice::activity));
      const auto instances = library_->answer(device_, &FakeDevice::instance_activity);
      if (!instances || !instances->contains(*gpu_instance_)) return lacks("Not Supported (code 3)");
      return instances->at(*gpu_instance_);
    }

    const FakeLibrary* library_;
    unsigned device_;
    std::optional<unsigned> gpu_instance_;
  };

  static std::unexpected<Error> lacks(std::string message) {
    return std::unexpected(Error{std::move(message), "NVML", {}, Error::Kind::machine_lacks});
  }
  template <class T>
  Result<T> answer(unsigned device, T FakeDevice::* member) const {
    if (device >= devices_.size()) return lacks("no such GPU");
    return devices_[device].*member;
  }
  template <class T>
  static Result<T> required(Result<std::optional<T>> answer) {
    if (!answer) return std::unexpected(std::move(answer).error());
    if (!*answer) return lacks("Not Supported (code 3)");
    return **std::move(answer);
  }

  std::vector<FakeDevice> devices_;
  std::string driver_;
};

}  // namespace plimsoll::nvml
