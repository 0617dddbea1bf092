#include "trained_files.hpp"

#include <map>
#include <span>

#include "base/mapped_file.hpp"
#include "base/printable.hpp"
#include "job/safetensors.hpp"
#include "network/zoo/zoo.hpp"
#include "onnx/elements.hpp"
#include "onnx/writer.hpp"

namespace plimsoll {

Result<std::filesystem::path> write_trained_onnx(ReadyTraining& training) {
  const std::filesystem::path folder = training.job.learning.folder;
  const auto arrays = job::read_safetensors(folder / job::kTrainedFile);
  PLIMSOLL_TRY(arrays);
  const Result<MappedFile> file = MappedFile::open(folder / job::kTrainedFile);
  PLIMSOLL_TRY(file);
  std::optional<network::Network> inferring;
  if (network::zoo::names_zoo_model(training.model.loaded.label) && !training.model.loaded.file) {
    Result<network::Network> built = network::zoo::build(training.model.loaded.label, network::Mode::infer);
    PLIMSOLL_TRY(built);
    inferring = *std::move(built);
  }
  const network::Network& network = inferring ? *inferring : training.job.network;
  onnx::Model* const model = training.model.loaded.file ? &*training.model.loaded.file : nullptr;
  const onnx::WeightSource stored = model != nullptr ? onnx::weights_of(*model) : onnx::WeightSource();
  const onnx::WeightSource source = [&](network::TensorId id) -> Result<onnx::WeightBytes> {
    const auto found = arrays->find(std::string(network.name_of(id)));
    if (found != arrays->end())
      return onnx::WeightBytes{file->bytes().subspan(static_cast<std::size_t>(found->second.offset),
                                                     static_cast<std::size_t>(found->second.bytes)),
                               {}};
    if (stored) return stored(id);
    // The zoo's own small constants: nobody learned them.
    if (const network::Tensor& tensor = network.tensor(id); tensor.has_value) {
      const std::string raw = onnx::encode_raw(tensor.type, network.value_of(tensor));
      const auto bytes = std::as_bytes(std::span(raw));
      onnx::WeightBytes out{{}, {bytes.begin(), bytes.end()}};
      out.view = out.owned;
      return out;
    }
    return fail("the trained weights hold no {}", quote(network.name_of(id)));
  };
  std::filesystem::path path = folder / "model.onnx";
  PLIMSOLL_TRY(onnx::write(network, source, path));
  return path;
}

}  // namespace plimsoll
