#include "program/convolution_workspace.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "network/saturating.hpp"
#include "program/convolution_workspace_table.hpp"

namespace plimsoll::program {

using network::kUnbounded, network::product, network::quotient, network::sum;
namespace {

using enum ConvolutionPass;

ConvolutionShape square(std::int64_t batch, std::int64_t in, std::int64_t extent, std::int64_t out,
                        std::int64_t kernel, std::int64_t result, int bits = 32, std::int64_t groups = 1) {
  const std::int64_t stride = (extent + result - 1) / result;
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .groups = groups,
          .input = {extent, extent, 1},
          .output = {result, result, 1},
          .kernel = {kernel, kernel, 1},
          .stride = {stride, stride, 1},
          .element_bits = bits};
}

std::int64_t operands(const ConvolutionShape& s) {
  const std::int64_t maps =
      s.batch * (s.in_channels * s.input[0] * s.input[1] + s.out_channels * s.output[0] * s.output[1]);
  return (maps + s.out_channels * s.in_channels / s.groups * s.kernel[0] * s.kernel[1]) * s.element_bits / 8;
}

struct Measured {
  ConvolutionShape shape;
  ConvolutionPass pass;
  std::int64_t bytes;
};

/// Workspaces of layers of torchvision's networks, PyTorch 2.11 with cuDNN 9.19 on an H200.
const Measured kMeasured[] = {
    {square(32, 3, 224, 64, 7, 112), forward, 122'065'680},  // ResNet's first: copies of all three
    {square(32, 64, 56, 64, 3, 56), forward, 25'837'584},    // input and weights
    {square(32, 64, 56, 64, 3, 56), input_gradient, 51'527'696},
    {square(32, 64, 56, 64, 3, 56), weight_gradient, 53'592'743},  // and partial sums
    {square(32, 256, 56, 64, 1, 56), forward, 400},
    {square(32, 256, 56, 64, 1, 56), weight_gradient, 2'097'152},  // a sum for every image
    {square(32, 64, 224, 64, 3, 224), forward, 822'231'187},
    {square(32, 64, 224, 64, 3, 224), weight_gradient, 824'296'103},
    {square(32, 64, 224, 64, 3, 224, 16), forward, 411'115'667},
    {square(32, 64, 224, 64, 3, 224, 16), input_gradient, 411'115'667},
    {square(32, 64, 224, 64, 3, 224, 16), weight_gradient, 413'033'127},
    {square(128, 48, 56, 48, 3, 56, 32, 2), forward, 205'594'771},  // groups of 24 channels padded to 32
    {square(32, 512, 13, 1000, 1, 13), weight_gradient, 65'536'000},
    {square(32, 512, 28, 128, 1, 28, 16), weight_gradient, 8'388'608},
};

TEST(ConvolutionWorkspace, AsMeasured) {
  for (const Measured& m : kMeasured) {
    const auto predicted = static_cast<double>(convolution_workspace(m.shape, m.pass));
    EXPECT_NEAR(predicted, static_cast<double>(m.bytes), 0.05 * static_cast<double>(operands(m.shape)))
        << m.shape.in_channels << " to " << m.shape.out_channels << " at " << m.shape.input[0];
  }
}

TEST(ConvolutionWorkspace, DepthwiseTakesNone) {
  for (const int bits : {16, 32})
    for (const ConvolutionPass pass : {forward, input_gradient, weight_gradient})
      EXPECT_EQ(convolution_workspace(square(32, 96, 112, 96, 3, 112, bits, 96), pass), 0);
}

TEST(ConvolutionWorkspace, NothingWithoutElements) {
  const ConvolutionShape good = square(32, 64, 224, 64, 3, 224);
  ASSERT_GT(convolution_workspace(good, forward), 0);
  for (const std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    ConvolutionShape s = good;
    s.batch = bad;
    EXPECT_EQ(convolution_workspace(s, forward), 0);
    s = good;
    s.groups = bad;
    EXPECT_EQ(convolution_workspace(s, forward), 0);
    s = good;
    s.output[1] = bad;
    EXPECT_EQ(convolution_workspace(s, forward), 0);
  }
  ConvolutionShape s = good;
  s.rank = 4;
  EXPECT_EQ(convolution_workspace(s, forward), 0);
}

TEST(ConvolutionWorkspace, OneExtentIsAsTwoWithAnExtentOfOne) {
  ConvolutionShape two = square(32, 64, 224, 64, 3, 224);
  two.input = {1, 3000, 1};
  two.output = {1, 3000, 1};
  two.kernel = {1, 9, 1};
  ConvolutionShape one = two;
  one.rank = 1;
  one.input = one.output = {3000, 1, 1};
  one.kernel = {9, 1, 1};
  for (const ConvolutionPass pass : {forward, input_gradient, weight_gradient})
    EXPECT_EQ(convolution_workspace(one, pass), convolution_workspace(two, pass));
}

TEST(ConvolutionWorkspace, ThreeExtents) {
  ConvolutionShape s = square(8, 64, 56, 64, 3, 56);
  s.rank = 3;
  s.input = s.output = {16, 56, 56};
  s.kernel = {3, 3, 3};
  EXPECT_GE(convolution_workspace(s, weight_gradient), 4 * 8 * 64 * 16 * 56 * 56);
}

TEST(ConvolutionWorkspace, SticksAtTheEndOfTheRange) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t huge : {std::int64_t{1} << 30, std::int64_t{1} << 40, most - 1, most}) {
    ConvolutionShape s = square(huge, huge, 224, huge, 3, 224);
    s.input = s.output = {huge, huge, huge};
    for (const int rank : {1, 2, 3})
      for (const int bits : {8, 16, 32, 64})
        for (const ConvolutionPass pass : {forward, input_gradient, weight_gradient}) {
          s.rank = rank;
          s.element_bits = bits;
          const std::int64_t bytes = convolution_workspace(s, pass);
          EXPECT_TRUE(bytes == 0 || bytes > std::int64_t{1} << 40) << bytes;
        }
  }
  EXPECT_EQ(convolution_workspace(square(most, 64, 224, 64, 3, 224), forward), kUnbounded);
}

TEST(ConvolutionWorkspace, TheTreesAreWhole) {
  const WorkspaceTable table = workspace_table();
  ASSERT_EQ(table.roots.size(), 6U);
  for (const auto root : table.roots) EXPECT_LT(root, table.nodes.size());
  for (std::size_t i = 0; i < table.nodes.size(); ++i) {
    const WorkspaceNode& node = table.nodes[i];
    if (node.feature == WorkspaceFeature::leaf) {
      EXPECT_LT(static_cast<std::size_t>(node.threshold), table.terms.size());
      continue;
    }
    EXPECT_LT(node.feature, WorkspaceFeature::count);
    EXPECT_GT(node.above, i + 1);
    EXPECT_LT(node.above, table.nodes.size());
  }
  EXPECT_EQ(table.nodes.back().feature, WorkspaceFeature::leaf);
}

}  // namespace
}  // namespace plimsoll::program
