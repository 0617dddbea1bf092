// The task "compute": results on given data.
#include <c10/core/GradMode.h>

#include "engine/arrays.hpp"
#include "engine/precision.hpp"
#include "engine/session.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using network::TensorId;
using Arrays = std::map<std::string, at::Tensor>;

Result<GivenInputs> given_inputs(const Session& session, const Arrays& arrays) {
  const at::Device device = session.device->torch_device();
  Result<GivenInputs> drawn = random_inputs(session.job, session.shapes, device);
  if (!drawn) return drawn;
  const Numbers numbers = numbers_of(session.job.setting.precision);
  for (auto& [id, tensor] : *drawn) {
    const auto it = arrays.find(std::string(session.job.network.name_of(id)));
    if (it != arrays.end()) tensor = it->second.to(device, numbers.stored(it->second.scalar_type()));
  }
  return drawn;
}

void store(Arrays& results, const std::string& name, const Value& value) {
  if (!value.is_sequence) {
    if (value.tensor.defined()) results[name] = value.tensor;
    return;
  }
  for (std::size_t i = 0; i < value.sequence.size(); ++i)
    results[fmt::format("{}/{}", name, i)] = value.sequence[i];
}

}  // namespace

Status compute(Session& session, const Emit&) {
  session.phase = "running";
  const job::Job& job = session.job;
  Arrays arrays;
  if (!job.inputs_file.empty()) {
    Result<Arrays> read = read_arrays(job.inputs_file);
    if (!read) return std::unexpected(std::move(read).error());
    arrays = std::move(*read);
  }
  Result<GivenInputs> inputs = given_inputs(session, arrays);
  if (!inputs) return std::unexpected(std::move(inputs).error());
  const bool training = job.setting.mode == network::Mode::train;
  const at::AutoGradMode gradients(training);
  Arrays results;
  std::vector<Value> outputs;
  {
    const Autocast autocast(job.setting.precision, session.device->torch_device());
    outputs = session.executor->run(*inputs);
  }
  const auto& ids = job.network.main().outputs;
  for (std::size_t i = 0; i < ids.size(); ++i)
    store(results, std::string(job.network.name_of(ids[i])), outputs[i]);
  if (training && !outputs.empty()) {
    at::Tensor labels;
    if (const auto it = arrays.find("labels"); it != arrays.end())
      labels = it->second.to(session.device->torch_device());
    else
      labels = random_labels(job.setting.loss, outputs[0].tensor.sizes(), session.device->torch_device(),
                             job.execution.seed);
    const at::Tensor loss = loss_of(job.setting.loss, outputs[0].tensor, labels);
    loss.backward();
    results["loss"] = loss;
    std::vector<std::string> names;
    const std::vector<at::Tensor> parameters = trained_parameters(job, *session.executor, &names);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].grad().defined()) results["gradient/" + names[i]] = parameters[i].grad();
  }
  if (job.outputs_file.empty()) return {};
  return write_arrays(job.outputs_file, results);
}

}  // namespace plimsoll::engine
