// Computes an ONNX model once, on the CPU: compute MODEL INPUTS.safetensors OUTPUTS.safetensors [literal]
// Inputs and outputs go by their names in the graph. For tests that hold a model against another framework.
#include <algorithm>
#include <cstdio>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "base/mapped_file.hpp"
#include "job/safetensors.hpp"
#include "onnx/reader.hpp"
#include "stored_weights.hpp"

namespace plimsoll {
namespace {

using network::TensorId;
using Named = std::vector<std::pair<TensorId, at::Tensor>>;

Result<Named> read_inputs(const std::filesystem::path& path, const network::Network& n) {
  const auto arrays = job::read_safetensors(path);
  PLIMSOLL_TRY(arrays);
  const Result<MappedFile> file = MappedFile::open(path);
  PLIMSOLL_TRY(file);
  Named inputs;
  for (const TensorId id : n.main().inputs) {
    const auto found = arrays->find(std::string(n.name_of(id)));
    if (found == arrays->end()) return fail("{} has no input '{}'", path.string(), n.name_of(id));
    const job::StoredArray& a = found->second;
    Result<at::Tensor> tensor = tensor_of(
        file->bytes().subspan(static_cast<std::size_t>(a.offset), static_cast<std::size_t>(a.bytes)), a.type,
        a.dims);
    PLIMSOLL_TRY(tensor);
    inputs.emplace_back(id, std::move(*tensor));
  }
  return inputs;
}

Status write_outputs(const std::filesystem::path& path, const network::Network& n,
                     const std::vector<engine::Value>& values) {
  std::vector<at::Tensor> kept;
  for (const engine::Value& v : values) kept.push_back(v.tensor.contiguous());
  std::vector<job::ArrayToStore> arrays;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::span bytes(static_cast<const std::byte*>(kept[i].data_ptr()), kept[i].nbytes());
    arrays.push_back({std::string(n.name_of(n.main().outputs[i])),
                      engine::data_type(kept[i].scalar_type()).value_or(network::DataType::undefined),
                      kept[i].sizes().vec(), bytes});
  }
  return job::write_safetensors(path, arrays);
}

Status compute(const std::filesystem::path& path, const std::filesystem::path& inputs_file,
               const std::filesystem::path& outputs_file, bool literal) {
  Result<onnx::Model> model = onnx::read(path);
  PLIMSOLL_TRY(model);
  const network::Network& n = model->network;
  const Result<Named> inputs = read_inputs(inputs_file, n);
  PLIMSOLL_TRY(inputs);
  Result<network::Binding> binding = network::bind(n, {});
  PLIMSOLL_TRY(binding);
  for (const auto& [id, tensor] : *inputs) binding->inputs.push_back({id, tensor.sizes().vec()});
  const Result<network::Shapes> shapes = network::infer(n, *binding);
  PLIMSOLL_TRY(shapes);
  job::Setting setting;
  setting.literal = literal;
  std::vector<engine::Unplanned> missing;
  Result<engine::Plan> plan = engine::make_plan(n, *shapes, setting, missing);
  PLIMSOLL_TRY(plan);
  if (!missing.empty()) return fail("{}: {}", missing.front().op, missing.front().reason);
  engine::Executor executor(std::move(*plan), at::kCPU);
  PLIMSOLL_TRY(load_weights(executor, *model));
  const at::NoGradGuard no_gradients;
  try {
    executor.settle_masks();
    return write_outputs(outputs_file, n, executor.run(*inputs));
  } catch (const std::exception& e) {
    return fail("{}: {}", executor.failed_at(), e.what());
  }
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** arguments) {
  if (count < 4) return 2;
  at::set_num_threads(2);
  const plimsoll::Status done = plimsoll::compute(arguments[1], arguments[2], arguments[3], count > 4);
  if (!done) std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return done ? 0 : 1;
}
