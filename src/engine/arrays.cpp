#include "engine/arrays.hpp"

#include <cstring>

#include <ATen/ops/empty.h>

#include "base/mapped_file.hpp"
#include "engine/call.hpp"

namespace plimsoll::engine {

Result<std::map<std::string, at::Tensor>> read_arrays(const std::string& path) {
  Result<std::map<std::string, job::StoredArray>> stored = job::read_safetensors(path);
  if (!stored) return std::unexpected(std::move(stored).error());
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return std::unexpected(std::move(file).error());
  std::map<std::string, at::Tensor> arrays;
  for (const auto& [name, array] : *stored) {
    const auto type = scalar_type(array.type);
    if (!type)
      return fail("{}: '{}' has the type {}, which this LibTorch does not have", path, name,
                  network::name(array.type));
    at::Tensor made = at::empty(array.dims, at::TensorOptions().dtype(*type));
    if (array.bytes > 0)
      std::memcpy(made.data_ptr(), file->bytes().data() + array.offset,
                  static_cast<std::size_t>(array.bytes));
    arrays.emplace(name, std::move(made));
  }
  return arrays;
}

Status write_arrays(const std::string& path, const std::map<std::string, at::Tensor>& arrays,
                    ArrayWriter write) {
  std::vector<at::Tensor> on_host;  // owns the bytes while they are written
  std::vector<job::ArrayToStore> to_store;
  for (const auto& [name, tensor] : arrays) {
    on_host.push_back(tensor.detach().to(at::kCPU).contiguous());
    const at::Tensor& host = on_host.back();
    const auto type = data_type(host.scalar_type());
    if (!type) return fail("'{}' has a type that cannot be stored", name);
    job::ArrayToStore& array = to_store.emplace_back();
    array.name = name;
    array.type = *type;
    array.dims = host.sizes().vec();
    array.bytes = {static_cast<const std::byte*>(host.data_ptr()), host.nbytes()};
  }
  return write(path, to_store);
}

}  // namespace plimsoll::engine
