#include "job/job.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/fields.hpp"
#include "job/test_job.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::job {
namespace {

using network::TensorId;
using testing::HasSubstr;

void expect_same_numbers(const network::Network& a, const network::Network& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    EXPECT_EQ(a.name_of(id), b.name_of(id)) << i;
    EXPECT_EQ(a.tensor(id).type, b.tensor(id).type) << i;
  }
  ASSERT_EQ(a.graphs.size(), b.graphs.size());
  for (std::size_t i = 0; i < a.graphs.size(); ++i) {
    EXPECT_EQ(a.graphs[i].name, b.graphs[i].name);
    EXPECT_EQ(a.graphs[i].inputs, b.graphs[i].inputs);
    EXPECT_EQ(a.graphs[i].weights, b.graphs[i].weights);
    ASSERT_EQ(a.graphs[i].operators.size(), b.graphs[i].operators.size());
    for (std::size_t j = 0; j < a.graphs[i].operators.size(); ++j)
      EXPECT_EQ(a.graphs[i].operators[j].kind, b.graphs[i].operators[j].kind);
  }
}

class ZooJob : public testing::TestWithParam<const char*> {};

TEST_P(ZooJob, NetworkComesBackEqualWithTheSameNumbers) {
  for (const network::Mode mode : {network::Mode::infer, network::Mode::train}) {
    Job job;
    const Result<network::Network> network = network::zoo::build(GetParam(), mode);
    ASSERT_TRUE(network) << network.error().text();
    job.network = *network;
    const auto bound = network::bind(job.network, {});
    ASSERT_TRUE(bound) << bound.error().text();
    job.binding = *bound;
    const Result<Job> again = read(write(job));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(again->network == job.network);
    expect_same_numbers(job.network, again->network);
    EXPECT_EQ(again->binding.symbols, job.binding.symbols);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooJob,
                         testing::Values("resnet18", "mobilenet_v2", "vit_b_16", "gpt2", "faster_rcnn",
                                         "dlrm", "yolov3", "ssd300_vgg16"));

TEST(Job, AnOddNetworkComesBackEqual) {
  const Job job = test_job::odd_job();
  const Result<Job> again = read(write(job));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(again->network == job.network);
  expect_same_numbers(job.network, again->network);
  EXPECT_EQ(write(*again), write(job));
  const auto& table = again->network.tensor(job.network.main().weights[2]);
  EXPECT_TRUE(std::signbit(again->network.value_of(table)[1].real()));
  EXPECT_EQ(again->network.value_of(table)[2].real(), std::numeric_limits<double>::infinity());
}

TEST(Job, WhatIsToBeExaminedComesBack) {
  Job job = test_job::odd_job();
  job.task = Task::examine;
  job.data = Data{.file = "images.safetensors", .examples = 64};
  job.learning.augmentation = {.mean = {0.5}, .deviation = {0.25}};
  job.execution.quantized_by = "QNNPACK";
  job.examining = {.test = false, .places = {3, 0, 7}, .observed = {job.network.main().inputs[0]}};
  const Result<Job> again = read(write(job));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->examining, job.examining);
  EXPECT_EQ(again->execution, job.execution);
  EXPECT_EQ(again->learning.augmentation, job.learning.augmentation);
  // A tensor that the network has not.
  std::string text = write(job);
  const std::string observed = "\"observed\":[{\"tensor\":0}]";
  const auto at = text.find(observed);
  ASSERT_NE(at, text.npos) << text;
  text.replace(at, observed.size(), "\"observed\":[{\"tensor\":9999}]");
  EXPECT_FALSE(read(text));
}

TEST(Job, EveryFieldComesBack) {
  Job job = test_job::odd_job();
  job.task = Task::train;
  job.device = "cuda:7";
  job.binding.inputs = {{job.network.main().inputs[0], {2, 3, 8}}};
  job.setting = {.mode = network::Mode::train,
                 .batch = 7,
                 .sequence = 33,
                 .context = 5,
                 .precision = network::Precision::amp_bf16,
                 .layout = network::Layout::channels_last,
                 .in_place = network::InPlace::never,
                 .key_value_cache = false,
                 .logits = network::Logits::last,
                 .fold = true,
                 .literal = true,
                 .captured = true,
                 .cudnn_benchmark = true,
                 .optimizer = network::Optimizer::adamw,
                 .loss = network::Loss::mean_square,
                 .frozen = {"layer1", "a\xff"},
                 .checkpoint = true,
                 .checkpoints = {"layer2"},
                 .accumulate = 3,
                 .zero_grad = network::ZeroGrad::keep,
                 .fused_optimizer = true,
                 .allocator = {.expandable_segments = true, .max_split_size = 1 << 25},
                 .devices = 4,
                 .sharding = network::Sharding::zero2,
                 .interconnect = {.bandwidth = 5e10, .latency = 5e-6, .devices_per_machine = 4}};
  job.execution = {.learning_rate = 0.1,
                   .deterministic = true,
                   .seed = std::numeric_limits<std::uint64_t>::max(),
                   .threads = 3};
  job.protocol = {.seconds = 1.5,
                  .relative_width = 0.01,
                  .confidence = 0.99,
                  .least_samples = 5,
                  .most_samples = 50,
                  .layers = true,
                  .energy_seconds = 3,
                  .paced = true,
                  .trace = "trace.json",
                  .scenario = {Arrival::server, 100, 2, 12.5, 400}};
  job.files = {"/tmp/a", "/tmp/b\xff"};
  job.weights = {{job.network.main().weights[0], 1, 64, 128}};
  job.random_weights = true;
  job.inputs_file = "in.safetensors";
  job.outputs_file = "out.safetensors";
  job.data = Data{.file = "data",
                  .inputs = "x",
                  .labels = "y",
                  .test_inputs = "tx",
                  .test_labels = "ty",
                  .epochs = 3,
                  .shuffle = false};

  const Result<Job> again = read(write(job));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->task, job.task);
  EXPECT_EQ(again->device, job.device);
  ASSERT_EQ(again->binding.inputs.size(), 1U);
  EXPECT_EQ(again->binding.inputs[0].tensor, job.binding.inputs[0].tensor);
  EXPECT_EQ(again->binding.inputs[0].dims, job.binding.inputs[0].dims);
  EXPECT_EQ(again->execution, job.execution);
  EXPECT_EQ(again->setting, job.setting);
  EXPECT_EQ(again->protocol, job.protocol);
  EXPECT_EQ(again->files, job.files);
  EXPECT_EQ(again->weights, job.weights);
  EXPECT_TRUE(again->random_weights);
  EXPECT_EQ(again->inputs_file, job.inputs_file);
  EXPECT_EQ(again->outputs_file, job.outputs_file);
  EXPECT_EQ(again->data, job.data);
}

/// The odd job with one value of its document replaced.
struct Replaced {
  const char* pointer;
  const char* value;
  const char* message;
};
TEST(Job, ACalibrationHasCasesAndNoNetwork) {
  Job job;
  job.task = Task::calibrate;
  job.device = "cuda:1";
  job.execution.threads = 4;
  job.cases = {{"matrix", "backward-weight", "tf32", {64, 128, 256, 0}},
               {"unary", "forward", "bf16", {1 << 20}}};
  const Result<Job> again = read(write(job));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->task, Task::calibrate);
  EXPECT_EQ(again->device, "cuda:1");
  EXPECT_EQ(again->execution, job.execution);
  EXPECT_EQ(again->cases, job.cases);
}

TEST(Job, AnExtentThatIsNoExtentIsRefused) {
  Job job;
  job.task = Task::calibrate;
  job.cases = {{"unary", "forward", "fp32", {-1}}};
  const Result<Job> again = read(write(job));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().text(), HasSubstr("extents"));
}

class HostileJob : public testing::TestWithParam<Replaced> {};

TEST_P(HostileJob, IsRefusedWithTheReason) {
  Json document = Json::parse(write(test_job::odd_job()));
  document[Json::json_pointer(GetParam().pointer)] = Json::parse(GetParam().value);
  const Result<Job> job = read(document.dump());
  ASSERT_FALSE(job) << GetParam().pointer;
  EXPECT_THAT(job.error().text(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Values, HostileJob,
    testing::Values(
        Replaced{"/version", "2", "different versions"}, Replaced{"/task", "\"steal\"", "task: 'steal'"},
        Replaced{"/network", "[]", "network: is not an object"},
        Replaced{"/network/graphs", "[]", "no main graph"},
        Replaced{"/network/graphs/0/inputs", "[99999]", "network.graphs[0].inputs: is not a list of whole"},
        Replaced{"/network/graphs/0/inputs", "[-1]", "inputs: is not a list of whole"},
        Replaced{"/network/graphs/0/inputs", "[1]", "role is not \"input\""},
        Replaced{"/network/graphs/0/weights", "[0]", "neither \"parameter\" nor \"buffer\""},
        Replaced{"/network/graphs/0/operators/0/inputs/0", "18446744073709551615", "whole numbers"},
        Replaced{"/network/graphs/0/operators/0/outputs/0", "1.5", "whole numbers"},
        Replaced{"/network/graphs/0/operators/0/opset", "65536", "opset"},
        Replaced{"/network/graphs/0/operators/0/attributes/0/value", "0", "no body of this operator alone"},
        Replaced{"/network/graphs/0/operators/0/attributes/0/value", "3", "value: is not a whole number"},
        Replaced{"/network/graphs/0/operators/0/attributes/0/value", "2", "no body of this operator alone"},
        Replaced{"/network/graphs/0/operators/0/attributes/0/kind", "\"graphs\"", "'graphs'"},
        Replaced{"/network/graphs/0/operators/2/attributes/6/value", "4294967296", "whole number"},
        Replaced{"/network/tensors/0/type", "25", "network.tensors[0].type"},
        Replaced{"/network/tensors/0/dims/0", R"({"symbol": 2})", "list of extents"},
        Replaced{"/network/tensors/0/dims/0", "-3", "list of extents"},
        Replaced{"/network/tensors/0/dims", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "more than 16"},
        Replaced{"/network/tensors/2/value", "[1]", "1 elements where the shape has 3"},
        Replaced{"/network/tensors/0/name", R"({"hex": "f"})", "is not text"},
        Replaced{"/network/symbols/0/low", "-1", "low"},
        Replaced{"/binding/symbols", "[]", "0 of the network's 2"},
        Replaced{"/binding/inputs", R"([{"tensor": 99, "dims": [1]}])", "binding.inputs[0].tensor"},
        Replaced{"/device", "\"cuda:0;\"", "device"}, Replaced{"/execution/seed", "-1", "64 bits"},
        Replaced{"/execution/learning_rate", "\"nan\"", "finite"},
        Replaced{"/protocol/confidence", "1", "between 0 and 1"},
        Replaced{"/protocol/seconds", "1e300", "year"},
        Replaced{"/protocol/scenario/arrival", "\"server\"", "which a server needs"},
        Replaced{"/files", R"(["a\u0000b"])", "not a path"},
        Replaced{"/weights", R"([{"tensor": 1, "file": 0, "offset": 0, "bytes": 128}])", "weights[0].file"},
        Replaced{"/setting", "null", "setting: is missing"}));

TEST(Job, WeightsMustFitTheirTensorsAndStandOnce) {
  Job job = test_job::odd_job();
  const TensorId weight = job.network.main().weights[0];
  job.files = {"/tmp/a"};
  job.weights = {{weight, 0, 0, 127}};
  EXPECT_THAT(read(write(job)).error().text(), HasSubstr("weights[0].bytes"));
  job.weights = {{weight, 0, std::numeric_limits<std::int64_t>::max(), 128}};
  EXPECT_THAT(read(write(job)).error().text(), HasSubstr("beyond any file"));
  job.weights = {{weight, 0, 0, 128}, {weight, 0, 0, 128}};
  EXPECT_THAT(read(write(job)).error().text(), HasSubstr("weights[1].tensor: has a location already"));
}

TEST(Job, TextThatIsNoJobIsRefused) {
  EXPECT_THAT(read("").error().text(), HasSubstr("not JSON"));
  EXPECT_THAT(read("[]").error().text(), HasSubstr("is not an object"));
  EXPECT_THAT(read("{}").error().text(), HasSubstr("version: is missing"));
  EXPECT_THAT(read(std::string(100'000, '[')).error().text(), HasSubstr("nested deeper"));
  EXPECT_THAT(read(std::string("\"") + std::string(100, '[')).error().text(), HasSubstr("not JSON"));
}

TEST(Job, NamesAreThoseThatAreRead) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(task_named(name(static_cast<Task>(i))), static_cast<Task>(i));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(arrival_named(name(static_cast<Arrival>(i))), static_cast<Arrival>(i));
  EXPECT_EQ(task_named("guess"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::job
