#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/files.hpp"
#include "command.hpp"
#include "measure/weights.hpp"
#include "model_source.hpp"
#include "network/zoo/zoo.hpp"
#include "onnx/reader.hpp"

namespace plimsoll {
namespace {

struct EngineJobRequest {
  std::string model, output;
  bool train = false;
  network::Setting setting;
  measure::WeightsRequest weights;
  BindingOptions binding;
};

Result<int> write_engine_job(const EngineJobRequest& request) {
  std::optional<onnx::Model> model;
  job::Job job;
  if (network::zoo::names_zoo_model(request.model)) {
    Result<network::Network> built =
        network::zoo::build(request.model, request.train ? network::Mode::train : network::Mode::infer);
    if (!built) return std::unexpected(std::move(built).error());
    job.network = std::move(*built);
  } else {
    Result<onnx::Model> read = onnx::read(request.model);
    if (!read) return std::unexpected(std::move(read).error());
    model = std::move(*read);
    job.network = model->network;
  }
  Result<network::BindingRequest> wanted = request.binding.request(request.setting, true);
  if (!wanted) return std::unexpected(std::move(wanted).error());
  Result<network::Binding> bound = network::bind(job.network, *wanted);
  if (!bound) return std::unexpected(std::move(bound).error());
  job.binding = std::move(*bound);
  Result<measure::Weights> weights =
      measure::find_weights(job.network, model ? &*model : nullptr, request.weights);
  if (!weights) return std::unexpected(std::move(weights).error());
  if (weights->gathered)
    return fail("{} keeps weights in typed fields, which a job file cannot point to", request.model);
  job.files = std::move(weights->files);
  job.weights = std::move(weights->locations);
  job.random_weights = weights->random;
  job.setting = request.setting;
  if (request.train) job.setting.mode = network::Mode::train;
  PLIMSOLL_TRY(write_file(request.output, job::write(job)));
  return 0;
}

}  // namespace

/// For benchmarks and tests, which run the engine by themselves: a job as `plimsoll measure` would write it.
/// Its settings are JSON and can be changed before it is run.
void add_engine_job(CommandLine& app, Invocation& invocation) {
  CommandLine* command = app.add_subcommand("engine-job", "Writes a job for plimsoll-engine")->group("");
  auto request = std::make_shared<EngineJobRequest>();
  command->add_option("MODEL", request->model, "ONNX file or name of the zoo")->required();
  command->add_option("--output,-o", request->output, "File to write")->required();
  command->add_flag("--train", request->train, "For training");
  command->add_option("--weights", request->weights.file, "Weights as safetensors");
  command->add_flag("--random-weights", request->weights.random, "Draw those that are missing");
  request->binding.add_to(*command, request->setting);
  command->callback(
      [&invocation, request] { invocation.run = [request] { return write_engine_job(*request); }; });
}

}  // namespace plimsoll
