// Any bytes, read as an ONNX model, must give a Model or one Error: no crash, no hang, no memory beyond
// bounds.
//
//   cmake --preset fuzz && cmake --build build/fuzz --target fuzz_model
//   mkdir -p /tmp/corpus && build/fuzz/tests/fuzz/fuzz_model -max_len=16384 -timeout=10 -rss_limit_mb=2048 \
//     -dict=tests/fuzz/onnx.dict -max_total_time=600 /tmp/corpus tests/fuzz/corpus
//
// New inputs go to the first folder; a crash is left as crash-* in the working folder and is run again by
// giving it as the only argument.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "network/binding.hpp"
#include "network/inference.hpp"
#include "onnx/reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  Result<onnx::Model> model = onnx::read_bytes(std::as_bytes(std::span(data, size)), "fuzz");
  if (!model) {
    if (model.error().message.empty()) std::abort();
    return 0;
  }
  for (const onnx::WeightData& weight : model->weights) (void)model->bytes_of(weight.tensor);
  network::BindingRequest request;
  request.batch = 1;
  const Result<network::Binding> binding = network::bind(model->network, request);
  if (!binding) return 0;
  network::InferOptions options;
  options.allow_unknown_operators = true;
  const Result<network::Shapes> shapes = network::infer(model->network, *binding, options);
  if (!shapes) return 0;
  for (std::size_t i = 0; i < model->network.tensors.size(); ++i)
    (void)shapes->elements(static_cast<network::TensorId>(i));
  // Counts of FLOPs and bytes are added here.
  return 0;
}
