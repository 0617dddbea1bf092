#include "probe/power.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "cuda/protocol.hpp"
#include "measure/energy.hpp"

namespace plimsoll::probe {
namespace {

constexpr int kLeastChanges = 10;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The counter of the GPU that plimsoll-cuda says it is on; null where it has none.
std::unique_ptr<measure::EnergyCounter> counter_of(const nvml::Library& library, const cuda::Device& device) {
  const Result<unsigned> count = library.device_count();
  for (unsigned i = 0; count && i < *count; ++i) {
    const Result<std::string> uuid = library.uuid(i);
    if (uuid && *uuid == device.uuid) return measure::gpu_counter(library, i);
  }
  return nullptr;
}

bool has_any_counter(const nvml::Library& library) {
  const Result<unsigned> count = library.device_count();
  for (unsigned i = 0; count && i < *count; ++i)
    if (measure::gpu_counter(library, i) != nullptr) return true;
  return false;
}

/// One load: reads the counter in every turn between the window's begin and its end.
class LoadWatch {
 public:
  LoadWatch(const nvml::Library& library, cuda::Load load) : library_(&library), load_(load) {}

  void greeted(const cuda::Device& device) { counter_ = counter_of(*library_, device); }
  [[nodiscard]] bool lacks_counter() const { return counter_ == nullptr; }  ///< once it has greeted
  void turn() {
    if (!working_ || counter_ == nullptr) return;
    if (const auto joules = counter_->read()) ticks_.read(now(), *joules);
  }
  void window(const cuda::Window& window) {
    turn();
    working_ = window.begin;
    if (!window.begin) done_ = window;
    turn();
  }
  [[nodiscard]] std::optional<LoadPower> found() const {
    const auto power = ticks_.power();
    if (!done_ || !power) return std::nullopt;
    const auto per = [&](const std::optional<double>& amount) {
      return amount && *amount > 0 ? std::optional((power->mean * Seconds(done_->seconds)).value() / *amount)
                                   : std::nullopt;
    };
    return LoadPower{.load = load_,
                     .power = power->mean,
                     .seconds = power->seconds,
                     .uncertainty = power->uncertainty,
                     .joules_per_flop = per(done_->flops),
                     .joules_per_byte = per(done_->bytes)};
  }

 private:
  const nvml::Library* library_;
  cuda::Load load_;
  std::unique_ptr<measure::EnergyCounter> counter_;
  TickedPower ticks_;
  std::optional<cuda::Window> done_;
  bool working_ = false;
};

/// The caller's listener, who hears the progress of all loads together, and the watch.
CudaListener both(const CudaListener& outer, LoadWatch& watch, bool& lacking, double before, double share) {
  CudaListener listener = outer;
  listener.on_device = [&](const cuda::Device& device) {
    watch.greeted(device);
    lacking = watch.lacks_counter();
    if (outer.on_device) outer.on_device(device);
  };
  listener.on_progress = [&outer, before, share](const cuda::Progress& progress) {
    if (outer.on_progress) outer.on_progress({progress.phase, before + share * progress.done});
  };
  listener.on_window = [&](const cuda::Window& window) {
    watch.window(window);
    if (outer.on_window) outer.on_window(window);
  };
  listener.on_turn = [&] {
    watch.turn();
    if (outer.on_turn) outer.on_turn();
  };
  listener.interrupted = [&] { return lacking || (outer.interrupted && outer.interrupted()); };
  return listener;
}

hardware::Ceiling ceiling(std::string name, double value, std::string unit, const LoadPower& load,
                          const std::string& date) {
  return {.name = std::move(name),
          .figure = {.value = value,
                     .provenance = Provenance::measured,
                     .source = fmt::format("NVML's energy counter over {:.1f} s of {}", load.seconds,
                                           cuda::name(load.load)),
                     .date = date},
          .unit = std::move(unit),
          .spread = load.uncertainty,
          .at = {},
          .share_of_peak = {}};
}

}  // namespace

void TickedPower::read(double time, Joules counter) {
  if (previous_) {
    longest_gap_ = std::max(longest_gap_, time - previous_->time);
    went_back_ = went_back_ || counter < previous_->counter;
    if (counter != previous_->counter) {
      last_ = {time, counter};
      if (!first_) first_ = last_;
      ++changes_;
    }
  }
  previous_ = {time, counter};
}

std::optional<TickedPower::Power> TickedPower::power() const {
  if (went_back_ || changes_ < kLeastChanges) return std::nullopt;
  const double seconds = last_->time - first_->time;
  if (seconds <= 0) return std::nullopt;
  return Power{.mean = (last_->counter - first_->counter) / Seconds(seconds),
               .seconds = seconds,
               .uncertainty = longest_gap_ / seconds};
}

Result<PowerFindings> study_power(const std::filesystem::path& program, const nvml::Library& library,
                                  const PowerStudy& study, const CudaLimits& limits,
                                  const CudaListener& listener) {
  PowerFindings findings;
  const auto without_counter = [&] {
    findings.remarks.emplace_back(
        "power and energy are not known: the driver has no energy counter for this GPU");
    return findings;
  };
  if (!has_any_counter(library)) return without_counter();
  const double share = 1 / static_cast<double>(std::max<std::size_t>(study.loads.size(), 1));
  double before = 0;
  for (const cuda::Load load : study.loads) {
    LoadWatch watch(library, load);
    bool lacking = false;
    cuda::Job job{.task = cuda::Task::load, .device = study.device, .load = load, .seconds = study.seconds};
    const Result<CudaRun> run = run_cuda(program, job, limits, both(listener, watch, lacking, before, share));
    if (!run && before == 0) return std::unexpected(run.error());
    if (lacking) return without_counter();
    if (run && run->interrupted) {
      findings.interrupted = true;
      return findings;
    }
    const std::optional<LoadPower> found = watch.found();
    if (found)
      findings.loads.push_back(*found);
    else
      findings.remarks.push_back(fmt::format("the power of {} is not known: {}", cuda::name(load),
                                             !run ? run.error().text() : "the energy counter did not move"));
    before += share;
  }
  return findings;
}

std::vector<hardware::Ceiling> power_ceilings(const PowerFindings& findings, const std::string& date) {
  std::vector<hardware::Ceiling> ceilings;
  const LoadPower* most = nullptr;
  for (const LoadPower& load : findings.loads) {
    if (load.load == cuda::Load::idle) {
      ceilings.push_back(ceiling("idle-power", load.power.value(), "W", load, date));
      continue;
    }
    if (most == nullptr || load.power > most->power) most = &load;
    const std::string name = fmt::format("energy-{}", cuda::name(load.load));
    if (load.joules_per_flop) ceilings.push_back(ceiling(name, *load.joules_per_flop, "J/FLOP", load, date));
    if (load.joules_per_byte) ceilings.push_back(ceiling(name, *load.joules_per_byte, "J/B", load, date));
  }
  if (most != nullptr) ceilings.push_back(ceiling("load-power", most->power.value(), "W", *most, date));
  return ceilings;
}

}  // namespace plimsoll::probe
