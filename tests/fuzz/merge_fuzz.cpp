// Any bytes, taken for the manifest of merged models, must give one that says the same when it is written, or
// an error that says where.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/merge/manifest.hpp"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = plan::merge::read_manifest(text);
  if (!manifest) {
    if (manifest.error().text().empty()) std::abort();
    return 0;
  }
  for (const plan::merge::Manifest::Model& model : manifest->models)
    if (model.file.empty() || model.file.find('/') != std::string_view::npos || model.file.front() == '.')
      std::abort();
  for (const plan::merge::Manifest::Shared& shared : manifest->shared) {
    if (shared.offset < 0 || Bytes(shared.offset) + shared.bytes > manifest->weight_bytes) std::abort();
    for (const plan::merge::Manifest::Tensor& tensor : shared.tensors)
      if (tensor.model >= manifest->models.size()) std::abort();
  }
  const auto again = plan::merge::read_manifest(write_manifest(*manifest));
  if (!again || *again != *manifest) std::abort();
  return 0;
}
