// Graphs that PyTorch exported, and the zoo, against what public sources and a real machine say of them. The
// data stand beside the project (PLIMSOLL_SHARED, else ../shared); without them the tests are skipped.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "inspected.hpp"
#include "reference_table.hpp"

namespace plimsoll::integration {
namespace {

using network::kNoTensor;
using network::kUnbounded;
using network::Mode;

/// Every file once, by its name without ".onnx": "resnet50.train".
const std::map<std::string, Inspected>& exports() {
  static const std::map<std::string, Inspected> kAll = [] {
    std::map<std::string, Inspected> all;
    for (const auto& file : std::filesystem::directory_iterator(shared() / "data/onnx")) {
      if (file.path().extension() != ".onnx") continue;
      Result<Inspected> inspected = inspect_file(file.path());
      EXPECT_TRUE(inspected) << file.path() << ": " << inspected.error().text();
      if (inspected) all.emplace(file.path().stem().string(), std::move(*inspected));
    }
    return all;
  }();
  return kAll;
}

std::string model_of(const std::string& file) {
  return file.substr(0, file.find('.'));
}

class SharedModels : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(shared() / "data/onnx"))
      GTEST_SKIP() << "no exported graphs in " << shared() / "data/onnx"
                   << "; PLIMSOLL_SHARED names the folder";
  }
};

class SharedFacts : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared() / "facts/networks.md"))
      GTEST_SKIP() << "no " << shared() / "facts/networks.md" << "; PLIMSOLL_SHARED names the folder";
    references = read_references(shared() / "facts/networks.md");
  }
  [[nodiscard]] const Reference& reference(const std::string& name) const {
    for (const Reference& r : references)
      if (r.name == name) return r;
    throw std::runtime_error("facts/networks.md has no row '" + name + "'");
  }
  std::vector<Reference> references;
};

TEST_F(SharedModels, AreInspectedWithEveryOperatorCounted) {
  ASSERT_GE(exports().size(), 40u);
  for (const auto& [file, i] : exports()) {
    EXPECT_EQ(i.counts.counted, i.counts.nodes) << file;
    EXPECT_GT(i.counts.nodes, 0u) << file;
    EXPECT_NE(i.counts.forward.flops.high, kUnbounded) << file;
    EXPECT_NE(i.counts.backward.flops.high, kUnbounded) << file;
    EXPECT_LE(i.counts.forward.macs.low, i.counts.forward.macs.high) << file;
  }
}

TEST_F(SharedModels, HaveShapesWithExactExtentsOrBounds) {
  for (const auto& [file, i] : exports())
    for (const network::Graph& graph : i.network.graphs)
      for (const network::Operator& op : graph.operators)
        for (const network::TensorId id : i.network.outputs(op)) {
          if (id == kNoTensor) continue;
          EXPECT_NE(i.shapes.type(id), network::DataType::undefined)
              << file << ": " << describe(i.network, op);
          ASSERT_TRUE(i.shapes.ranked(id)) << file << ": " << describe(i.network, op);
          for (const network::Dim d : i.shapes.dims(id))
            EXPECT_NE(i.shapes.symbols().bounds(d).high, kUnbounded)
                << file << ": " << describe(i.network, op) << " gives " << i.shapes.text(id);
        }
}

TEST_F(SharedModels, OfTrainingHaveTheParametersThatPyTorchLoaded) {
  std::ifstream in(shared() / "data/h200/memory.jsonl");
  if (!in) GTEST_SKIP() << "no " << shared() / "data/h200/memory.jsonl";
  std::set<std::string> compared;
  for (std::string line; std::getline(in, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row.at("mode") != "load") continue;
    const std::string model = row.at("model");
    const auto found = exports().find(model + ".train");
    if (found == exports().end()) continue;
    EXPECT_EQ(found->second.counts.parameters, row.at("params").get<std::int64_t>()) << model;
    EXPECT_EQ(found->second.counts.parameter_bytes, 4 * row.at("params").get<std::int64_t>()) << model;
    compared.insert(model);
  }
  for (const auto& [file, i] : exports())
    if (file.ends_with(".train")) {
      EXPECT_TRUE(compared.contains(model_of(file))) << file;
    }
}

TEST_F(SharedModels, OfOneNetworkHaveTheSameWork) {
  std::map<std::string, std::pair<std::string, std::int64_t>> first;
  for (const auto& [file, i] : exports()) {
    const std::int64_t macs = i.counts.forward.macs.high;
    const auto [at, fresh] = first.try_emplace(model_of(file), file, macs);
    if (fresh) continue;
    EXPECT_LT(std::abs(static_cast<double>(macs) / static_cast<double>(at->second.second) - 1), 0.01)
        << file << " has " << macs << " MACs, " << at->second.first << " " << at->second.second;
  }
}

TEST_F(SharedModels, OfDetectorsStateBounds) {
  bool seen = false;
  for (const auto& [file, i] : exports()) {
    if (model_of(file) != "fasterrcnn_resnet50_fpn") continue;
    seen = true;
    EXPECT_LT(i.counts.forward.macs.low, i.counts.forward.macs.high) << file;
    // Backbone, pyramid and proposal heads see every image; regions are what the data decide.
    EXPECT_GT(static_cast<double>(i.counts.forward.macs.low), 100e9) << file;
  }
  EXPECT_TRUE(seen);
}

/// Rows of the table, the zoo's name for each, and the exported file that shows the same network.
struct Named {
  const char* reference;
  const char* zoo;
  const char* file;       ///< "" where there is none
  std::int64_t sequence;  ///< 0: no language model
  std::size_t column;     ///< which of several figures
  double tolerance;
};
constexpr double kUsual = 0.005;
constexpr Named kNamed[] = {
    {"AlexNet", "alexnet", "alexnet", 0, 0, kUsual},
    {"VGG16", "vgg16", "vgg16", 0, 0, kUsual},
    {"VGG19", "vgg19", "", 0, 0, kUsual},
    {"GoogLeNet (no aux)", "googlenet", "googlenet", 0, 0, kUsual},
    {"ResNet-18", "resnet18", "", 0, 0, kUsual},
    {"ResNet-50", "resnet50", "resnet50", 0, 0, kUsual},
    {"ResNet-152", "resnet152", "resnet152", 0, 0, kUsual},
    {"Inception v3", "inception_v3", "", 0, 0, kUsual},
    {"EfficientNet-B0", "efficientnet_b0", "efficientnet_b0", 0, 0, kUsual},
    {"ViT-B/16", "vit_b_16", "vit_b_16", 0, 0, kUsual},
    {"SSD300-VGG16", "ssd300_vgg16", "ssd300_vgg16", 0, 0, kUsual},
    // 134.38, to the precision in which it is printed
    {"Faster R-CNN R50-FPN", "fasterrcnn_resnet50_fpn", "fasterrcnn_resnet50_fpn", 0, 0, 0.005 / 134.38},
    {"MobileNet v1 1.0", "mobilenet_v1", "", 0, 0, kUsual},
    {"MobileNet v1 0.5", "mobilenet_v1:alpha=0.5", "", 0, 0, kUsual},
    {"MobileNet v1 0.25", "mobilenet_v1:alpha=0.25", "", 0, 0, kUsual},
    {"YOLOv3", "yolov3", "", 0, 0, kUsual},
    {"Tiny YOLOv3", "yolov3_tiny", "", 0, 0, kUsual},
    {"CaiT-S24", "cait_s24", "", 0, 0, 0.01},  // printed as 9.4: two digits
    {"CaiT-M36", "cait_m36", "", 0, 0, kUsual},
    {"BERT-base", "bert_base", "bert_base", 128, 0, kUsual},
    {"BERT-base", "bert_base", "", 512, 1, kUsual},
    {"GPT-2 small with LM head", "gpt2", "", 1024, 0, kUsual},
    {"DLRM (Criteo Terabyte)", "dlrm", "", 0, 0, 0.03},  // "about 0.0024"
};

network::BindingRequest one_sample(std::int64_t sequence) {
  network::BindingRequest request;
  if (sequence > 0) request.sequence = sequence;
  return request;
}

void expect_near(std::int64_t macs, double gmacs, double tolerance, const std::string& what) {
  EXPECT_LE(std::abs(static_cast<double>(macs) / 1e9 / gmacs - 1), tolerance)
      << what << ": expected " << gmacs << " GMACs within " << 100 * tolerance << " %, counted "
      << static_cast<double>(macs) / 1e9;
}

TEST_F(SharedFacts, WorkOfExportedGraphs) {
  if (!std::filesystem::is_directory(shared() / "data/onnx")) GTEST_SKIP() << "no exported graphs";
  for (const Named& named : kNamed) {
    if (*named.file == '\0') continue;
    const double gmacs = reference(named.reference).gmacs.at(named.column);
    std::size_t files = 0;
    for (const auto& [file, i] : exports()) {
      if (model_of(file) != named.file) continue;
      ++files;
      expect_near(i.counts.forward.macs.high, gmacs, named.tolerance, file);
    }
    EXPECT_GT(files, 0u) << named.file;
  }
}

TEST_F(SharedFacts, WorkOfTheZoo) {
  for (const Named& named : kNamed) {
    const Result<Inspected> i = inspect_zoo(named.zoo, Mode::infer, one_sample(named.sequence));
    ASSERT_TRUE(i) << named.zoo << ": " << i.error().text();
    expect_near(i->counts.forward.macs.high, reference(named.reference).gmacs.at(named.column),
                named.tolerance, named.zoo);
  }
}

TEST_F(SharedFacts, ParametersOfTheZooAreExact) {
  std::set<std::string> checked;
  for (const Named& named : kNamed) {
    const Reference& row = reference(named.reference);
    if (!row.parameters) continue;
    // Auxiliary heads are stored with the model whether it trains or not.
    const Result<Inspected> i = inspect_zoo(named.zoo);
    ASSERT_TRUE(i) << named.zoo << ": " << i.error().text();
    EXPECT_EQ(i->counts.parameters, *row.parameters) << named.zoo;
    checked.insert(row.name);
  }
  for (const Reference& row : references)
    if (row.parameters) {
      EXPECT_TRUE(checked.contains(row.name)) << "no zoo model for " << row.name;
    }
}

TEST_F(SharedFacts, HalvedCausalAttentionOfGpt2) {
  program::Conventions halved;
  halved.halve_causal = true;
  const Result<Inspected> i = inspect_zoo("gpt2", Mode::infer, one_sample(1024), halved);
  ASSERT_TRUE(i) << i.error().text();
  expect_near(i->counts.forward.macs.high, 136.2, kUsual, "gpt2, causal attention halved");
}

double convolution_share(const char* name) {
  const Result<Inspected> i = inspect_zoo(name);
  if (!i) return -1;
  std::int64_t convolutions = 0;
  for (const program::OperatorCount& row : i->counts.operators)
    if (i->network.type_of(i->network.graph(row.graph).operators[row.index]) == "Conv")
      convolutions += i->counts.work_of(row).macs.high;
  return static_cast<double>(convolutions) / static_cast<double>(i->counts.forward.macs.high);
}

TEST(Zoo, ConvolutionsHoldMostOfVgg) {
  EXPECT_NEAR(100 * convolution_share("vgg16"), 99.20, 0.005);
  EXPECT_NEAR(100 * convolution_share("vgg19"), 99.37, 0.005);
}

TEST_F(SharedModels, AndTheZooAgree) {
  // The zoo claims to build what PyTorch exports: not near, the same.
  for (const char* name : {"alexnet", "vgg16", "googlenet", "resnet50", "resnet152", "squeezenet1_1",
                           "mobilenet_v2", "efficientnet_b0", "vit_b_16"}) {
    const Inspected& file = exports().at(std::string(name) + ".train");
    const Result<Inspected> built = inspect_zoo(name, Mode::train);
    ASSERT_TRUE(built) << name << ": " << built.error().text();
    EXPECT_EQ(built->counts.parameters, file.counts.parameters) << name;
    EXPECT_EQ(built->counts.forward.macs, file.counts.forward.macs) << name;
    EXPECT_EQ(built->counts.backward.macs, file.counts.backward.macs) << name;
  }
}

TEST_F(SharedModels, AndTheZooAgreeOnLanguageModels) {
  const Result<Inspected> gpt2 = inspect_zoo("gpt2", Mode::infer, one_sample(512));
  ASSERT_TRUE(gpt2) << gpt2.error().text();
  EXPECT_EQ(gpt2->counts.forward.macs, exports().at("gpt2.dynamo").counts.forward.macs);
  const Result<Inspected> bert = inspect_zoo("bert_base", Mode::infer, one_sample(128));
  ASSERT_TRUE(bert) << bert.error().text();
  EXPECT_EQ(bert->counts.forward.macs, exports().at("bert_base.dynamo").counts.forward.macs);
}

}  // namespace
}  // namespace plimsoll::integration
