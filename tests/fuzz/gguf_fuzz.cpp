// Any bytes, taken for a GGUF file, must give a File or one Error; and, where its architecture is known, a
// Network whose weights are those of the file, or one Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "gguf/model.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  const Result<gguf::File> file = gguf::read_bytes(std::as_bytes(std::span(data, size)));
  if (!file) {
    require(!file.error().text().empty());
    return 0;
  }
  std::int64_t all = 0;
  for (const gguf::TensorInfo& tensor : file->tensors) {
    require(tensor.bytes >= 0 && tensor.bytes <= static_cast<std::int64_t>(size));
    require(file->find(tensor.name) != nullptr);
    all += tensor.bytes;
  }
  require(all <= static_cast<std::int64_t>(size));  // none lie on each other
  const Result<gguf::Model> model = gguf::build(*file, "fuzz", network::Mode::infer);
  if (!model) {
    require(!model.error().text().empty());
    return 0;
  }
  std::int64_t stored = 0;
  for (const network::StoredWeight& weight : model->network.stored) stored += weight.bytes;
  require(stored <= all);
  return 0;
}
