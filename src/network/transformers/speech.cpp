#include "network/transformers/speech.hpp"

#include <utility>
#include <vector>

#include "network/transformers/encoder.hpp"

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Tokens;

constexpr std::int64_t kKernel = 3;

/// A convolution along the frames, and GELU.
TensorId convolve(Blocks& b, const std::string& name, TensorId x, std::int64_t in, std::int64_t out,
                  std::int64_t stride) {
  const TensorId weight = b.builder().parameter(name + ".weight", {out, in, kKernel});
  const TensorId bias = b.builder().parameter(name + ".bias", {out});
  const TensorId y = b.add("Conv", name, {x, weight, bias},
                           {{"kernel_shape", {kKernel}}, {"pads", {1, 1}}, {"strides", {stride}}});
  return b.activate(name + ".gelu", y, Activation::gelu);
}

Tokens listen(Blocks& b, const SpeechModel& m) {
  const std::int64_t w = m.encoder.width;
  const std::string in = "model.encoder.";
  const TensorId sound = b.builder().input("input_features", DataType::float32,
                                           {b.batch(), Dim::of(m.bands), Dim::of(2 * m.source_positions)});
  TensorId x = convolve(b, in + "conv1", sound, m.bands, w, 1);
  x = convolve(b, in + "conv2", x, w, w, 2);
  const TensorId rows = b.add("Transpose", in + "permute", {x}, {{"perm", {0, 2, 1}}});
  const TensorId places = b.builder().parameter(in + "embed_positions.weight", {m.source_positions, w});
  Tokens y{b.add("Add", in + "embed_positions", {rows, places}), w};
  y.id = b.dropout(in + "dropout", y.id, m.dropout);
  y = add_layers(b, m.encoder, y, {});
  return add_norm(b, in + "layer_norm", y, m.encoder.norm);
}

}  // namespace

Status check(const SpeechModel& m) {
  PLIMSOLL_TRY(check(m.encoder));
  PLIMSOLL_TRY(check(m.decoder));
  if (m.encoder.width != m.decoder.width)
    return fail("the encoder has a width of {}, the decoder of {}", m.encoder.width, m.decoder.width);
  for (const std::int64_t n : {m.bands, m.source_positions, m.target_positions, m.vocabulary})
    if (n < 1 || n > kMostVocabulary)
      return fail("bands, positions and vocabulary must be between 1 and {}; one is {}", kMostVocabulary, n);
  return {};
}

Result<Network> build(const SpeechModel& m, std::string_view name, Mode mode) {
  PLIMSOLL_TRY(check(m));
  Blocks b(name, mode, kOpset);
  Surroundings around;
  around.other = listen(b, m);
  const std::string out = "model.decoder.";
  const TensorId ids = b.builder().input("decoder_input_ids", DataType::int64, {b.batch(), b.sequence()});
  const TensorId words = b.builder().parameter(out + "embed_tokens.weight", {m.vocabulary, m.decoder.width});
  Tokens x{b.add("Gather", out + "embed_tokens", {words, ids}, {{"axis", 0}}), m.decoder.width};
  if (m.embedding_scale != 1) x.id = b.add("Mul", out + "scale", {x.id, b.real(m.embedding_scale)});
  x = add_positions(b, out + "embed_positions", x, ids, m.target_positions);
  x.id = b.dropout(out + "dropout", x.id, m.dropout);
  x = add_layers(b, m.decoder, x, around);
  x = add_norm(b, out + "layer_norm", x, m.decoder.norm);
  if (!m.head) {
    b.output(x.id);
    return std::move(b).finish();
  }
  const TensorId head =
      m.tied ? words : b.builder().parameter("proj_out.weight", {m.vocabulary, m.decoder.width});
  const TensorId turned = b.add("Transpose", "proj_out.transpose", {head}, {{"perm", {1, 0}}});
  b.output(b.add("MatMul", "proj_out", {x.id, turned}));
  return std::move(b).finish();
}

}  // namespace plimsoll::network::transformers
