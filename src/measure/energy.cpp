#include "measure/energy.hpp"

namespace plimsoll::measure {
namespace {

constexpr double kLeastPeriods = 10;

class GpuCounter final : public EnergyCounter {
 public:
  GpuCounter(const nvml::Library& library, unsigned device) : library_(&library), device_(device) {}
  std::optional<Joules> read() override {
    const auto energy = library_->energy(device_);
    return energy ? std::optional(*energy) : std::nullopt;
  }
  /// Boards measure their power every 20 to 100 ms (Yang, Adamek and Armour, "Part-time Power Measurements:
  /// nvidia-smi's Lack of Attention", 2023): the longest of them.
  [[nodiscard]] double period() const override { return 0.1; }
  [[nodiscard]] std::string source() const override { return "NVML"; }

 private:
  const nvml::Library* library_;
  unsigned device_;
};

class CpuCounter final : public EnergyCounter {
 public:
  explicit CpuCounter(std::vector<telemetry::PackageEnergy> packages) : packages_(std::move(packages)) {}
  std::optional<Joules> read() override {
    Joules sum;
    for (telemetry::PackageEnergy& package : packages_) {
      const auto joules = package.joules(buffer_);
      if (!joules) return std::nullopt;
      sum += Joules(*joules);
    }
    return sum;
  }
  [[nodiscard]] double period() const override { return 0.001; }
  [[nodiscard]] std::string source() const override { return "RAPL"; }

 private:
  std::vector<telemetry::PackageEnergy> packages_;
  telemetry::ReadBuffer buffer_{};
};

}  // namespace

std::unique_ptr<EnergyCounter> gpu_counter(const nvml::Library& library, unsigned device) {
  const auto slices = library.mig_instances(device);
  if ((slices && !slices->empty()) || !library.energy(device)) return nullptr;
  return std::make_unique<GpuCounter>(library, device);
}

std::unique_ptr<EnergyCounter> cpu_counter(const std::filesystem::path& sys) {
  std::vector<telemetry::PackageEnergy> packages = telemetry::find_packages(sys);
  if (packages.empty()) return nullptr;
  auto counter = std::make_unique<CpuCounter>(std::move(packages));
  return counter->read() ? std::move(counter) : nullptr;
}

void EnergyMeter::begin(EnergyCounter* counter) {
  counter_ = counter;
  begin_ = counter == nullptr ? std::nullopt : counter->read();
}

std::optional<Energy> EnergyMeter::end(const job::Window& window) {
  const auto now = counter_ == nullptr || !begin_ ? std::nullopt : counter_->read();
  if (!now || window.passes <= 0 || window.seconds < kLeastPeriods * counter_->period()) return std::nullopt;
  const Joules used = *now - *begin_;
  if (used <= Joules()) return std::nullopt;  // reset, or a counter that stands still
  return Energy{.per_pass = used / static_cast<double>(window.passes),
                .window = used,
                .seconds = window.seconds,
                .passes = window.passes,
                .uncertainty = 2 * counter_->period() / window.seconds,
                .source = counter_->source()};
}

}  // namespace plimsoll::measure
