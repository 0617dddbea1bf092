#pragma once
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
};

/// NVML for tests: answers from values.
class FakeLibrary final : public Library {
 public:
  explicit FakeLibrary(std::vector<FakeDevice> devices, std::string driver = "550.54.15")
      : devices_(std::move(devices)), driver_(std::move(driver)) {}

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

 private:
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
