#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "job/joining.hpp"
#include "job/learning.hpp"
#include "job/operator_case.hpp"
#include "job/swapping.hpp"
#include "network/binding.hpp"
#include "network/network.hpp"
#include "network/setting.hpp"

/// What plimsoll-engine is asked, and (answer.hpp) what it answers.
namespace plimsoll::job {

inline constexpr int kVersion = 1;

enum class Task : std::uint8_t {
  check,    ///< say which operators cannot be executed, and stop
  compute,  ///< one pass over given inputs; results go to a file (safetensors)
  examine,  ///< what a network takes examples for, and what its tensors hold meanwhile; results go to a file
  train,    ///< epochs over a given data set; losses and accuracies are told
  measure,  ///< time and memory of one setting
  calibrate,  ///< times of single operators; no network
  join,       ///< several networks learn at once and hold weights in common; no network of its own
  swap,       ///< several networks take turns in a memory; no network of its own
};

enum class Arrival : std::uint8_t { none, single_stream, multi_stream, server, offline };

[[nodiscard]] std::string_view name(Task task);
[[nodiscard]] std::string_view name(Arrival arrival);  ///< "single-stream"
[[nodiscard]] std::optional<Task> task_named(std::string_view name);
[[nodiscard]] std::optional<Arrival> arrival_named(std::string_view name);

/// Where the bytes of one stored tensor lie, as in memory: little endian, packed.
struct WeightLocation {
  network::TensorId tensor = network::kNoTensor;
  std::uint32_t file = 0;  ///< in Job::files
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const WeightLocation&, const WeightLocation&) = default;
};

/// What a run needs beside its setting so that it can be repeated.
struct Execution {
  double learning_rate = 0.01;
  bool deterministic = false;
  std::uint64_t seed = 0;    ///< of random weights, inputs, Dropout and shuffling
  std::int64_t threads = 0;  ///< of the CPU; 0: all cores
  /// Library of the eight-bit kernels, as Prepared::quantized_by names it; empty: the one that is best.
  std::string quantized_by = {};
  friend bool operator==(const Execution&, const Execution&) = default;
};

/// Queries as MLPerf Inference sends them. Latency counts from the scheduled time.
struct Scenario {
  Arrival arrival = Arrival::none;
  std::int64_t queries = 0;            ///< 0: as many as the time limit allows
  std::int64_t samples_per_query = 1;  ///< multi-stream: 8
  double queries_per_second = 0;       ///< server: the mean of the Poisson arrivals
  std::int64_t samples = 0;            ///< offline: in all; the last pass may be smaller than the batch
  friend bool operator==(const Scenario&, const Scenario&) = default;
};

/// How long to measure.
struct Protocol {
  double seconds = 10;  ///< at most this long in hot passes
  double relative_width =
      0.02;  ///< stop when the median's interval is as narrow as this, both sides together
  double confidence = 0.95;
  std::int64_t least_samples = 20;
  std::int64_t most_samples = 10'000;
  bool layers = false;        ///< time by layer, too
  double energy_seconds = 0;  ///< a window of steady passes for the energy counter; 0: none
  /// Every sample waits for a line on standard input, its end ends the timing; to take turns with another
  /// program. No stopping rule then.
  bool paced = false;
  std::string trace;  ///< file for the allocator's events; empty: none
  Scenario scenario;
  friend bool operator==(const Protocol&, const Protocol&) = default;
};

/// What to learn from: tensors of a safetensors file, the first dimension counts the examples.
struct Data {
  std::string file;
  std::string inputs = "inputs", labels = "labels";
  std::string test_inputs = "test_inputs", test_labels = "test_labels";  ///< may be absent from the file
  std::int64_t epochs = 1;
  bool shuffle = true;
  /// Of the examples to learn from, drawn by the seed, to test on; where the file has none to test on.
  double held_out = 0;
  std::int64_t examples = 0;  ///< to learn from at most, drawn by the seed; 0: all
  /// Another data set, on which the trained network is tested at the end: its part to test on, else all of
  /// it; arrays by their usual names. Empty: none.
  std::string other_file = {};
  friend bool operator==(const Data&, const Data&) = default;
};

/// Task::examine, beside Data and Learning::augmentation. Into Job::outputs_file go, by example, `predicted`,
/// `labels` (int64) and `losses` (float32); by number of `observed`, `range/0` (float64, low and high) and
/// `histogram/0` (float64, counts in kHistogramBins bins from low to high).
struct Examining {
  bool test = true;  ///< what the data has to test on, else of what there is to learn from, Data::examples
  std::vector<std::int64_t> places = {};  ///< of the test part: only these, in this order; empty: all
  std::vector<network::TensorId> observed = {};
  friend bool operator==(const Examining&, const Examining&) = default;
};
inline constexpr std::int64_t kHistogramBins = 2048;

struct Job {
  Task task = Task::measure;
  network::Network network;
  network::Binding binding;
  std::string device = "cpu";  ///< "cpu", "cuda:0"
  network::Setting setting;
  Execution execution = {};
  Protocol protocol;
  /// Contents of the weights. Where `random_weights`, those without a location are drawn with the seed; else
  /// a missing one is an error.
  std::vector<std::string> files;
  std::vector<WeightLocation> weights;
  bool random_weights = false;
  /// compute: safetensors with the graph's inputs by name (those absent are random), and where results go:
  /// the outputs by name and, in training mode, "gradient/NAME" per parameter and "loss".
  std::string inputs_file;
  std::string outputs_file;
  std::optional<Data> data;                ///< train, examine
  Learning learning = {};                  ///< train
  Examining examining = {};                ///< examine
  std::vector<OperatorCase> cases = {};    ///< calibrate; of the rest only the device and its threads count
  std::vector<OperatorChain> chains = {};  ///< calibrate, before the cases; on a device that captures
  /// join: jobs of the task train; swap: of the task measure; measure: others, of the same task, that are
  /// loaded before it and stay, and hold what is the same bytes of a file once. All on one device.
  std::vector<Job> members = {};
  Joining joining = {};    ///< join
  Swapping swapping = {};  ///< swap
};

/// A job as JSON text, and back. Reading checks every index, name and number.
[[nodiscard]] std::string write(const Job& job);
[[nodiscard]] Result<Job> read(std::string_view text);

/// The largest job file that is read.
inline constexpr std::size_t kMostJobBytes = std::size_t{256} << 20;

}  // namespace plimsoll::job
