#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "network/inference.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::network::zoo {
namespace {

/// Multiply-accumulates of Conv, Gemm and MatMul; an extent that depends on the data counts with its bound.
class Macs {
 public:
  Macs(const Network& network, const Shapes& shapes) : network_(network), shapes_(shapes) {
    for (const Operator& op : network.main().operators) sum_ += of(op);
  }
  [[nodiscard]] double giga() const { return sum_ / 1e9; }

 private:
  [[nodiscard]] double extent(TensorId id, std::size_t axis) const {
    return static_cast<double>(shapes_.symbols().bounds(shapes_.dims(id)[axis]).high);
  }
  [[nodiscard]] double elements(TensorId id) const { return static_cast<double>(shapes_.elements(id).high); }
  [[nodiscard]] double of(const Operator& op) const {
    const auto in = network_.inputs(op);
    const TensorId out = network_.outputs(op)[0];
    const auto type = network_.type_of(op);
    if (type == "Conv") return elements(out) * elements(in[1]) / extent(in[1], 0);
    if (type == "Gemm") return elements(out) * extent(in[1], 1);
    if (type == "MatMul") return elements(out) * extent(in[0], shapes_.dims(in[0]).size() - 1);
    return 0;
  }
  const Network& network_;
  const Shapes& shapes_;
  double sum_ = 0;
};

Result<Shapes> shapes_of(const Network& network, std::int64_t batch, std::int64_t sequence) {
  BindingRequest request;
  request.batch = batch;
  for (std::size_t i = 0; i < network.symbols.size(); ++i)
    if (network.symbols.at(static_cast<SymbolId>(i)).name == "sequence") request.sequence = sequence;
  auto binding = bind(network, request);
  if (!binding) return std::unexpected(binding.error());
  return infer(network, *binding);
}

TEST(ZooShapes, EveryTensorOfEveryEntryIsInferred) {
  for (const Entry& entry : entries())
    for (const Mode mode : {Mode::infer, Mode::train})
      for (const std::int64_t batch : {1, 8}) {
        const auto network = build(entry.name, mode);
        ASSERT_TRUE(network) << entry.name;
        const auto shapes = shapes_of(*network, batch, 128);
        ASSERT_TRUE(shapes) << entry.name << ": " << shapes.error().text();
        for (const Operator& op : network->main().operators)
          for (const TensorId id : network->outputs(op)) {
            ASSERT_TRUE(shapes->ranked(id)) << entry.name << ": " << describe(*network, op);
            EXPECT_NE(shapes->elements(id).high, kUnbounded) << entry.name << ": " << describe(*network, op);
            EXPECT_NE(shapes->type(id), DataType::undefined) << entry.name << ": " << describe(*network, op);
          }
      }
}

struct Output {
  std::string_view spec;
  std::int64_t batch;
  std::string_view shape;
};

TEST(ZooShapes, OutputsHaveTheModulesShapes) {
  for (const Entry& entry : entries()) {
    if (entry.family != "image classification") continue;
    const auto network = build(entry.name, Mode::infer);
    ASSERT_TRUE(network);
    for (const std::int64_t batch : {1, 8}) {
      const auto shapes = shapes_of(*network, batch, 1);
      ASSERT_TRUE(shapes) << entry.name << ": " << shapes.error().text();
      EXPECT_EQ(shapes->text(network->main().outputs[0]), fmt::format("{}x1000", batch)) << entry.name;
    }
  }
  constexpr Output kOutputs[] = {
      {"resnet50:classes=10,input=1x32x32", 8, "8x10"},
      {"vgg16:input=32x32", 2, "2x1000"},
      {"alexnet:input=100x300", 2, "2x1000"},
      {"yolov3", 2, "2x10647x85"},
      {"yolov3_tiny:classes=20", 1, "1x2535x25"},
      {"ssd300_vgg16", 2, "2x8732x4"},
      {"bert_base", 2, "2x128x768"},
      {"gpt2", 2, "2x128x50257"},
      {"llama3_8b", 2, "2x128x128256"},
      {"dlrm", 32, "32x1"},
      {"dlrm:tables=3,rows=1000,dim=16", 4, "4x1"},
  };
  for (const Output& row : kOutputs) {
    const auto network = build(row.spec, Mode::infer);
    ASSERT_TRUE(network) << row.spec << ": " << network.error().text();
    const auto shapes = shapes_of(*network, row.batch, 128);
    ASSERT_TRUE(shapes) << row.spec << ": " << shapes.error().text();
    EXPECT_EQ(shapes->text(network->main().outputs[0]), row.shape) << row.spec;
  }
}

struct Work {
  std::string_view spec;
  std::int64_t sequence;
  double giga_macs;
  double tolerance = 0.005;
};

// torchvision's documentation, TensorFlow's model cards, darknet, the papers; one sample.
constexpr Work kWork[] = {
    {"alexnet", 1, 0.714},
    {"vgg16", 1, 15.470},
    {"vgg19", 1, 19.632},
    {"googlenet", 1, 1.498},
    {"inception_v3", 1, 5.713},
    {"resnet18", 1, 1.814},
    {"resnet34", 1, 3.664},
    {"resnet50", 1, 4.089},
    {"resnet101", 1, 7.801},
    {"resnet152", 1, 11.514},
    {"wide_resnet50_2", 1, 11.398},
    {"wide_resnet101_2", 1, 22.753},
    {"resnext50_32x4d", 1, 4.230},
    {"resnext101_32x8d", 1, 16.414},
    {"densenet121", 1, 2.834},
    {"squeezenet1_0", 1, 0.819},
    {"squeezenet1_1", 1, 0.349},
    {"mobilenet_v1", 1, 0.5687},
    {"mobilenet_v1:alpha=0.5", 1, 0.1495},
    {"mobilenet_v1:alpha=0.25", 1, 0.0410},
    {"mobilenet_v2", 1, 0.301},
    {"mobilenet_v3_large", 1, 0.2166},
    {"mobilenet_v3_small", 1, 0.0565},
    {"efficientnet_b0", 1, 0.386},
    {"efficientnet_b7", 1, 37.746},
    {"vit_b_16", 1, 17.564},
    {"cait_s24", 1, 9.4, 0.01},  // given to two digits
    {"cait_m36", 1, 173.3},
    {"yolov3", 1, 32.93},
    {"yolov3_tiny", 1, 2.782},
    {"ssd300_vgg16", 1, 34.858},
    {"fasterrcnn_resnet50_fpn", 1, 134.38},  // the bound: 1000 proposals
    {"bert_base", 128, 11.17},
    {"bert_base", 512, 48.3},
    {"gpt2", 1024, 145.8},
    {"dlrm", 1, 0.002458},
};

TEST(ZooShapes, WorkIsWhatTheModulesAreKnownFor) {
  for (const Work& row : kWork) {
    const auto network = build(row.spec, Mode::infer);
    ASSERT_TRUE(network) << row.spec;
    const auto shapes = shapes_of(*network, 1, row.sequence);
    ASSERT_TRUE(shapes) << row.spec << ": " << shapes.error().text();
    EXPECT_NEAR(Macs(*network, *shapes).giga() / row.giga_macs, 1, row.tolerance)
        << row.spec << ' ' << Macs(*network, *shapes).giga();
  }
}

TEST(ZooShapes, RegionsDependOnTheDataAndAreBounded) {
  for (const auto& [mode, most] : {std::pair(Mode::infer, 1000), std::pair(Mode::train, 512)}) {
    const auto network = build("fasterrcnn_resnet50_fpn", mode);
    ASSERT_TRUE(network);
    const auto shapes = shapes_of(*network, 2, 1);
    ASSERT_TRUE(shapes) << shapes.error().text();
    const Dim regions = shapes->dims(network->main().outputs.back())[0];
    EXPECT_FALSE(regions.exact());
    EXPECT_EQ(shapes->symbols().bounds(regions).high, 2 * most);
  }
}

TEST(ZooShapes, ASequenceBeyondTheTableOfPositionsFails) {
  for (const char* spec : {"gpt2", "bert_base"}) {
    const auto network = build(spec, Mode::infer);
    ASSERT_TRUE(network);
    EXPECT_FALSE(shapes_of(*network, 1, 4096)) << spec;
  }
}

TEST(ZooShapes, TheLargestNetworkIsSmallInMemory) {
  const auto network = build("gpt3", Mode::train);
  ASSERT_TRUE(network);
  const std::size_t bytes = network->tensors.size() * sizeof(Tensor) + network->text.size() +
                            network->main().operators.size() * sizeof(Operator) +
                            network->scalars.size() * sizeof(Scalar);
  EXPECT_LT(bytes, 2'000'000u);
}

}  // namespace
}  // namespace plimsoll::network::zoo
