#include "network/zoo/zoo.hpp"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/zoo/arguments.hpp"

namespace plimsoll::network::zoo {
namespace {

using ::testing::HasSubstr;

std::int64_t elements(const Network& network, TensorId id) {
  std::int64_t n = 1;
  for (const Dim d : network.dims_of(network.tensor(id))) n *= d.value();
  return n;
}

std::int64_t stored(const Network& network, Role role) {
  std::int64_t sum = 0;
  for (const TensorId id : network.main().weights)
    if (network.tensor(id).role == role) sum += elements(network, id);
  return sum;
}

std::int64_t parameters(const Network& network) {
  return stored(network, Role::parameter);
}

std::size_t count(const Network& network, std::string_view type) {
  std::size_t n = 0;
  for (const Operator& op : network.main().operators)
    if (network.type_of(op) == type) ++n;
  return n;
}

struct Count {
  std::string_view spec;
  std::int64_t parameters;
};

// The modules' own counts: torchvision's documentation, TensorFlow's model cards, Hugging Face.
constexpr Count kCounts[] = {
    {"alexnet", 61'100'840},
    {"vgg11", 132'863'336},
    {"vgg13", 133'047'848},
    {"vgg16", 138'357'544},
    {"vgg19", 143'667'240},
    {"vgg11_bn", 132'868'840},
    {"vgg13_bn", 133'053'736},
    {"vgg16_bn", 138'365'992},
    {"vgg19_bn", 143'678'248},
    {"googlenet", 6'624'904},
    {"inception_v3", 27'161'264},
    {"resnet18", 11'689'512},
    {"resnet26", 15'995'176},
    {"resnet34", 21'797'672},
    {"resnet50", 25'557'032},
    {"resnet101", 44'549'160},
    {"resnet152", 60'192'808},
    {"wide_resnet50_2", 68'883'240},
    {"wide_resnet101_2", 126'886'696},
    {"resnext50_32x4d", 25'028'904},
    {"resnext101_32x8d", 88'791'336},
    {"densenet121", 7'978'856},
    {"squeezenet1_0", 1'248'424},
    {"squeezenet1_1", 1'235'496},
    {"mobilenet_v1", 4'231'976},
    {"mobilenet_v1:alpha=0.5", 1'331'592},
    {"mobilenet_v1:alpha=0.25", 470'072},
    {"mobilenet_v2", 3'504'872},
    {"mobilenet_v3_large", 5'483'032},
    {"mobilenet_v3_small", 2'542'856},
    {"efficientnet_b0", 5'288'548},
    {"efficientnet_b1", 7'794'184},
    {"efficientnet_b2", 9'109'994},
    {"efficientnet_b3", 12'233'232},
    {"efficientnet_b4", 19'341'616},
    {"efficientnet_b5", 30'389'784},
    {"efficientnet_b6", 43'040'704},
    {"efficientnet_b7", 66'347'960},
    {"vit_b_16", 86'567'656},
    {"vit_l_16", 304'326'632},
    {"yolov3", 61'949'149},
    {"ssd300_vgg16", 35'641'826},
    {"fasterrcnn_resnet50_fpn", 41'755'286},
    {"bert_base", 109'482'240},
    {"bert_large", 335'141'888},
    {"gpt2", 124'439'808},
    {"gpt2_medium", 354'823'168},
    {"gpt2_large", 774'030'080},
    {"gpt2_xl", 1'557'611'200},
    {"llama2_7b", 6'738'415'616},
    {"llama2_13b", 13'015'864'320},
    {"llama2_70b", 68'976'648'192},
    {"llama3_8b", 8'030'261'248},
    {"llama3_70b", 70'553'706'496},
};

// What the papers and repositories give rounded.
struct RoundedCount {
  std::string_view spec;
  double millions;
  double tolerance;
};
constexpr RoundedCount kRoundedCounts[] = {
    {"yolov3_tiny", 8.86, 0.002}, {"cait_s24", 46.9, 0.002}, {"cait_m36", 270.9, 0.002},
    {"gpt3", 174'600, 0.001},     {"dlrm", 24'030, 0.001},
};

// With a head of five classes, as studies transfer it; Keras counts the running statistics of BatchNorm too.
TEST(Zoo, MobileNetsWithASmallHeadCountAsKerasDoes) {
  const Count table[] = {{"mobilenet_v1:classes=5,alpha=0.25", 219'829},
                         {"mobilenet_v1:classes=5,alpha=0.5", 832'101},
                         {"mobilenet_v1:classes=5", 3'233'989}};
  for (const Count& row : table) {
    const auto network = build(row.spec, Mode::infer);
    ASSERT_TRUE(network) << row.spec;
    // Two buffers are no statistics: the ends of the range that ReLU6 cuts to.
    EXPECT_EQ(stored(*network, Role::parameter) + stored(*network, Role::buffer) - 2, row.parameters)
        << row.spec;
  }
}

TEST(Zoo, HasTheParametersOfTheModules) {
  for (const Count& row : kCounts)
    for (const Mode mode : {Mode::infer, Mode::train}) {
      const auto network = build(row.spec, mode);
      ASSERT_TRUE(network) << row.spec << ": " << network.error().text();
      EXPECT_EQ(parameters(*network), row.parameters) << row.spec;
    }
}

TEST(Zoo, HasAboutTheParametersThatPapersSay) {
  for (const RoundedCount& row : kRoundedCounts) {
    const auto network = build(row.spec, Mode::infer);
    ASSERT_TRUE(network) << row.spec << ": " << network.error().text();
    EXPECT_NEAR(static_cast<double>(parameters(*network)) / 1e6 / row.millions, 1, row.tolerance) << row.spec;
  }
}

TEST(Zoo, EveryEntryBuildsInBothModesWithNamesOfItsOwn) {
  for (const Entry& entry : entries())
    for (const Mode mode : {Mode::infer, Mode::train}) {
      const auto network = build(entry.name, mode);
      ASSERT_TRUE(network) << entry.name << ": " << network.error().text();
      EXPECT_FALSE(network->main().outputs.empty()) << entry.name;
      std::set<std::string_view> names;
      for (std::size_t i = 0; i < network->tensors.size(); ++i) {
        const auto name = network->name_of(static_cast<TensorId>(i));
        EXPECT_TRUE(names.insert(name).second) << entry.name << " has two tensors named " << name;
      }
      names.clear();
      for (const Operator& op : network->main().operators) {
        EXPECT_NE(op.kind, kUnknownKind) << entry.name << ": " << describe(*network, op);
        EXPECT_TRUE(names.insert(network->name_of(op)).second)
            << entry.name << ": " << describe(*network, op);
      }
    }
}

TEST(Zoo, KeepsDropoutAndBatchStatisticsForTrainingOnly) {
  const auto infer = build("efficientnet_b0", Mode::infer);
  const auto train = build("efficientnet_b0", Mode::train);
  ASSERT_TRUE(infer && train);
  EXPECT_EQ(count(*infer, "Dropout"), 0u);
  EXPECT_EQ(count(*train, "Dropout"), 1u);
  const auto outputs_of_norms = [](const Network& network) {
    std::set<std::size_t> counts;
    for (const Operator& op : network.main().operators)
      if (network.type_of(op) == "BatchNormalization") counts.insert(network.outputs(op).size());
    return counts;
  };
  EXPECT_EQ(outputs_of_norms(*infer), std::set<std::size_t>{1});
  EXPECT_EQ(outputs_of_norms(*train), std::set<std::size_t>{3});
}

TEST(Zoo, RunsTheAuxiliaryClassifierInTrainingOnly) {
  EXPECT_EQ(build("inception_v3", Mode::infer)->main().outputs.size(), 1u);
  EXPECT_EQ(build("inception_v3", Mode::train)->main().outputs.size(), 2u);
}

TEST(Zoo, NamesDoNotDependOnCaseAndSeparators) {
  for (const char* spec :
       {"ResNet-50", "resnet_50", "RESNET50:classes=10", "mobilenet_v1_0.25", "MobileNet-v3-Large"})
    EXPECT_TRUE(names_zoo_model(spec)) << spec;
  for (const char* spec : {"", ":", "resnet", "resnet50.onnx", "./resnet50", "resnet50/model"})
    EXPECT_FALSE(names_zoo_model(spec)) << spec;
  EXPECT_EQ(*build("ResNet-50", Mode::infer), *build("resnet50", Mode::infer));
  EXPECT_EQ(parameters(*build("mobilenet_v1_0.25", Mode::infer)), 470'072);
  EXPECT_EQ(parameters(*build("mobilenet_v1_0.25:alpha=1", Mode::infer)), 4'231'976);
}

TEST(Zoo, OptionsChangeWhatTheySay) {
  const auto ten = build("resnet50:classes=10,input=1x32x32", Mode::infer);
  ASSERT_TRUE(ten) << ten.error().text();
  EXPECT_EQ(parameters(*ten), 25'557'032 - 990 * 2049 - 2 * 64 * 49);
  const auto dims = ten->dims_of(ten->tensor(ten->main().inputs[0]));
  ASSERT_EQ(dims.size(), 4u);
  EXPECT_EQ(ten->symbols.text(dims[0]), "batch");
  EXPECT_TRUE(dims[1].is(1) && dims[2].is(32) && dims[3].is(32));
  const auto wide = build("resnet50: input=64x96 , channels=4", Mode::infer);
  ASSERT_TRUE(wide) << wide.error().text();
  const auto wide_dims = wide->dims_of(wide->tensor(wide->main().inputs[0]));
  EXPECT_TRUE(wide_dims[1].is(4) && wide_dims[2].is(64) && wide_dims[3].is(96));
}

TEST(Zoo, UnknownNamesGetASuggestion) {
  const auto wrong = build("resnet5O", Mode::infer);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("resnet5O"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("resnet50"));
  EXPECT_FALSE(build("", Mode::infer));
  EXPECT_FALSE(build(std::string(100'000, 'x'), Mode::infer));
}

TEST(Zoo, BadOptionsAreRefusedWithTheAcceptedOnes) {
  const auto wrong = build("resnet50:alpha=0.5", Mode::infer);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().hint, HasSubstr("classes"));
  for (const char* spec : {"resnet50:classes",
                           "resnet50:classes=",
                           "resnet50:classes=0",
                           "resnet50:classes=-1",
                           "resnet50:classes=1000001",
                           "resnet50:classes=99999999999999999999999",
                           "resnet50:classes=1e3",
                           "resnet50:classes=10x",
                           "resnet50:,",
                           "resnet50:classes=10,classes=10",
                           "resnet50:input=3",
                           "resnet50:input=0x0",
                           "resnet50:input=3x224x224x224",
                           "resnet50:input=3x99999x224",
                           "resnet50:input=x",
                           "resnet50:input=",
                           "resnet50:input=-3x224x224",
                           "resnet50:=",
                           "resnet50:channels=0",
                           "mobilenet_v1:alpha=nan",
                           "mobilenet_v1:alpha=inf",
                           "mobilenet_v1:alpha=0",
                           "mobilenet_v1:alpha=1e300"})
    EXPECT_FALSE(build(spec, Mode::infer)) << spec;
}

TEST(Zoo, SaysWhereAnInputIsTooSmall) {
  for (const char* spec :
       {"alexnet:input=16x16", "vgg16:input=8x8", "inception_v3:input=32x32", "densenet121:input=8x8"}) {
    const auto small = build(spec, Mode::infer);
    ASSERT_FALSE(small) << spec;
    EXPECT_THAT(small.error().message, HasSubstr("too small")) << spec;
  }
  EXPECT_TRUE(build("vgg16:input=32x32", Mode::infer));
  EXPECT_TRUE(build("inception_v3:input=75x75", Mode::infer));
}

}  // namespace
}  // namespace plimsoll::network::zoo
