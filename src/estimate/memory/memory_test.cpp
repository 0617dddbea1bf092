#include "estimate/memory/memory.hpp"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/test_estimates.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/operator_curve.hpp"
#include "network/test_network.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::estimate {
namespace {

using namespace network::test_network;
using hardware::Device;
using network::Builder;
using network::Mode;
using network::Optimizer;
using network::Precision;
using network::TensorId;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kMiB = 1 << 20;

Device listed(std::string_view name) {
  const auto& catalogue = hardware::built_in_catalogue();
  EXPECT_TRUE(catalogue);
  const auto found = catalogue->find(name);
  EXPECT_TRUE(found) << found.error().text();
  return found ? **found : Device{};
}

Target on_h200() {
  static const Device device = listed("h200");
  return {&device};
}

Device with_memory(Device device, std::int64_t bytes) {
  device.usable_memory = hardware::DeviceFigure{static_cast<double>(bytes)};
  return device;
}

Device of_unknown_memory() {
  Device d = listed("h200");
  d.memory.reset();
  d.usable_memory.reset();
  return d;
}

Device processor() {
  Device d{.id = "cpu", .name = "A CPU", .kind = hardware::DeviceKind::cpu};
  d.memory = hardware::DeviceFigure{64e9};
  return d;
}

/// A network of the zoo for any batch.
struct Model {
  network::Network network;
  std::optional<std::int64_t> sequence;

  explicit Model(std::string_view spec, Mode mode = Mode::train, std::optional<std::int64_t> tokens = {})
      : sequence(tokens) {
    auto made = network::zoo::build(spec, mode);
    EXPECT_TRUE(made) << made.error().text();
    if (made) network = std::move(*made);
  }
  [[nodiscard]] Result<network::Shapes> shapes(std::int64_t batch) const {
    network::BindingRequest request;
    request.batch = batch;
    request.sequence = sequence;
    const auto binding = network::bind(network, request);
    if (!binding) return std::unexpected(binding.error());
    return network::infer(network, *binding);
  }
  [[nodiscard]] ShapesForBatch for_batch() const {
    return [this](std::int64_t batch) { return shapes(batch); };
  }
  [[nodiscard]] MemoryEstimate estimate(std::int64_t batch, const network::Setting& setting,
                                        const Device& device) const {
    const auto inferred = shapes(batch);
    EXPECT_TRUE(inferred) << inferred.error().text();
    const auto result = memory_of(network, *inferred, setting, {&device});
    EXPECT_TRUE(result) << result.error().text();
    return result.value_or(MemoryEstimate{});
  }
};

network::Setting training(Optimizer optimizer = Optimizer::sgd) {
  return {.mode = Mode::train, .optimizer = optimizer};
}

std::int64_t share(const MemoryEstimate& e, Purpose purpose) {
  const auto it = std::ranges::find(e.by_purpose, purpose, &PurposeShare::purpose);
  return it == e.by_purpose.end() ? 0 : it->bytes.count();
}

// ResNet-18 has 11,689,512 parameters and, beside them, 9,600 running means and variances and 20 counters.
constexpr std::int64_t kResNet18Parameters = 11'689'512;

TEST(EstimateMemory, TrainingOnAGpu) {
  const MemoryEstimate e = Model("resnet18").estimate(8, training(Optimizer::momentum), listed("h200"));
  EXPECT_GE(e.weights.count(), 4 * kResNet18Parameters);
  EXPECT_LT(e.weights.count(), 4 * kResNet18Parameters + 100'000);
  EXPECT_LE(e.low, e.peak_allocated);
  EXPECT_LE(e.peak_allocated, e.high);
  EXPECT_LE(e.peak_allocated, e.peak_reserved);
  EXPECT_LE(e.minimum_reserved, e.peak_reserved);
  EXPECT_GT(e.minimum_reserved.count(), e.peak_allocated.count() * 9 / 10);
  ASSERT_TRUE(e.context);
  EXPECT_FALSE(e.context_assumed);
  EXPECT_EQ(e.device_used(), e.peak_reserved + *e.context);
  EXPECT_EQ(e.minimum_device(), e.minimum_reserved + *e.context);
  EXPECT_EQ(e.fits, true);
  EXPECT_EQ(share(e, Purpose::optimizer), 4 * kResNet18Parameters);
  EXPECT_THAT(e.unruled, IsEmpty());
}

TEST(EstimateMemory, WhatIsThereAtThePeakAddsUp) {
  const MemoryEstimate e = Model("resnet18").estimate(8, training(Optimizer::adam), listed("h200"));
  std::int64_t by_purpose = 0, at_peak = 0;
  for (const auto& s : e.by_purpose) by_purpose += s.bytes.count();
  for (const auto& r : e.at_peak) at_peak += r.bytes.count();
  EXPECT_EQ(by_purpose, at_peak);
  // The allocator's rounding comes on top: up to 512 B for each, and up to 1 MiB for a large one.
  EXPECT_LE(at_peak, e.peak_allocated.count());
  EXPECT_GT(at_peak, e.peak_allocated.count() * 95 / 100);
  EXPECT_TRUE(std::ranges::is_sorted(e.at_peak, std::greater{}, &Resident::bytes));
  EXPECT_TRUE(std::ranges::is_sorted(e.by_purpose, std::greater{}, &PurposeShare::bytes));
  EXPECT_FALSE(e.peak_operator.empty());
}

TEST(EstimateMemory, OnACpuReservedIsAllocated) {
  const Model model("resnet18");
  const MemoryEstimate e = model.estimate(8, training(), processor());
  EXPECT_EQ(e.peak_reserved, e.peak_allocated);
  EXPECT_EQ(e.minimum_reserved, e.peak_allocated);
  EXPECT_EQ(e.context, std::nullopt);
  EXPECT_EQ(e.minimum_device(), e.peak_allocated);
  EXPECT_EQ(share(e, Purpose::workspace), 0);
  EXPECT_EQ(share(e, Purpose::library), 0);
  EXPECT_EQ(e.fits, true);
  EXPECT_THAT(e.notes, Contains(HasSubstr("not known")));
  EXPECT_LE(e.low, e.peak_allocated);
  EXPECT_LE(e.peak_allocated, e.high);
  // What can be set of a caching allocator changes nothing.
  network::Setting expandable = training();
  expandable.allocator.expandable_segments = true;
  EXPECT_EQ(model.estimate(8, expandable, processor()).peak_allocated, e.peak_allocated);
}

/// A calibration that saw the first convolution of a ResNet, at some batch, take a gibibyte.
hardware::OperatorCurves with_large_workspace(std::int64_t batch, hardware::Arithmetic arithmetic) {
  hardware::OperatorPoint point{hardware::completed({.operator_class = hardware::OperatorClass::convolution,
                                                     .direction = hardware::Direction::forward,
                                                     .arithmetic = arithmetic,
                                                     .extents = {batch, 3, 224, 224, 64, 7, 7, 2, 1}}),
                                1e-4};
  point.workspace = 1024.0 * kMiB;
  return hardware::OperatorCurves(std::span(&point, 1));
}

TEST(EstimateMemory, WorkspacesAreTakenFromACalibrationThatHasTheShape) {
  const Model model("resnet18", Mode::infer);
  const auto peak = [&](const hardware::OperatorCurves* curves, const Device& device, Precision precision) {
    network::Setting setting;
    setting.precision = precision;
    const auto estimate = memory_of(model.network, *model.shapes(8), setting, {&device, curves});
    EXPECT_TRUE(estimate);
    return estimate ? estimate->peak_allocated.count() / kMiB : 0;
  };
  using hardware::Arithmetic;
  const auto same = with_large_workspace(8, Arithmetic::tf32),
             alike = with_large_workspace(9, Arithmetic::tf32);
  const Device h200 = listed("h200"), a100 = listed("a100-80-sxm");
  EXPECT_LT(peak(nullptr, h200, Precision::fp32), 512);
  EXPECT_GT(peak(&same, h200, Precision::fp32), 1024);
  // On the device that the rule was made on it knows better than a neighbour, elsewhere not.
  EXPECT_LT(peak(&alike, h200, Precision::fp32), 512);
  EXPECT_GT(peak(&alike, a100, Precision::fp32), 800);
  const auto strict = with_large_workspace(9, Arithmetic::fp32);
  EXPECT_GT(peak(&strict, h200, Precision::fp32_strict), 800);
}

TEST(EstimateMemory, InferenceNeedsLess) {
  const Device device = listed("h200");
  const MemoryEstimate trained = Model("resnet18").estimate(8, training(), device);
  const MemoryEstimate inferred = Model("resnet18", Mode::infer).estimate(8, {}, device);
  EXPECT_LT(inferred.peak_allocated, trained.peak_allocated);
  EXPECT_EQ(share(inferred, Purpose::gradient), 0);
  EXPECT_EQ(share(inferred, Purpose::saved), 0);
}

TEST(EstimateMemory, FitsFlipsAtTheCapacity) {
  const Model model("resnet18");
  const Device gpu = listed("h200");
  const std::int64_t needed = model.estimate(8, training(), gpu).minimum_device().count();
  EXPECT_EQ(model.estimate(8, training(), with_memory(gpu, needed)).fits, true);
  // The search stops within a thousandth, or 2 MiB, above the least that runs; on that brink the run decides.
  EXPECT_EQ(model.estimate(8, training(), with_memory(gpu, needed - needed / 200 - 8 * kMiB)).fits, false);
}

TEST(EstimateMemory, WithoutACapacityNothingIsSaidOfFitting) {
  const Device unknown = of_unknown_memory();
  const MemoryEstimate e = Model("resnet18").estimate(2, training(), unknown);
  EXPECT_EQ(e.fits, std::nullopt);
  EXPECT_EQ(e.capacity, std::nullopt);
  EXPECT_GT(e.peak_allocated, Bytes());
  EXPECT_THAT(e.notes, Contains(HasSubstr("not known")));
}

TEST(EstimateMemory, ContextOfAGpuThatNobodyMeasured) {
  Device other = listed("h200");
  other.context_memory = std::nullopt;
  const MemoryEstimate e = Model("resnet18").estimate(2, training(), other);
  EXPECT_TRUE(e.context_assumed);
  EXPECT_GT(*e.context, Bytes(600 * kMiB));
}

TEST(EstimateMemory, MinimumRunsAndLessDoesNot) {
  // The minimum is found to a thousandth, or 2 MiB: a capacity below it by more fails somewhere.
  const Model model("resnet18");
  const MemoryEstimate e = model.estimate(8, training(), listed("h200"));
  const auto inferred = model.shapes(8);
  ASSERT_TRUE(inferred);
  const auto program = program::lower(model.network, *inferred, {.mode = Mode::train}, {});
  ASSERT_TRUE(program);
  const Allocations allocations = allocations_of(*program, {.mode = Mode::train}, 32 * kMiB + 8192);
  const std::int64_t minimum = e.minimum_reserved.count();
  const std::int64_t slack = std::max(e.peak_reserved.count() / 1000, 2 * kMiB);
  EXPECT_FALSE(replay(allocations, {.capacity = minimum}).failed);
  EXPECT_TRUE(replay(allocations, {.capacity = minimum - 2 * slack}).failed);
}

// ---- Sharding and the optimizer

TEST(EstimateMemory, ShardingLowersStepByStep) {
  // GPT-2 of a short text and small vocabulary: parameters are most of it, and Adam's step is the peak.
  const Model model("gpt2:vocabulary=1000", Mode::train, 32);
  const auto peak = [&](network::Sharding sharding, int gpus) {
    network::Setting s = training(Optimizer::adam);
    s.sharding = sharding;
    s.devices = gpus;
    return model.estimate(1, s, listed("h200")).peak_allocated;
  };
  const Bytes alone = peak(network::Sharding::none, 1);
  EXPECT_GT(peak(network::Sharding::data_parallel, 8), alone);  // buckets for the reductions
  EXPECT_LT(peak(network::Sharding::zero1, 8), alone);
  EXPECT_LT(peak(network::Sharding::zero2, 8), peak(network::Sharding::zero1, 8));
  EXPECT_LT(peak(network::Sharding::zero3, 8), peak(network::Sharding::zero2, 8));
  EXPECT_LT(peak(network::Sharding::zero3, 16), peak(network::Sharding::zero3, 8));
  EXPECT_EQ(peak(network::Sharding::zero3, 1), alone);
  EXPECT_EQ(peak(network::Sharding::data_parallel, 1), alone);
}

TEST(EstimateMemory, FrozenParametersLower) {
  const Model model("resnet18");
  network::Setting frozen = training(Optimizer::adam);
  frozen.frozen = {"conv1", "bn1", "layer"};
  const MemoryEstimate e = model.estimate(8, frozen, listed("h200"));
  EXPECT_LT(e.peak_allocated, model.estimate(8, training(Optimizer::adam), listed("h200")).peak_allocated);
}

// ---- The key-value cache

TEST(EstimateMemory, KeyValueCacheOfGpt2) {
  // Keys and values: 2 x 12 layers x tokens x width 768 x 4 B. 256 tokens are 18 MiB, a segment of its own.
  const Model model("gpt2", Mode::infer, 8);
  const auto peak = [&](std::int64_t batch, std::int64_t context, Precision precision) {
    return model.estimate(batch, {.context = context, .precision = precision}, listed("h200"))
        .peak_allocated.count();
  };
  EXPECT_EQ(peak(1, 256, Precision::fp32) - peak(1, 0, Precision::fp32), 2 * 12 * 256 * 768 * 4);
  EXPECT_EQ(peak(1, 1024, Precision::fp32) - peak(1, 0, Precision::fp32), 2 * 12 * 1024 * 768 * 4);
  EXPECT_EQ(peak(3, 256, Precision::fp32) - peak(3, 0, Precision::fp32), 3 * 2 * 12 * 256 * 768 * 4);
  EXPECT_EQ(peak(1, 1024, Precision::bf16) - peak(1, 0, Precision::bf16), 2 * 12 * 1024 * 768 * 2);
}

// ---- What has no rule, what is too large, what is nothing

/// 64 MiB of floats through one operator, which makes as many.
Built through(std::string_view type) {
  return built([&](Builder& b) {
    const TensorId x = input(b, "x", {4096, 4096});
    if (type == "Neg") return b.add("Neg", "op", {x});
    const TensorId y = b.tensor("y");
    b.declare(y, network::DataType::float32,
              std::vector<network::Dim>{network::Dim::of(4096), network::Dim::of(4096)});
    b.add(type, "my.domain", "op", std::vector<TensorId>{x}, std::vector<TensorId>{y}, {});
    return y;
  });
}

TEST(EstimateMemory, OperatorsWithoutARuleWidenTheInterval) {
  const Built known = through("Neg"), unknown = through("Frobnicate");
  const auto a = memory_of(known.network, known.shapes, {}, on_h200());
  const auto b = memory_of(unknown.network, unknown.shapes, {}, on_h200());
  ASSERT_TRUE(a && b);
  EXPECT_THAT(a->unruled, IsEmpty());
  EXPECT_THAT(b->unruled, ElementsAre("Frobnicate"));
  EXPECT_EQ(a->peak_allocated, b->peak_allocated);  // its result is there all the same
  EXPECT_EQ((a->low - b->low).count(), 64 * kMiB);  // which it may not need, or need twice
  EXPECT_EQ((b->high - a->high).count(), 64 * kMiB);
}

Result<MemoryEstimate> of_relu(std::initializer_list<std::int64_t> dims) {
  const Built b =
      built([&](Builder& builder) { return builder.add("Relu", "relu", {input(builder, "x", dims)}); });
  return memory_of(b.network, b.shapes, {}, on_h200());
}

TEST(EstimateMemory, TensorsBeyondAllMemoryAreRefused) {
  const auto e = of_relu({std::int64_t{1} << 58});  // 2^60 B
  ASSERT_FALSE(e);
  EXPECT_THAT(e.error().text(), HasSubstr("'x'"));
  EXPECT_THAT(e.error().text(), HasSubstr("2^60"));
  EXPECT_FALSE(of_relu({std::int64_t{1} << 60}));
}

TEST(EstimateMemory, ExtentsWithoutABoundAreRefused) {
  const Built b = built([](Builder& builder) {
    const network::Dim n = builder.symbol("n");
    return builder.add("Relu", "relu",
                       {builder.input("x", network::DataType::int8, {n, n, network::Dim::of(64)})});
  });
  EXPECT_FALSE(memory_of(b.network, b.shapes, {}, on_h200()));
}

TEST(EstimateMemory, RunsBeyondAllMemoryAreRefused) {
  const Built b = built([](Builder& builder) {  // sixteen of a little less than 2^60 B, and what they sum to
    std::vector<TensorId> parts;
    for (int i = 0; i < 16; ++i)
      parts.push_back(input(builder, "x" + std::to_string(i), {(std::int64_t{1} << 58) - 1}));
    return builder.add("Add", "sum", {parts[0], parts[1]});
  });
  const auto e = memory_of(b.network, b.shapes, {}, on_h200());
  ASSERT_FALSE(e);
  EXPECT_THAT(e.error().text(), HasSubstr("2^63"));
}

TEST(EstimateMemory, AContextBeyondAllMemoryIsRefused) {
  const Model model("gpt2:layers=1", Mode::infer, 8);
  const auto inferred = model.shapes(1);
  ASSERT_TRUE(inferred);
  EXPECT_FALSE(memory_of(model.network, *inferred, {.context = std::int64_t{1} << 61}, on_h200()));
}

TEST(EstimateMemory, HugeButCountable) {
  const auto e = of_relu({(std::int64_t{1} << 58) - 512});  // in and out, 2048 B short of 2^60 each
  ASSERT_TRUE(e) << e.error().text();
  EXPECT_GE(e->peak_allocated.count(), (std::int64_t{1} << 61) - 4096);
  EXPECT_EQ(e->fits, false);
  EXPECT_LE(e->low, e->peak_allocated);
  EXPECT_GE(e->high, e->peak_allocated);
  EXPECT_GE(e->minimum_reserved.count(), e->peak_allocated.count() / 10 * 9);
}

TEST(EstimateMemory, ANetworkOfNothing) {
  const Built b =
      built([](Builder& builder) { return builder.add("Constant", "three", {}, {{"value_int", 3}}); });
  const auto e = memory_of(b.network, b.shapes, {}, on_h200());
  ASSERT_TRUE(e) << e.error().text();
  EXPECT_EQ(e->peak_allocated, Bytes());
  EXPECT_EQ(e->fits, true);
}

// ---- Timeline

TEST(MemoryTimeline, PointsAreTheSumOfSpans) {
  const Model model("resnet18");
  const auto inferred = model.shapes(4);
  ASSERT_TRUE(inferred);
  const auto program = program::lower(model.network, *inferred, training(Optimizer::adam), {});
  ASSERT_TRUE(program) << program.error().text();
  const Timeline timeline =
      memory_timeline(model.network, *program, training(Optimizer::adam), listed("h200"));
  ASSERT_EQ(timeline.points.size(), timeline.events);
  std::vector<std::int64_t> change(timeline.events + 1, 0);
  for (const auto& span : timeline.spans) {
    ASSERT_LT(span.begin, span.end);
    ASSERT_LE(span.end, timeline.events);
    change[span.begin] += span.bytes;
    change[span.end] -= span.bytes;
  }
  std::int64_t now = 0, most = 0;
  for (std::size_t i = 0; i < timeline.events; ++i) {
    now += change[i];
    const auto& bytes = timeline.points[i].bytes;
    ASSERT_EQ(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}), now) << i;
    most = std::max(most, now);
  }
  // One iteration in the steady state reaches the peak, but for the allocator's rounding.
  const MemoryEstimate e = model.estimate(4, training(Optimizer::adam), listed("h200"));
  EXPECT_LE(most, e.peak_allocated.count());
  EXPECT_GT(most, e.peak_allocated.count() * 95 / 100);
}

// ---- The largest batch

TEST(LargestBatch, FitsAndTheNextDoesNot) {
  const Model model("resnet18");
  const Device gpu = with_memory(listed("h200"), 3000 * kMiB);
  const auto largest = largest_batch(model.network, model.for_batch(), training(Optimizer::momentum), {&gpu});
  ASSERT_TRUE(largest) << largest.error().text();
  ASSERT_GT(largest->batch, 8);
  EXPECT_TRUE(largest->bounded);
  EXPECT_EQ(largest->capacity.count(), 3000 * kMiB);
  const auto needed = [&](std::int64_t batch) {
    return static_cast<double>(
        model.estimate(batch, training(Optimizer::momentum), gpu).minimum_device().count());
  };
  const auto capacity = static_cast<double>(largest->capacity.count());
  EXPECT_EQ(static_cast<double>(largest->minimum_device.count()), needed(largest->batch));
  EXPECT_LE(needed(largest->batch), 1.01 * capacity);
  EXPECT_GE(needed(largest->batch + 1), 0.99 * capacity);
}

TEST(LargestBatch, OnACpu) {
  const Model model("resnet18", Mode::infer);
  const Device cpu = with_memory(processor(), 200 * kMiB);
  const auto largest = largest_batch(model.network, model.for_batch(), {}, {&cpu});
  ASSERT_TRUE(largest) << largest.error().text();
  ASSERT_GT(largest->batch, 0);
  EXPECT_EQ(model.estimate(largest->batch, {}, cpu).fits, true);
  EXPECT_EQ(model.estimate(largest->batch + 1, {}, cpu).fits, false);
}

TEST(LargestBatch, NoneWhereNotEvenOneFits) {
  const Model model("resnet18");
  for (const std::int64_t memory :
       {100 * kMiB, 800 * kMiB}) {  // less than the context; less than the weights beside it
    const Device small = with_memory(listed("h200"), memory);
    const auto largest = largest_batch(model.network, model.for_batch(), training(), {&small});
    ASSERT_TRUE(largest) << largest.error().text();
    EXPECT_EQ(largest->batch, 0);
    EXPECT_TRUE(largest->bounded);
    EXPECT_EQ(largest->capacity.count(), memory);
  }
}

TEST(LargestBatch, NotBoundedByMemory) {
  Builder b("tiny");
  b.opset("", 17);
  b.output(b.add("Relu", "relu",
                 {b.input("x", network::DataType::float32, {b.symbol("batch"), network::Dim::of(1)})}));
  Model model("resnet18");
  model.network = std::move(b).finish();
  const auto largest = largest_batch(model.network, model.for_batch(), {}, on_h200());
  ASSERT_TRUE(largest) << largest.error().text();
  EXPECT_FALSE(largest->bounded);
  EXPECT_EQ(largest->batch, 1 << 20);
}

TEST(LargestBatch, NeedsTheDevicesMemory) {
  const Device unknown = of_unknown_memory();
  const Model model("resnet18");
  const auto largest = largest_batch(model.network, model.for_batch(), training(), {&unknown});
  ASSERT_FALSE(largest);
  EXPECT_THAT(largest.error().text(), HasSubstr("not known"));
}

// ---- What would lower it

TEST(WhatWouldLower, GivesWhatTheEstimateGives) {
  const Model model("resnet18");
  const Device gpu = with_memory(listed("h200"), 1300 * kMiB);
  const network::Setting setting = training(Optimizer::adam);
  const auto measures = remedies(model.network, model.for_batch(), 16, setting, {&gpu});
  ASSERT_TRUE(measures) << measures.error().text();
  EXPECT_TRUE(std::ranges::is_sorted(*measures, std::less{}, &Remedy::minimum_device));
  const auto expect = [&](std::string_view what, std::int64_t batch, const network::Setting& changed) {
    const auto it = std::ranges::find(*measures, what, &Remedy::what);
    ASSERT_NE(it, measures->end()) << what;
    const MemoryEstimate e = model.estimate(batch, changed, gpu);
    EXPECT_EQ(it->minimum_device, e.minimum_device()) << what;
    EXPECT_EQ(it->fits, e.fits) << what;
  };
  expect("half the batch", 8, setting);
  network::Setting changed = setting;
  changed.precision = Precision::amp_bf16;
  expect("--precision amp-bf16", 16, changed);
  changed = setting;
  changed.precision = Precision::bf16;
  expect("--precision bf16", 16, changed);
  changed = setting;
  changed.checkpoint = true;
  expect("--checkpoint", 16, changed);
  changed = setting;
  changed.fused_optimizer = true;
  expect("--fused-optimizer", 16, changed);
  expect("--optimizer momentum", 16, training(Optimizer::momentum));
  expect("--optimizer sgd", 16, training());
  changed = setting;
  changed.accumulate = 2;
  expect("half the batch, twice the passes (--accumulate)", 8, changed);
  changed = setting;
  changed.allocator.expandable_segments = true;
  expect("--expandable-segments", 16, changed);
  EXPECT_EQ(measures->size(), 9U);
}

TEST(WhatWouldLower, OffersOnlyWhatChangesSomething) {
  const Model model("resnet18", Mode::infer);
  const auto names = [&](std::int64_t batch, const network::Setting& setting, const Device& device) {
    std::vector<std::string> out;
    const auto measures = remedies(model.network, model.for_batch(), batch, setting, {&device});
    EXPECT_TRUE(measures);
    if (measures)
      for (const Remedy& m : *measures) out.push_back(m.what);
    return out;
  };
  EXPECT_THAT(names(1, {.precision = Precision::bf16}, processor()), IsEmpty());
  EXPECT_THAT(names(1, {}, processor()), ElementsAre("--precision bf16"));
  EXPECT_THAT(names(2, {}, processor()), testing::UnorderedElementsAre("half the batch", "--precision bf16"));
  EXPECT_THAT(names(1, {.precision = Precision::bf16}, listed("h200")), ElementsAre("--expandable-segments"));
  EXPECT_THAT(names(2, training(), listed("h200")), Not(Contains("--optimizer sgd")));
}

}  // namespace
}  // namespace plimsoll::estimate
