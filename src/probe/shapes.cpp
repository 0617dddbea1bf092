#include "probe/shapes.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::probe {
namespace {

using hardware::Extents;
using hardware::OperatorClass;
using Shape = std::optional<Extents>;
using List = std::span<const std::int64_t>;

constexpr std::int64_t kBatches[] = {1,  1,  2,  3,  4,  6,  8,  8,   12,  16,  16,
                                     24, 32, 32, 48, 64, 64, 96, 128, 128, 192, 256};
/// A processor serves few at a time, and libraries have kernels of their own for a single one.
constexpr std::int64_t kBatchesOfCpu[] = {1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 16, 16, 32, 64};
List batches(const Draw& draw) {
  return draw.kind() == GridKind::cpu ? List(kBatchesOfCpu) : List(kBatches);
}

constexpr std::int64_t kSides[] = {7,  7,  8,   10,  12,  13,  14,  14,  16,  17,  19,  20, 24,
                                   26, 28, 28,  32,  35,  38,  40,  48,  52,  56,  56,  64, 75,
                                   80, 96, 112, 112, 128, 150, 160, 192, 224, 224, 300, 416};
constexpr std::int64_t kTokens[] = {16,  32,  49,  50,  64,  77,  100, 128,  128,  144,  196, 197,
                                    256, 257, 384, 512, 512, 577, 768, 1024, 1500, 2048, 4096};
constexpr std::int64_t kHeads[] = {1, 2, 3, 4, 6, 8, 8, 12, 12, 16, 16, 20, 24, 32};
constexpr std::int64_t kHeadWidths[] = {32, 32, 64, 64, 64, 64, 80, 96, 128, 128};
/// Some count classes or words. Odd ones cost dearly, since no vector fits, and are met.
constexpr std::int64_t kWidths[] = {
    10,   64,   96,   128,  128,  192,  256,   256,   320,   384,   448,   512,   512,   640,   768,   768,
    960,  1000, 1001, 1024, 1024, 1152, 1280,  1536,  1920,  2048,  2048,  2304,  2560,  3072,  3072,  4096,
    4096, 5021, 5120, 6144, 8192, 9216, 10007, 11008, 12288, 16384, 21843, 25088, 30001, 32000, 50021, 50304};
/// Such widths are of results only.
bool counts_classes(std::int64_t width) {
  return width == 10 || width == 1000 || width % 2 != 0;
}

constexpr std::int64_t kVocabularies[] = {512,   1000,  2048,  4096,  10000,  16384,
                                          21128, 30522, 32000, 50304, 100000, 250000};

constexpr std::int64_t kMostChannels = 2048;

std::int64_t multiple(double value, std::int64_t of) {
  return std::max<std::int64_t>(
      of, static_cast<std::int64_t>(std::llround(value / static_cast<double>(of))) * of);
}

/// Channels as designers choose them: half of them powers of two and those halfway between, the others
/// multiples of 8.
std::int64_t channels(double value, bool round) {
  value = std::clamp(value, 8.0, static_cast<double>(kMostChannels));
  if (!round) return std::min(multiple(value, value > 256 ? 32 : 8), kMostChannels);
  const double lower = std::exp2(std::floor(std::log2(value)));
  const double nice = value < 1.22 * lower ? lower : value < 1.73 * lower ? 1.5 * lower : 2 * lower;
  return std::min(multiple(nice, 8), kMostChannels);
}

struct Kernel {
  double share;                        ///< up to which coordinate
  std::int64_t height, width, stride;  ///< stride 0: 1 or 2
};
constexpr Kernel kKernels[] = {{0.44, 1, 1, 0}, {0.83, 3, 3, 0}, {0.87, 5, 5, 0},   {0.89, 7, 7, 0},
                               {0.90, 1, 3, 1}, {0.91, 3, 1, 1}, {0.93, 1, 7, 1},   {0.95, 7, 1, 1},
                               {0.97, 2, 2, 2}, {0.99, 4, 4, 4}, {1.01, 16, 16, 16}};
/// The first layer of a network sees three channels.
constexpr Kernel kFirstKernels[] = {{0.30, 3, 3, 0}, {0.38, 5, 5, 0},    {0.68, 7, 7, 2},   {0.78, 11, 11, 4},
                                    {0.85, 4, 4, 4}, {0.95, 16, 16, 16}, {1.01, 32, 32, 32}};

Kernel kernel_at(std::span<const Kernel> kernels, double share) {
  return *std::ranges::find_if(kernels, [share](const Kernel& k) { return share < k.share; });
}

/// An image with its channels: the finer, the fewer.
struct Image {
  std::int64_t batch, channels, height, width;
};
Image image(Draw& draw) {
  const std::int64_t batch = draw.one_of(batches(draw)), height = draw.one_of(kSides);
  const double elements = draw.real(1.2e4, 4e6);
  const double style = draw.share();
  const std::int64_t width = style < 0.9 ? height : std::max<std::int64_t>(7, height * 3 / 4);
  const auto positions = static_cast<double>(height * width);
  return {batch, channels(elements / positions, std::fmod(style * 10, 1.0) < 0.5), height, width};
}

/// A layer over what is left of an image after pooling all of it: the gates of squeeze-and-excitation blocks.
Shape squeezed(Draw& draw, std::int64_t batch) {
  const double wide = draw.real(32, kMostChannels), ratio = draw.real(4, 32);
  const std::int64_t many = channels(wide, false),
                     few = std::max<std::int64_t>(4, std::llround(wide / ratio));
  const bool narrows = draw.share() < 0.5;
  return Extents{batch, narrows ? many : few, 1, 1, narrows ? few : many, 1, 1, 1, 1};
}

Shape convolution(Draw& draw) {
  Image x = image(draw);
  constexpr double kSqueezed = 0.06;
  if (draw.share() < kSqueezed) return squeezed(draw, x.batch);
  const double ratio = draw.real(0.125, 8), choice = draw.share(), stepping = draw.share();
  constexpr double kFirst = 0.1;
  const bool first = choice < kFirst && x.height >= 64;
  const double share = first ? choice / kFirst : std::max(0.0, (choice - kFirst) / (1 - kFirst));
  const Kernel kernel = first ? kernel_at(kFirstKernels, share) : kernel_at(kKernels, share);
  const std::int64_t stride = kernel.stride != 0 ? kernel.stride : stepping < 0.8 ? 1 : 2;
  // A third of all layers keep the number of channels.
  const bool same = std::fmod(stepping * 7, 1.0) < 0.33;
  const std::int64_t out =
      same && !first ? x.channels
                     : channels(ratio * static_cast<double>(first ? 48 : x.channels), stepping < 0.5);
  if (first) x.channels = 3;
  const bool patches = kernel.height >= 11;
  if (kernel.height > x.height || kernel.width > x.width) return std::nullopt;
  if (!first && patches && x.channels > 64) return std::nullopt;
  return Extents{x.batch, x.channels, x.height, x.width, out, kernel.height, kernel.width, stride, 1};
}

/// Libraries have a few kernels of their own for three channels, each many times as fast as another.
Shape first_layer(Draw& draw) {
  const std::int64_t batch = draw.one_of(batches(draw)), side = draw.one_of(kSides);
  const Kernel kernel = kernel_at(kFirstKernels, draw.share());
  const double outs = draw.real(8, 384), stepping = draw.share();
  const std::int64_t out = channels(outs, stepping < 0.6),
                     stride = kernel.stride != 0 ? kernel.stride : 1 + (stepping < 0.5);
  if (side < 64 || kernel.height > side) return std::nullopt;
  return Extents{batch, 3, side, side, out, kernel.height, kernel.width, stride, 1};
}

Shape grouped(Draw& draw) {
  const Image x = image(draw);
  constexpr std::int64_t kGroups[] = {2, 4, 8, 16, 32, 32, 32, 64}, kPerGroup[] = {4, 8, 16, 24, 32, 64};
  const std::int64_t groups = draw.one_of(kGroups), each = draw.one_of(kPerGroup);
  const double style = draw.share();
  const std::int64_t in = groups * each;
  if (in > kMostChannels || in * x.height * x.width > 8'000'000) return std::nullopt;
  const std::int64_t kernel = style < 0.75 ? 3 : style < 0.9 ? 1 : 5;
  const std::int64_t stride = std::fmod(style * 9, 1.0) < 0.75 ? 1 : 2;
  return Extents{x.batch, in, x.height, x.width, in, kernel, kernel, stride, groups};
}

Shape depthwise(Draw& draw) {
  const Image x = image(draw);
  constexpr std::int64_t kSizes[] = {3, 5, 3, 7, 5, 3, 7};
  const std::int64_t kernel = draw.in_turn(kSizes);
  const std::int64_t stride = draw.share() < 0.7 ? 1 : 2;
  return Extents{x.batch, x.channels, x.height, x.width, x.channels, kernel, kernel, stride, x.channels};
}

/// Rows of a product: batches as they are, or batches of tokens or positions.
std::int64_t rows(Draw& draw) {
  const std::int64_t some = draw.whole(1, 65536);
  const double style = draw.share();
  if (style < 0.4)
    return some < 4 ? some
                    : static_cast<std::int64_t>(std::exp2(std::round(std::log2(static_cast<double>(some)))));
  for (const auto& [share, tokens] :
       {std::pair(0.55, 197), std::pair(0.65, 49), std::pair(0.7, 50), std::pair(0.75, 77)})
    if (style < share && some >= tokens) return some / tokens * tokens;
  return some < 64 ? some : multiple(static_cast<double>(some), style < 0.9 ? 8 : 1);
}

Shape matrix(Draw& draw) {
  const std::int64_t m = rows(draw), n = draw.one_of(kWidths), k = draw.one_of(kWidths);
  if (counts_classes(k)) return std::nullopt;
  return Extents{m, n, k, draw.share() < 0.7 ? 1 : 0};
}

Shape batched(Draw& draw) {
  const std::int64_t batch = draw.whole(1, 3072), tokens = draw.one_of(kTokens),
                     width = draw.one_of(kHeadWidths);
  const double style = draw.share();
  const std::int64_t others = style < 0.8 ? tokens : draw.one_of(kTokens);
  const bool scores = std::fmod(style * 10, 1.0) < 0.5;  // or their product with the values
  return scores ? Extents{batch, tokens, others, width} : Extents{batch, tokens, width, others};
}

Shape attention(Draw& draw) {
  const std::int64_t batch = draw.one_of(batches(draw)), heads = draw.one_of(kHeads),
                     queries = draw.one_of(kTokens), width = draw.one_of(kHeadWidths);
  const double relation = draw.share(), masking = draw.share();
  const std::int64_t other = draw.one_of(kTokens);
  if (relation < 0.1) return Extents{batch, heads, 1, other, width, 0};         // one token more
  if (relation < 0.22) return Extents{batch, heads, queries, other, width, 0};  // across
  return Extents{batch, heads, queries, queries, width, masking < 0.55 ? 0 : masking < 0.8 ? 1 : 2};
}

/// A decoder's: a prompt, or one token more than a cache holds. Keys take as much room as they do in use, not
/// more than a few gigabytes.
Shape grouped_attention(Draw& draw) {
  constexpr std::int64_t kPrompts[] = {32,   64,   128,  128,  256,  384,  512,  512, 768,
                                       1024, 1024, 1536, 2048, 2048, 3072, 4096, 8192};
  constexpr std::int64_t kContexts[] = {64,   128,  256,  512,  512,  777,  1024,  1024,
                                        1500, 2048, 2048, 3000, 4096, 8192, 16384, 32768};
  constexpr std::int64_t kKeyHeads[] = {1, 2, 4, 4, 8, 8, 8, 16, 32, 32, 40};
  constexpr std::int64_t kShare[] = {1, 1, 2, 4, 4, 7, 8, 8};
  constexpr std::int64_t kDecoderWidths[] = {64, 64, 96, 128, 128, 128, 128, 256};
  constexpr std::int64_t kSequences[] = {1, 1, 1, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 256};
  const std::int64_t batch = draw.one_of(kSequences), key_heads = draw.one_of(kKeyHeads);
  const std::int64_t share = draw.one_of(kShare), width = draw.one_of(kDecoderWidths);
  const bool prompt = draw.share() < 0.35;
  const std::int64_t heads = key_heads * share,
                     tokens = draw.one_of(prompt ? List(kPrompts) : List(kContexts));
  if (heads > 128) return std::nullopt;
  return Extents{batch, heads, key_heads, prompt ? tokens : 1, tokens, width};
}

Shape channelled(Draw& draw) {
  const Image x = image(draw);
  return Extents{x.batch, x.channels, x.height * x.width};
}

Shape group_norm(Draw& draw) {
  const Image x = image(draw);
  constexpr std::int64_t kGroups[] = {1, 8, 16, 32, 32};
  const std::int64_t groups = draw.one_of(kGroups);
  if (x.channels % groups != 0) return std::nullopt;
  return Extents{x.batch, x.channels, x.height * x.width, groups};
}

Shape matrix_rows(Draw& draw) {
  const std::int64_t count = rows(draw);
  return Extents{count, draw.one_of(kWidths)};
}

Shape softmax(Draw& draw) {
  const std::int64_t count = draw.whole(1, 3e6);
  return Extents{count, draw.share() < 0.6 ? draw.one_of(kTokens) : draw.one_of(kWidths)};
}

Shape sums(Draw& draw) {
  const std::int64_t count = draw.whole(1, 1e6);
  return Extents{count, draw.one_of(kWidths)};
}

template <bool largest>
Shape pool(Draw& draw) {
  const Image x = image(draw);
  constexpr std::int64_t kOfLargest[] = {2, 3, 3, 3, 5, 13}, kOfMean[] = {2, 2, 3, 3, 7};
  const std::int64_t kernel = draw.one_of(largest ? List(kOfLargest) : List(kOfMean));
  const std::int64_t stride = kernel > 3 ? 1 : draw.share() < 0.7 ? 2 : 1;
  if (x.height < kernel || x.width < kernel) return std::nullopt;
  return Extents{x.batch, x.channels, x.height, x.width, kernel, stride};
}

Shape global_pool(Draw& draw) {
  const Image x = image(draw);
  return Extents{x.batch * x.channels, x.height * x.width};
}

Shape elements(Draw& draw) {
  const double some = draw.real(1, 268435456);
  return Extents{draw.share() < 0.7 && some > 64 ? multiple(some, 64) : static_cast<std::int64_t>(some)};
}

Shape embedding(Draw& draw) {
  const std::int64_t tokens = draw.whole(1, 131072), vocabulary = draw.one_of(kVocabularies);
  constexpr std::int64_t kEmbedded[] = {16, 64, 128, 256, 384, 512, 768, 768, 1024, 2048, 4096};
  return Extents{tokens, draw.one_of(kEmbedded), vocabulary};
}

Shape transpose(Draw& draw) {
  const std::int64_t batch = draw.whole(1, 4096);
  const double style = draw.share();
  const std::int64_t across = style < 0.5 ? draw.one_of(kHeadWidths) : draw.one_of(kWidths),
                     tokens = draw.one_of(kTokens);
  return std::fmod(style * 10, 1.0) < 0.5 ? Extents{batch, tokens, across} : Extents{batch, across, tokens};
}

Shape optimizer(Draw& draw) {
  const std::int64_t tensors = draw.whole(1, 600);
  const std::int64_t each = draw.whole(64, 4e6);
  return Extents{tensors, tensors * each};
}

using Maker = Shape (*)(Draw&);
constexpr std::array<Maker, hardware::kOperatorClasses> kMakers = {
    convolution, grouped,           depthwise,  depthwise,   matrix,     batched,     attention,   channelled,
    channelled,  matrix_rows,       group_norm, softmax,     pool<true>, pool<false>, global_pool, elements,
    elements,    elements,          channelled, sums,        sums,       embedding,   elements,    transpose,
    optimizer,   optimizer,         optimizer,  convolution, grouped,    channelled,  channelled,  pool<true>,
    pool<false>, grouped_attention, channelled};

}  // namespace

Draw::Draw(std::uint64_t n, GridKind kind) : n_(n), kind_(kind) {
  // The root of x^(d+1) = x + 1; each step brings it nearer.
  double root = 1.1;
  for (int i = 0; i < 60; ++i) root = std::pow(1 + root, 1.0 / (kCoordinates + 1));
  double step = 1;
  for (double& coordinate : point_) {
    step /= root;
    coordinate = std::fmod(0.5 + step * static_cast<double>(n), 1.0);
  }
}

double Draw::real(double low, double high) {
  return low * std::pow(high / low, share());
}
std::int64_t Draw::whole(double low, double high) {
  return static_cast<std::int64_t>(std::llround(real(low, high)));
}
std::int64_t Draw::one_of(std::span<const std::int64_t> list) {
  return list[std::min(static_cast<std::size_t>(share() * static_cast<double>(list.size())),
                       list.size() - 1)];
}

Shape shape_of_first_layer(Draw draw) {
  return first_layer(draw);
}

Shape shape_of(OperatorClass operator_class, Draw draw) {
  return kMakers[static_cast<std::size_t>(operator_class)](draw);
}

}  // namespace plimsoll::probe
