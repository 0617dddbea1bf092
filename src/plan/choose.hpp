#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "hardware/device.hpp"
#include "hardware/network_facts.hpp"
#include "hardware/prices.hpp"
#include "plan/known.hpp"

/// Which device: every device of a catalogue, with every form of a network that it may run, against limits.
namespace plimsoll::plan {

struct Limits {
  std::optional<Seconds> latency = {};             ///< of one image
  std::optional<Watts> power = {};                 ///< peak, of the board
  std::optional<double> mass = {};                 ///< kg
  std::optional<std::array<double, 3>> size = {};  ///< m, in any order
  std::optional<MoneyPerHour> price_per_hour = {};
  std::optional<double> accuracy = {};  ///< share, at least
  std::optional<Seconds> boot = {};
  bool updates_in_place = false;
};

/// A form of the network: another depth multiplier, say.
struct Variant {
  std::string name;  ///< as catalogues name it: "mobilenet_v1_0.25"
  std::optional<double> depth = {};
  std::vector<hardware::Accuracy> accuracies = {};
  std::vector<hardware::MemoryNeed> memories = {};
};

/// One pass of a batch on a device: by whom is the caller's business. Low and high are the 95 % interval.
struct Pass {
  Seconds time, low, high;
  std::optional<Joules> energy = {}, low_energy = {}, high_energy = {};
  Provenance provenance = Provenance::datasheet;
  std::string source = {};
};
/// What a form of the network needs of memory at a batch.
struct Memory {
  Bytes weights;
  Bytes largest_tensor;             ///< no runtime gets along with less beside the weights
  std::optional<Bytes> whole = {};  ///< what a framework on a large device takes; absent where unknown
  std::string source = {};          ///< of `whole`
};
/// What is not in the catalogue is asked of these. Either may say that it does not know.
struct Estimators {
  std::function<Result<Pass>(std::size_t variant, const hardware::Device&, hardware::Arithmetic,
                             std::int64_t batch)>
      pass;
  std::function<Result<Memory>(std::size_t variant, const hardware::Device&, hardware::Arithmetic,
                               std::int64_t batch)>
      memory;
  /// FLOPs of one sample, below which no device gets at its peak rate.
  std::function<Flops(std::size_t variant)> work;
};

struct Question {
  std::vector<Variant> variants = {};
  std::vector<hardware::Arithmetic> arithmetics = {};  ///< to consider; empty: what each device runs
  std::int64_t patches = 1;                            ///< passes of one sample that an image takes
  Limits limits = {};
};

enum class Aspect : std::uint8_t {
  precision,
  memory,
  latency,
  power,
  mass,
  size,
  price,
  accuracy,
  boot,
  updates
};
[[nodiscard]] std::string_view name(Aspect aspect);

/// One limit on one candidate.
struct Check {
  Aspect aspect = Aspect::latency;
  Standing standing = Standing::unknown;
  std::optional<Known> figure = {};   ///< what the device has; the longest side for a size
  std::optional<double> limit = {};   ///< in the figure's unit; absent where it is none of numbers
  std::optional<double> excess = {};  ///< by how much it fails, at least
  std::string note = {};              ///< why it is unknown, or what the figure leaves out
};

/// One device that runs one form of the network in one arithmetic.
struct Candidate {
  const hardware::Device* device = nullptr;  ///< into the catalogue that was asked
  std::size_t variant = 0;
  hardware::Arithmetic arithmetic = hardware::Arithmetic::fp32;
  std::int64_t batch = 1;
  std::optional<Known> pass = {};    ///< s
  std::optional<Known> image = {};   ///< s: all its patches
  std::optional<Known> energy = {};  ///< J per image
  std::optional<Known> accuracy = {};
  std::vector<Check> checks = {};
  bool on_front = false;  ///< fails nothing, and none that fails nothing is better in all that is known

  [[nodiscard]] std::size_t count(Standing standing) const;
};

struct Choice {
  std::vector<Candidate> candidates;            ///< by device, variant, arithmetic
  std::vector<std::size_t> ranked;              ///< best first: fewest failures, fewest unknowns, accuracy,
                                                ///< energy, time
  std::optional<std::size_t> recommended = {};  ///< fails nothing, and leaves least unknown
  std::string reason;
  [[nodiscard]] bool certain() const {  ///< the recommended one is known to meet every limit
    return recommended && candidates[*recommended].count(Standing::unknown) == 0;
  }
};

/// Pure. A figure that is missing makes a standing unknown, never met. Measured times are taken before
/// estimates; equal cores scale with their clocks and say so.
[[nodiscard]] Choice choose(const Question& question, std::span<const hardware::Device* const> devices,
                            std::span<const hardware::Device> catalogue,
                            std::span<const hardware::Offer> offers, const Estimators& estimators);

/// The limit that a device breaks by itself, whatever runs on it: power, mass, size, price, boot or updates.
[[nodiscard]] std::optional<Aspect> ruled_out_by(const Candidate& candidate);

/// The best form that each device can run, best device first.
[[nodiscard]] std::vector<std::size_t> best_of_each_device(const Choice& choice);

}  // namespace plimsoll::plan
