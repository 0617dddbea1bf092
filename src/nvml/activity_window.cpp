#include <array>
#include <cmath>
#include <utility>

#include "nvml/functions.hpp"

namespace plimsoll::nvml {
namespace {

/// A buffer of the library for one moment's counters.
class Sample {
 public:
  explicit Sample(const Functions& functions) : free_(functions.gpm_free) {}
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  ~Sample() {
    if (handle != nullptr) free_(handle);
  }
  abi::GpmSample handle = nullptr;

 private:
  abi::GpmSampleFree* free_;
};

class GpmWindow final : public ActivityWindow {
 public:
  GpmWindow(const Functions& functions, abi::Device device, std::optional<unsigned> gpu_instance)
      : f_(functions),
        device_(device),
        gpu_instance_(gpu_instance),
        before_(functions),
        now_(functions),
        costly_before_(functions) {}

  Status begin() {
    for (Sample* sample : {&before_, &now_, &costly_before_})
      if (const abi::Return code = f_.gpm_allocate(&sample->handle); code != abi::kSuccess)
        return std::unexpected(refused(f_, "its activity", code));
    PLIMSOLL_TRY(take(costly_before_));
    return take(before_);
  }

  Result<Activity> advance(bool costly) override {
    PLIMSOLL_TRY(take(now_));
    Activity out;
    PLIMSOLL_TRY(read(before_, false, out));
    if (costly) {
      PLIMSOLL_TRY(read(costly_before_, true, out));
      PLIMSOLL_TRY(take(costly_before_));
    }
    std::swap(before_.handle, now_.handle);
    return out;
  }

 private:
  /// The metrics that are costly, or those that are not, from `from` till now.
  Status read(const Sample& from, bool costly, Activity& out) {
    std::array<std::size_t, kActivityMetrics.size()> places{};
    unsigned count = 0;
    for (std::size_t i = 0; i < kActivityMetrics.size(); ++i) {
      if (kActivityMetrics[i].costly != costly) continue;
      request_.metrics[count] = {.id = kActivityMetrics[i].id,
                                 .status = abi::kNotSupported,
                                 .value = 0,
                                 .short_name = nullptr,
                                 .long_name = nullptr,
                                 .unit = nullptr};
      places[count++] = i;
    }
    request_.version = abi::kGpmVersion;
    request_.count = count;
    request_.from = from.handle;
    request_.to = now_.handle;
    if (const abi::Return code = f_.gpm_metrics(&request_); code != abi::kSuccess)
      return std::unexpected(refused(f_, "its activity", code));
    for (unsigned i = 0; i < count; ++i) {
      const abi::GpmMetric& metric = request_.metrics[i];
      if (metric.status == abi::kSuccess && std::isfinite(metric.value) && metric.value >= 0)
        out[places[i]] = metric.value * kActivityMetrics[places[i]].scale;
    }
    return {};
  }

  Status take(const Sample& sample) {
    const abi::Return code = gpu_instance_ ? f_.gpm_take_mig(device_, *gpu_instance_, sample.handle)
                                           : f_.gpm_take(device_, sample.handle);
    if (code != abi::kSuccess) return std::unexpected(refused(f_, "its activity", code));
    return {};
  }

  Functions f_;
  abi::Device device_;
  std::optional<unsigned> gpu_instance_;
  Sample before_, now_, costly_before_;
  abi::GpmMetrics request_{};
};

}  // namespace

Result<std::unique_ptr<ActivityWindow>> open_activity_window(const Functions& functions, abi::Device device,
                                                             std::optional<unsigned> gpu_instance) {
  if (functions.gpm_support == nullptr || functions.gpm_allocate == nullptr ||
      functions.gpm_free == nullptr || functions.gpm_metrics == nullptr ||
      (gpu_instance ? functions.gpm_take_mig == nullptr : functions.gpm_take == nullptr))
    return std::unexpected(cannot_tell("its activity"));
  abi::GpmSupport support{.version = abi::kGpmVersion, .supported = 0};
  if (const abi::Return code = functions.gpm_support(device, &support); code != abi::kSuccess)
    return std::unexpected(refused(functions, "its activity", code));
  if (support.supported == 0) return std::unexpected(refused(functions, "its activity", abi::kNotSupported));
  auto window = std::make_unique<GpmWindow>(functions, device, gpu_instance);
  PLIMSOLL_TRY(window->begin());
  return window;
}

}  // namespace plimsoll::nvml
