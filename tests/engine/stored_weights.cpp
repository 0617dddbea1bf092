#include "stored_weights.hpp"

#include <algorithm>
#include <cstring>

#include <ATen/ops/empty.h>

namespace plimsoll {

using network::DataType;
using network::TensorId;

Result<at::Tensor> tensor_of(std::span<const std::byte> bytes, DataType type,
                             std::vector<std::int64_t> dims) {
  const auto scalar = engine::scalar_type(type);
  if (!scalar) return fail("LibTorch computes nothing with {}", network::name(type));
  at::Tensor tensor = at::empty(dims, at::TensorOptions(*scalar));
  if (tensor.nbytes() != bytes.size())
    return fail("{} bytes for a tensor of {}", bytes.size(), tensor.nbytes());
  if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

Status load_weights(engine::Executor& executor, onnx::Model& model) {
  for (const TensorId id : executor.routine().weights) {
    const network::Tensor& tensor = model.network.tensor(id);
    std::vector<std::int64_t> dims;
    for (const network::Dim d : model.network.dims_of(tensor)) dims.push_back(d.value());
    const bool empty = std::ranges::find(dims, 0) != dims.end();  // and has no contents in the file
    const Result<onnx::WeightBytes> bytes = empty ? onnx::WeightBytes{} : model.bytes_of(id);
    PLIMSOLL_TRY(bytes);
    Result<at::Tensor> contents = tensor_of(bytes->view, tensor.type, std::move(dims));
    PLIMSOLL_TRY(contents);
    executor.keep(id, std::move(*contents));
  }
  return {};
}

}  // namespace plimsoll
