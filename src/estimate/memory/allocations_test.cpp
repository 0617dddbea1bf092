#include "estimate/memory/allocations.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/test_network.hpp"
#include "program/checkpoints.hpp"
#include "program/lowering.hpp"

namespace plimsoll::estimate {
namespace {

using namespace network::test_network;
using network::Builder;
using network::Mode;
using network::Optimizer;
using network::Precision;
using network::TensorId;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Sizes = std::vector<std::int64_t>;

struct Recorded {
  Program program;
  Allocations made;

  using Wanted = std::function<bool(const Buffer&)>;

  /// Buffers that are there before the first event that `until` is true of; at the end where there is none.
  [[nodiscard]] std::vector<std::uint32_t> live(const std::function<bool(const Event&)>& until) const {
    std::vector<std::uint32_t> out;
    for (const Event& event : made.events) {
      if (until(event)) break;
      if (event.kind == Event::Kind::free)
        std::erase(out, event.buffer);
      else
        out.push_back(event.buffer);
    }
    return out;
  }
  /// Their sizes where the purpose is one of these.
  [[nodiscard]] Sizes sizes(const std::vector<std::uint32_t>& buffers,
                            std::initializer_list<Purpose> purposes) const {
    Sizes out;
    for (const std::uint32_t id : buffers)
      if (std::ranges::find(purposes, made.buffers[id].purpose) != purposes.end())
        out.push_back(made.buffers[id].bytes);
    return out;
  }
  [[nodiscard]] std::vector<std::uint32_t> before(Phase phase, int iteration) const {
    return live([=](const Event& e) { return e.phase == phase && e.iteration == iteration; });
  }
  [[nodiscard]] std::vector<std::uint32_t> at_end() const {
    return live([](const Event&) { return false; });
  }
  /// What the forward pass leaves: activations that are held or saved.
  [[nodiscard]] Sizes after_forward(int iteration = 1) const {
    return sizes(before(Phase::backward, iteration), {Purpose::activation, Purpose::saved});
  }
  /// The most bytes, or buffers of a size, at once.
  [[nodiscard]] std::int64_t most(const Wanted& wanted, bool count = false) const {
    std::int64_t now = 0, most = 0;
    for (const Event& event : made.events) {
      const Buffer& buffer = made.buffers[event.buffer];
      if (!wanted(buffer)) continue;
      now += (event.kind == Event::Kind::free ? -1 : 1) * (count ? 1 : buffer.bytes);
      most = std::max(most, now);
    }
    return most;
  }
  [[nodiscard]] std::int64_t peak() const {
    return most([](const Buffer&) { return true; });
  }
  [[nodiscard]] std::int64_t allocations(Phase phase, int iteration, std::int64_t bytes,
                                         Purpose purpose) const {
    return std::ranges::count_if(made.events, [&](const Event& e) {
      const Buffer& b = made.buffers[e.buffer];
      return e.kind != Event::Kind::free && e.phase == phase && e.iteration == iteration &&
             b.bytes == bytes && b.purpose == purpose;
    });
  }
};

network::Setting inference() {
  return {.loss = network::Loss::none};
}
network::Setting training(Optimizer optimizer = Optimizer::sgd) {
  return {.mode = Mode::train, .optimizer = optimizer, .loss = network::Loss::none};
}

/// On a CPU, where libraries have no workspaces, so that maps can be counted.
Recorded recorded(const Net& net, const network::Setting& setting,
                  const program::Platform& platform = {.gpu = false}, std::int64_t library_bytes = 0) {
  const Built b = built(net);
  Result<Program> program = program::lower(b.network, b.shapes, setting, platform);
  EXPECT_TRUE(program) << program.error().text();
  if (!program) return {};
  Allocations made = allocations_of(*program, setting, library_bytes);
  return {std::move(*program), std::move(made)};
}

// A map of all these networks: batch 4, 16 channels, 8 x 8, float32.
constexpr std::int64_t kMap = 4 * 16 * 8 * 8 * 4;
constexpr std::int64_t kChannels = 16 * 4;  // a value per channel
constexpr std::int64_t kFilter = 16 * 16 * 3 * 3 * 4;

TensorId image(Builder& b) {
  return input(b, "x", {4, 16, 8, 8});
}

TensorId conv(Builder& b, const std::string& name, TensorId x) {
  return b.add("Conv", name, {x, b.parameter(name + ".weight", {16, 16, 3, 3})}, {{"pads", {1, 1, 1, 1}}});
}

TensorId norm(Builder& b, const std::string& name, TensorId x) {
  return b.add("BatchNormalization", name,
               {x, b.parameter(name + ".weight", {16}), b.parameter(name + ".bias", {16}),
                b.buffer(name + ".mean", {16}), b.buffer(name + ".variance", {16})});
}

TensorId one_conv(Builder& b) {
  return conv(b, "first", image(b));
}
TensorId two_convs(Builder& b) {
  return conv(b, "second", conv(b, "first", image(b)));
}

// ---- What the forward pass keeps for the backward pass

TEST(Allocations, ConvolutionNormReluKeepsTwoMaps) {
  // The convolution's result is BatchNorm's input; ReLU runs in place on BatchNorm's result. And BatchNorm's
  // mean and inverse deviation.
  const Recorded r =
      recorded([](Builder& b) { return b.add("Relu", "relu", {norm(b, "norm", one_conv(b))}); }, training());
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(kMap, kMap, kChannels, kChannels));
}

TEST(Allocations, ConvolutionNormClipKeepsThreeMaps) {
  // Clip's backward pass needs its input, which it overwrites: it saves a copy.
  const Recorded r = recorded(
      [](Builder& b) {
        return b.add(
            "Clip", "clip",
            {norm(b, "norm", one_conv(b)), b.constant_scalar("low", 0.0), b.constant_scalar("high", 6.0)});
      },
      training());
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(kMap, kMap, kMap, kChannels, kChannels));
}

TEST(Allocations, NothingInPlaceKeepsWhatReluMakes) {
  network::Setting s = training();
  s.in_place = network::InPlace::never;
  const Recorded r =
      recorded([](Builder& b) { return b.add("Relu", "relu", {norm(b, "norm", one_conv(b))}); }, s);
  // BatchNorm's result has no reader left and goes: two maps again, but three at the most in the pass.
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(kMap, kMap, kChannels, kChannels));
  const auto maps = [](const Buffer& b) {
    return b.bytes == kMap && b.purpose != Purpose::input && b.purpose != Purpose::gradient;
  };
  EXPECT_EQ(r.most(maps, true), 4);  // and the last step's result, which the caller still has
}

TEST(Allocations, MaxPoolKeepsItsInputAndWideIndices) {
  const Recorded r = recorded(
      [](Builder& b) {
        return b.add("MaxPool", "pool", {one_conv(b)}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}});
      },
      training());
  // A quarter of the elements; int64 indices are twice as wide as the values.
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(kMap, kMap / 4, kMap / 2));
}

TEST(Allocations, DropoutKeepsAMaskOfBytes) {
  const auto net = [](Builder& b) {
    return b.add("Dropout", "drop", {one_conv(b), b.constant_scalar("ratio", 0.5)});
  };
  // Its result is the caller's; its input goes.
  EXPECT_THAT(recorded(net, training()).after_forward(), UnorderedElementsAre(kMap, kMap / 4));
  EXPECT_EQ(recorded(net, {}).most([](const Buffer& b) { return b.bytes == kMap / 4; }),
            0);  // inference drops nothing
}

TEST(Allocations, DropoutOfNothingMakesNothing) {
  const auto net = [](Builder& b) {
    return b.add("Dropout", "drop", {one_conv(b), b.constant_scalar("ratio", 0.0)});
  };
  EXPECT_THAT(recorded(net, training()).after_forward(), ElementsAre(kMap));
}

TEST(Allocations, AdditionKeepsNothingAndSharesItsGradient) {
  const Recorded r = recorded(
      [](Builder& b) {
        const TensorId x = one_conv(b);
        return b.add("Add", "sum", {b.add("Relu", "relu", {x}), x});
      },
      training());
  // ReLU's result (x has another reader, so not in place), and the sum, which is the caller's.
  EXPECT_THAT(r.after_forward(), ElementsAre(kMap, kMap));
  // The sum's gradient is that of both operands; ReLU makes one more, which is added to it in place.
  EXPECT_EQ(r.allocations(Phase::backward, 1, kMap, Purpose::gradient), 2);
}

TEST(Allocations, LinearKeepsItsInputOnceForAll) {
  // Three projections of one tensor, as of queries, keys and values: 2 x 8 floats, saved once.
  const Recorded r = recorded(
      [](Builder& b) {
        const TensorId h =
            b.add("Tanh", "h", {b.add("MatMul", "w0", {input(b, "x", {2, 8}), b.parameter("w0", {8, 8})})});
        TensorId sum = b.add("MatMul", "w1", {h, b.parameter("w1", {8, 4})});
        for (const char* name : {"w2", "w3"})
          sum = b.add("Add", std::string("sum ") + name,
                      {sum, b.add("MatMul", name, {h, b.parameter(name, {8, 4})})});
        return sum;
      },
      training());
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(64, 32));  // h, and the result
}

TEST(Allocations, IndicesOfAGatherAreKept) {
  const Recorded r = recorded(
      [](Builder& b) {
        // Positions that are computed: 10 of int64; and rows of 8 floats.
        const TensorId picked =
            b.add("ArgMax", "picked", {input(b, "x", {10, 7})}, {{"axis", 1}, {"keepdims", 0}});
        return b.add("Gather", "rows", {b.parameter("table", {7, 8}), picked});
      },
      training());
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(80, 320));
}

TEST(Allocations, IndicesOfAGatherOfElementsAreKept) {
  const Recorded r = recorded(
      [](Builder& b) {
        const TensorId picked =
            b.add("ArgMax", "picked", {input(b, "x", {10, 7})}, {{"axis", 1}, {"keepdims", 1}});  // 10 x 1
        return b.add("GatherElements", "elements", {b.parameter("table", {10, 8}), picked}, {{"axis", 1}});
      },
      training());
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(80, 40));
}

// ---- Inference

TEST(Allocations, InferenceHoldsTwoMapsAtMost) {
  const Recorded r = recorded(
      [](Builder& b) {
        TensorId x = image(b);
        for (const char* name : {"a", "b", "c", "d", "e"})
          x = norm(b, std::string("norm ") + name, conv(b, name, x));
        return x;
      },
      {});
  EXPECT_EQ(r.most([](const Buffer& b) { return b.purpose == Purpose::activation; }), 2 * kMap);
  EXPECT_EQ(r.most([](const Buffer& b) { return b.purpose == Purpose::saved; }), 0);
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::activation, Purpose::workspace}), IsEmpty());
}

TEST(Allocations, AModulesArgumentIsHeldWhileItRuns) {
  // "/block/" is a module: whoever calls it still holds its argument. Three maps, where two would do without.
  const auto most = [](const std::string& scope) {
    return recorded(
               [&](Builder& b) {
                 TensorId x = conv(b, "/first/Conv", image(b));
                 for (const char* name : {"1", "2", "3"}) x = conv(b, scope + name, x);
                 return x;
               },
               {})
        .most([](const Buffer& b) { return b.purpose == Purpose::activation; });
  };
  EXPECT_EQ(most("/block/conv"), 3 * kMap);
  EXPECT_EQ(most("conv"), 2 * kMap);
}

// ---- Training step by step

TEST(Allocations, TheLastResultIsHeldUntilTheNextOneIsThere) {
  const Recorded r = recorded(one_conv, training());
  EXPECT_THAT(r.sizes(r.before(Phase::forward, 0), {Purpose::activation, Purpose::saved}), IsEmpty());
  EXPECT_THAT(r.sizes(r.before(Phase::step, 2), {Purpose::activation, Purpose::saved}), ElementsAre(kMap));
  const auto maps = [](const Buffer& b) { return b.bytes == kMap && b.purpose == Purpose::activation; };
  EXPECT_EQ(r.most(maps, true), 2);                       // the last and the new one
  EXPECT_EQ(recorded(one_conv, {}).most(maps, true), 1);  // inference lets go of it first
}

TEST(Allocations, OptimizerState) {
  const auto state = [](Optimizer optimizer) {
    const Recorded r = recorded(two_convs, training(optimizer));
    return r.sizes(r.at_end(), {Purpose::optimizer});
  };
  EXPECT_THAT(state(Optimizer::sgd), IsEmpty());
  EXPECT_THAT(state(Optimizer::momentum), ElementsAre(kFilter, kFilter));
  EXPECT_THAT(state(Optimizer::adam), ElementsAre(kFilter, kFilter, kFilter, kFilter));
  EXPECT_THAT(state(Optimizer::adamw), ElementsAre(kFilter, kFilter, kFilter, kFilter));
}

TEST(Allocations, StateIsMadeInTheFirstStep) {
  const Recorded r = recorded(two_convs, training(Optimizer::momentum));
  EXPECT_THAT(r.sizes(r.before(Phase::step, 0), {Purpose::optimizer}), IsEmpty());
  EXPECT_EQ(r.allocations(Phase::step, 0, kFilter, Purpose::optimizer), 2);
  EXPECT_EQ(r.allocations(Phase::step, 1, kFilter, Purpose::optimizer), 0);
}

TEST(Allocations, AdamTakesTemporariesOfTheParametersSize) {
  network::Setting s = training(Optimizer::adam);
  const auto state = [](const Buffer& b) { return b.purpose == Purpose::optimizer; };
  const auto temporary = [](const Buffer& b) { return b.purpose == Purpose::temporary; };
  EXPECT_EQ(recorded(two_convs, s).most(state), 2 * 2 * kFilter);  // two moments
  EXPECT_EQ(recorded(two_convs, s).most(temporary), 2 * kFilter);  // the roots of the second
  EXPECT_THAT(recorded(two_convs, s).sizes(recorded(two_convs, s).at_end(), {Purpose::temporary}), IsEmpty());
  s.fused_optimizer = true;
  EXPECT_EQ(recorded(two_convs, s).most(state), 2 * 2 * kFilter);
  EXPECT_EQ(recorded(two_convs, s).most(temporary), 0);
}

TEST(Allocations, ZeroGradBeforeForwardBackwardOrNever) {
  const auto gradients = [](const network::Setting& s, Phase phase) {
    const Recorded r = recorded(two_convs, s);
    // Before the first tensor that the phase makes: after zero_grad, which only frees.
    const auto live = r.live(
        [=](const Event& e) { return e.phase == phase && e.iteration == 1 && e.kind != Event::Kind::free; });
    return r.sizes(live, {Purpose::gradient});
  };
  network::Setting s = training();
  EXPECT_THAT(gradients(s, Phase::forward), IsEmpty());
  s.zero_grad = network::ZeroGrad::before_backward;
  EXPECT_THAT(gradients(s, Phase::forward), ElementsAre(kFilter, kFilter));
  EXPECT_THAT(gradients(s, Phase::backward), IsEmpty());
  s = training();
  s.zero_grad = network::ZeroGrad::keep;
  EXPECT_THAT(gradients(s, Phase::forward), ElementsAre(kFilter, kFilter));
  EXPECT_THAT(gradients(s, Phase::backward), ElementsAre(kFilter, kFilter));
}

TEST(Allocations, GradientsAreAddedUpOverSeveralPasses) {
  network::Setting s = training(Optimizer::momentum);
  s.accumulate = 2;
  const Recorded r = recorded(two_convs, s);
  // Each pass makes both maps and both gradients anew; the second pass's gradients are added to the first's.
  EXPECT_EQ(r.allocations(Phase::backward, 1, kFilter, Purpose::gradient), 4);
  EXPECT_THAT(r.sizes(r.before(Phase::step, 1), {Purpose::gradient}), ElementsAre(kFilter, kFilter));
  EXPECT_EQ(r.most([](const Buffer& b) { return b.purpose == Purpose::gradient && b.bytes == kFilter; }),
            3 * kFilter);
  EXPECT_EQ(recorded(two_convs, training()).most([](const Buffer& b) {
    return b.purpose == Purpose::gradient && b.bytes == kFilter;
  }),
            2 * kFilter);
}

TEST(Allocations, FrozenParametersCostNothingMore) {
  const auto net = [](Builder& b) {
    return conv(b, "head", b.add("Relu", "relu", {norm(b, "norm", conv(b, "body", image(b)))}));
  };
  network::Setting s = training(Optimizer::momentum);
  // Two filters and BatchNorm's scale and shift.
  EXPECT_THAT(recorded(net, s).sizes(recorded(net, s).at_end(), {Purpose::gradient}),
              UnorderedElementsAre(kFilter, kFilter, kChannels, kChannels));
  // The body's result, BatchNorm's, its statistics, and the head's result.
  EXPECT_THAT(recorded(net, s).after_forward(), UnorderedElementsAre(kMap, kMap, kMap, kChannels, kChannels));

  s.frozen = {"body", "norm"};
  const Recorded r = recorded(net, s);
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::gradient}), ElementsAre(kFilter));
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::optimizer}), ElementsAre(kFilter));
  // Only what the head needs: its input; and its result, the caller's.
  EXPECT_THAT(r.after_forward(), ElementsAre(kMap, kMap));
  EXPECT_THAT(r.sizes(r.before(Phase::backward, 1), {Purpose::saved}), ElementsAre(kMap));
  // No gradient of a map but that of the result.
  EXPECT_EQ(r.allocations(Phase::backward, 1, kMap, Purpose::gradient), 1);
}

TEST(Allocations, CrossEntropyKeepsLogProbabilities) {
  network::Setting s = training();
  const auto net = [](Builder& b) {
    return b.add("MatMul", "head", {input(b, "x", {6, 8}), b.parameter("w", {8, 10})});
  };
  EXPECT_THAT(recorded(net, s).after_forward(), ElementsAre(240));
  s.loss = network::Loss::cross_entropy;
  // 6 x 10 scores, which the caller holds; as many log-probabilities; and the loss itself, while backward
  // runs.
  EXPECT_THAT(recorded(net, s).sizes(recorded(net, s).before(Phase::backward, 1), {Purpose::saved}),
              ElementsAre(240));
}

// ---- Autocast

TensorId two_linears(Builder& b) {
  const TensorId h = b.add("MatMul", "first", {input(b, "x", {2, 8}), b.parameter("first.weight", {8, 16})});
  return b.add("MatMul", "second", {b.add("Tanh", "tanh", {h}), b.parameter("second.weight", {16, 4})});
}

TEST(Allocations, AutocastKeepsItsCopiesOfWeightsUntilThePassEnds) {
  network::Setting s = inference();
  s.precision = Precision::amp_bf16;
  const Recorded r = recorded(two_linears, s);
  // Half of 8 x 16 and of 16 x 4 floats, at once, though the first is done with when the second is made.
  const auto copies = [](const Buffer& b) {
    return b.purpose == Purpose::activation && (b.bytes == 256 || b.bytes == 128);
  };
  EXPECT_EQ(r.most(copies), 256 + 128);
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::activation}), IsEmpty());
  EXPECT_EQ(r.sizes(r.at_end(), {Purpose::weight}), (Sizes{512, 256}));  // the weights stay whole
}

TEST(Allocations, AutocastSavesTheCopies) {
  network::Setting s = training();
  s.precision = Precision::amp_bf16;
  const Recorded r = recorded(two_linears, s);
  // x as bfloat16 (32), Tanh's result (64, saved by both), the second weight's copy (128; the first's has no
  // gradient to pass on), and the result (16).
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(32, 64, 128, 16));
  // Gradients of weights are as wide as the weights; those of the copies are gone again.
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::gradient}), UnorderedElementsAre(512, 256));
}

TEST(Allocations, WholeNetworkInHalfPrecision) {
  network::Setting s = training(Optimizer::momentum);
  s.precision = Precision::bf16;
  const Recorded r = recorded(two_linears, s);
  EXPECT_EQ(r.sizes(r.at_end(), {Purpose::weight}), (Sizes{256, 128}));
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::gradient}), UnorderedElementsAre(256, 128));
  EXPECT_EQ(r.sizes(r.at_end(), {Purpose::optimizer}), (Sizes{256, 128}));
  EXPECT_THAT(r.after_forward(), UnorderedElementsAre(64, 16));
}

// ---- Libraries

TEST(Allocations, LibrariesTakeTheirWorkspaceOncePerThread) {
  network::Setting s = training();
  const Recorded r = recorded(two_linears, s, {}, 1 << 20);
  EXPECT_EQ(r.sizes(r.at_end(), {Purpose::library}), (Sizes{1 << 20, 1 << 20}));  // forward's and backward's
  EXPECT_EQ(r.allocations(Phase::forward, 0, 1 << 20, Purpose::library), 1);
  EXPECT_EQ(r.allocations(Phase::backward, 0, 1 << 20, Purpose::library), 1);
  s.mode = Mode::infer;
  const Recorded inferred = recorded(two_linears, s, {}, 1 << 20);
  EXPECT_EQ(inferred.sizes(inferred.at_end(), {Purpose::library}), (Sizes{1 << 20}));
}

// ---- Sharding

TEST(Allocations, ShardsOfWhatEachGpuHolds) {
  using network::Sharding;
  struct Held {
    Sharding sharding;
    std::int64_t state, gradients, weights;
  };
  for (const Held& held : {Held{Sharding::none, 1, 1, 1}, Held{Sharding::zero1, 4, 1, 1},
                           Held{Sharding::zero2, 4, 4, 1}, Held{Sharding::zero3, 4, 4, 4}}) {
    network::Setting s = training(Optimizer::adam);
    s.sharding = held.sharding;
    s.devices = 4;
    const Recorded r = recorded(one_conv, s);
    EXPECT_THAT(r.sizes(r.at_end(), {Purpose::optimizer}),
                ElementsAre(kFilter / held.state, kFilter / held.state));
    EXPECT_THAT(r.sizes(r.at_end(), {Purpose::gradient}), ElementsAre(kFilter / held.gradients));
    EXPECT_THAT(r.sizes(r.at_end(), {Purpose::weight}), ElementsAre(kFilter / held.weights));
  }
  network::Setting s = training();
  s.sharding = Sharding::data_parallel;
  s.devices = 4;
  const Recorded r = recorded(one_conv, s);
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::gradient}), ElementsAre(kFilter));
  EXPECT_THAT(r.sizes(r.at_end(), {Purpose::bucket}), ElementsAre(kFilter));
}

// ---- Checkpointing

TensorId deep(Builder& b) {
  TensorId x = image(b);
  for (int i = 0; i < 25; ++i)
    x = b.add("Relu", "relu" + std::to_string(i), {conv(b, "conv" + std::to_string(i), x)});
  return x;
}

TEST(Allocations, CheckpointsLowerThePeakAndFreeEverything) {
  const network::Setting s = training();
  const Recorded plain = recorded(deep, s);
  network::Setting with = s;
  with.checkpoint = true;
  const auto cuts = program::checkpoints(plain.program);
  ASSERT_GE(cuts.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(cuts));
  const Recorded saved = recorded(deep, with);
  const auto maps = [](const Buffer& b) { return b.bytes == kMap && b.purpose != Purpose::input; };
  // All 25 maps at once, with one gradient or two; against about two times the root of their number.
  EXPECT_GE(plain.most(maps, true), 25);
  EXPECT_LE(saved.most(maps, true), 16);
  EXPECT_LT(saved.peak(), plain.peak());
  const auto everything = {Purpose::weight, Purpose::input,    Purpose::activation,
                           Purpose::saved,  Purpose::gradient, Purpose::workspace};
  EXPECT_THAT(saved.sizes(saved.at_end(), everything),
              testing::UnorderedElementsAreArray(plain.sizes(plain.at_end(), everything)));
}

TEST(Allocations, ShallowNetworksHaveNothingToCheckpoint) {
  EXPECT_THAT(program::checkpoints(recorded(one_conv, training()).program), IsEmpty());
}

// ---- Replay

TEST(ReplayRecording, PeakAndItsEvent) {
  Allocations r;
  r.buffers = {{.bytes = 1000, .most = 1000}, {.bytes = 3000, .most = 3000}, {.bytes = 100, .most = 100}};
  r.events = {{.buffer = 0}, {.buffer = 1}, {.buffer = 1, .kind = Event::Kind::free}, {.buffer = 2}};
  const Replay result = replay(r, {});
  EXPECT_EQ(result.peak_allocated, 1024 + 3072);
  EXPECT_EQ(result.peak_reserved, 2 << 20);
  EXPECT_EQ(result.peak_event, 1U);
  EXPECT_EQ(result.failed, std::nullopt);
  EXPECT_EQ(replay(r, {.capacity = 1 << 20}).failed, 0U);  // less than a segment
}

TEST(ReplayRecording, AWorkspaceThatIsRefusedIsDoneWithout) {
  Allocations r;
  r.buffers = {{.bytes = 10 << 20, .most = 10 << 20},
               {.bytes = 30 << 20, .most = 50 << 20, .purpose = Purpose::workspace}};
  r.events = {{.buffer = 0},
              {.buffer = 1, .kind = Event::Kind::try_allocate},
              {.buffer = 1, .kind = Event::Kind::free}};
  EXPECT_EQ(replay(r, {}).peak_allocated, 40 << 20);
  const Replay tight = replay(r, {.capacity = 20 << 20});
  EXPECT_EQ(tight.failed, std::nullopt);
  EXPECT_EQ(tight.peak_allocated, 10 << 20);
  const PeakBounds bounds = peak_bounds(r);
  EXPECT_EQ(bounds.low, 10 << 20);
  EXPECT_EQ(bounds.high, 60 << 20);
}

}  // namespace
}  // namespace plimsoll::estimate
