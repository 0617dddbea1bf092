#pragma once
#include <filesystem>
#include <map>
#include <vector>

#include "base/files.hpp"
#include "interruption.hpp"
#include "measure/measurement.hpp"
#include "nvml/library.hpp"
#include "precision_options.hpp"
#include "quantize/model.hpp"
#include "quantize/range.hpp"

namespace plimsoll {

/// What a network said of the examples to test on, in their order.
struct Judgement {
  std::vector<std::int64_t> predicted, labels;
  std::vector<float> losses;
};

/// A network that an engine can run: in memory, its weights somewhere in files.
struct RunnableNetwork {
  network::Network network;
  std::vector<std::string> files;
  std::vector<job::WeightLocation> weights;
};

/// Asks engines about networks, one fresh process for each question.
class PrecisionEngine {
 public:
  /// `training` has the data and its normalisation. All outlive it.
  PrecisionEngine(const PrecisionOptions& options, const job::Job& training, std::filesystem::path engine,
                  const nvml::Library* library, Interruption& interruption)
      : options_(options),
        training_(training),
        engine_(std::move(engine)),
        library_(library),
        interruption_(interruption) {}

  /// Of the examples to test on at these places (none: of all). `what` is shown meanwhile. An Error of kind
  /// machine_lacks where this device has no such arithmetic.
  [[nodiscard]] Result<Judgement> judge(const RunnableNetwork& of, network::Precision precision,
                                        const std::string& what,
                                        const std::vector<std::int64_t>& places = {});
  /// What its tensors hold on examples to learn from.
  [[nodiscard]] Result<std::map<network::TensorId, quantize::Histogram>> observe(
      const RunnableNetwork& of, const std::vector<network::TensorId>& tensors);
  /// One round of timing; nothing: interrupted.
  [[nodiscard]] std::optional<measure::Row> time(const RunnableNetwork& of, network::Precision precision,
                                                 const std::string& what);

  [[nodiscard]] bool interrupted() const { return interruption_.signal() != 0; }

 private:
  [[nodiscard]] Result<job::Job> job_for(const RunnableNetwork& of, std::int64_t batch,
                                         network::Precision precision) const;
  [[nodiscard]] Status run(const job::Job& job, const std::string& what);

  const PrecisionOptions& options_;
  const job::Job& training_;
  std::filesystem::path engine_;
  const nvml::Library* library_;
  Interruption& interruption_;
};

/// A network in memory, what was added to it kept in a file of the folder, which is its own.
[[nodiscard]] Result<RunnableNetwork> runnable(const quantize::Model& model, const RunnableNetwork& original,
                                               const std::filesystem::path& folder);
/// Reads stored float32 tensors from where they lie.
[[nodiscard]] quantize::ReadFloats floats_of(const RunnableNetwork& of);

}  // namespace plimsoll
