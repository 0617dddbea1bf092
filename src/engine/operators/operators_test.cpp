// What ONNX's test vectors (tests/engine) do not reach: training, the kernels that devices use, operators
// newer than the vectors.
#include <cmath>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "engine/executor.hpp"
#include "network/builder.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;
using network::AttributeValue;
using network::TensorId;

struct OneOperator {
  std::string_view type;
  std::vector<AttributeValue> attributes;
  std::int64_t opset = 17;
  std::size_t outputs = 1;
  network::Mode mode = network::Mode::infer;
  std::string_view domain = "";

  /// An undefined tensor is an input left out.
  [[nodiscard]] std::vector<Tensor> on(std::vector<Tensor> inputs) const {
    network::Builder builder("one operator");
    builder.opset("", opset);
    builder.opset("com.microsoft", 1);
    std::vector<TensorId> ids, made;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined()) {
        ids.push_back(network::kNoTensor);
        continue;
      }
      std::vector<network::Dim> dims;
      for (const std::int64_t n : inputs[i].sizes()) dims.push_back(network::Dim::of(n));
      ids.push_back(builder.input(fmt::format("in{}", i), *data_type(inputs[i].scalar_type()),
                                  std::span<const network::Dim>(dims)));
    }
    for (std::size_t i = 0; i < outputs; ++i) made.push_back(builder.tensor(fmt::format("out{}", i)));
    builder.add(type, domain, "", ids, made, attributes);
    for (const TensorId id : made) builder.output(id);
    const network::Network n = std::move(builder).finish();

    const auto shapes = network::infer(n, *network::bind(n, {}));
    EXPECT_TRUE(shapes) << shapes.error().text();
    network::Setting setting;
    setting.mode = mode;
    setting.literal = true;
    std::vector<Unexecutable> missing;
    auto routine = make_routine(n, *shapes, setting, missing);
    EXPECT_TRUE(routine && missing.empty()) << (missing.empty() ? "" : missing.front().reason);
    Executor executor(std::move(*routine), at::kCPU);
    std::vector<std::pair<TensorId, Tensor>> given;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].defined()) given.emplace_back(ids[i], inputs[i]);
    std::vector<Tensor> results;
    for (Value& v : executor.run(given)) results.push_back(std::move(v.tensor));
    return results;
  }
};

TEST(Operators, RowsAreSortedAndTheirOwn) {
  const auto rows = operator_rows();
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_LT(std::pair(rows[i - 1].domain, rows[i - 1].name), std::pair(rows[i].domain, rows[i].name));
  EXPECT_NE(find_row("ai.onnx", "Conv"), nullptr);
  EXPECT_EQ(find_row("com.microsoft", "Conv"), nullptr);
}

TEST(Operators, BatchNormalizationTrainsWithTheBatchsStatistics) {
  const Tensor x = at::randn({8, 3, 4, 4}).mul(2).add(5), ones = at::ones({3}), zeros = at::zeros({3});
  Tensor mean = at::zeros({3}), variance = at::ones({3});
  OneOperator norm{.type = "BatchNormalization", .attributes = {{"momentum", 0.75}}};
  norm.mode = network::Mode::train;
  const Tensor y = norm.on({x, ones, zeros, mean, variance})[0];
  EXPECT_LT(y.mean().abs().item<double>(), 1e-5);
  EXPECT_TRUE(at::allclose(mean, x.mean({0, 2, 3}).mul(0.25)));

  const Tensor before = mean.clone();
  norm.mode = network::Mode::infer;
  norm.attributes.emplace_back("training_mode", 1);
  norm.opset = 15;
  const Tensor z = norm.on({x, ones, zeros, mean, variance})[0];
  EXPECT_GT(z.mean().item<double>(), 1) << "a graph exported for training infers with running statistics";
  EXPECT_TRUE(at::allclose(mean, before));
}

TEST(Operators, DropoutDropsInTrainingAlone) {
  at::manual_seed(3);
  const Tensor x = at::ones({10'000}), ratio = at::full({}, 0.25), training = at::ones({}, at::kBool);
  OneOperator dropout{.type = "Dropout", .attributes = {}};
  EXPECT_TRUE(dropout.on({x, ratio, training})[0].equal(x));
  dropout.mode = network::Mode::train;
  const Tensor y = dropout.on({x, ratio, training})[0];
  EXPECT_NEAR(y.eq(0).sum().item<double>(), 2500, 200);
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.75, 1e-6);
}

TEST(Operators, RoiAlignHasOneResultOnHostsAndForGradients) {
  at::manual_seed(3);
  const Tensor x = at::randn({2, 3, 9, 11});
  const Tensor rois = at::arange(20, at::kFloat).reshape({5, 4}).mul(0.6).sub(1.5);
  const Tensor batch = at::arange(5).remainder(2);
  for (const char* mode : {"half_pixel", "output_half_pixel"}) {
    const OneOperator align{.type = "RoiAlign",
                            .attributes = {{"output_height", 3},
                                           {"output_width", 2},
                                           {"sampling_ratio", 2},
                                           {"spatial_scale", 0.75},
                                           {"coordinate_transformation_mode", mode}}};
    const Tensor host = align.on({x, rois, batch})[0];
    const Tensor learning = align.on({x.clone().requires_grad_(), rois, batch})[0];
    EXPECT_TRUE(learning.requires_grad());
    EXPECT_TRUE(at::allclose(host, learning, 1e-4, 1e-5)) << mode;
  }
}

TEST(Operators, NumbersThatOnlyARunShowsAreCheckedThen) {
  const auto list = [](std::int64_t n) { return at::full({1}, n, at::kLong); };
  const OneOperator slice{.type = "Slice", .attributes = {}};
  EXPECT_ANY_THROW((void)slice.on({at::randn({4}), list(0), list(4), list(0), list(0)}));
  const OneOperator align{.type = "RoiAlign", .attributes = {{"output_height", 2}, {"output_width", 2}}};
  EXPECT_ANY_THROW((void)align.on({at::randn({1, 1, 4, 4}), at::ones({1, 4}), list(7)}));
}

TEST(Operators, SequencesEndByTheirLength) {
  at::manual_seed(3);
  const Tensor x = at::randn({4, 2, 3}), w = at::randn({2, 20, 3}), r = at::randn({2, 20, 5});
  const Tensor bias = at::randn({2, 40}), all = at::full({2}, 4, at::kInt);
  const OneOperator lstm{.type = "LSTM",
                         .attributes = {{"hidden_size", 5}, {"direction", "bidirectional"}},
                         .opset = 17,
                         .outputs = 3};
  const auto module = lstm.on({x, w, r, bias}), steps = lstm.on({x, w, r, bias, all});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::allclose(module[i], steps[i], 1e-4, 1e-5)) << i;

  Tensor lengths = all.clone();
  lengths[1] = 2;
  const auto cut = lstm.on({x, w, r, bias, lengths}), shorter = lstm.on({x.narrow(0, 0, 2), w, r, bias});
  EXPECT_TRUE(at::allclose(cut[1].select(1, 1), shorter[1].select(1, 1), 1e-4, 1e-5));
  EXPECT_EQ(cut[0].select(2, 1).narrow(0, 2, 2).abs().max().item<double>(), 0);
}

TEST(Operators, GruIsPyTorchsModuleWhereItResetsAfterTheProduct) {
  at::manual_seed(3);
  const Tensor x = at::randn({4, 2, 3}), w = at::randn({1, 15, 3}), r = at::randn({1, 15, 5});
  const Tensor bias = at::randn({1, 30}), all = at::full({2}, 4, at::kInt);
  const OneOperator gru{
      .type = "GRU",
      .attributes = {{"hidden_size", 5}, {"linear_before_reset", 1}, {"direction", "reverse"}},
      .opset = 14,
      .outputs = 2};
  const auto module = gru.on({x, w, r, bias}), steps = gru.on({x, w, r, bias, all});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::allclose(module[i], steps[i], 1e-4, 1e-5)) << i;
}

TEST(Operators, ResizeOfItsOwnAgreesWithAtens) {
  at::manual_seed(3);
  const Tensor x = at::randn({1, 2, 5, 7}), none;
  const std::vector<std::pair<const char*, const char*>> forms = {{"linear", "half_pixel"},
                                                                  {"linear", "align_corners"},
                                                                  {"cubic", "half_pixel"},
                                                                  {"cubic", "align_corners"}};
  Tensor wanted = at::ones({4}, at::kLong);
  wanted[1] = 2;
  wanted[2] = 11;
  wanted[3] = 4;
  for (const auto& [mode, coordinates] : forms) {
    const OneOperator resize{.type = "Resize",
                             .attributes = {{"mode", mode}, {"coordinate_transformation_mode", coordinates}}};
    const Tensor aten = resize.on({x, none, none, wanted})[0];
    // One axis more, and ATen's kernel for images is no longer asked.
    Tensor more = at::ones({5}, at::kLong);
    more.narrow(0, 1, 4).copy_(wanted);
    const Tensor own = resize.on({x.unsqueeze(0), none, none, more})[0];
    EXPECT_TRUE(at::allclose(own.squeeze(0), aten, 1e-4, 1e-5)) << mode << " " << coordinates;
  }
}

TEST(Operators, GatherTakesNegativeIndicesFromTheEnd) {
  const Tensor x = at::arange(12, at::kFloat).reshape({3, 4});
  const OneOperator gather{.type = "Gather", .attributes = {{"axis", 1}}};
  const Tensor index = at::arange(2).sub(2).reshape({2, 1});  // -2, -1
  EXPECT_TRUE(gather.on({x, index})[0].equal(x.narrow(1, 2, 2).unsqueeze(2)));
}

TEST(Operators, GroupNormalizationScalesGroupsBeforeOperatorSet21) {
  at::manual_seed(3);
  const Tensor x = at::randn({2, 4, 3}), scale = at::randn({2}), shift = at::randn({2});
  const auto each = [](const Tensor& t) { return t.repeat_interleave(2); };
  OneOperator norm{.type = "GroupNormalization", .attributes = {{"num_groups", 2}}, .opset = 18};
  const Tensor truth = at::group_norm(x, 2, each(scale), each(shift));
  EXPECT_TRUE(at::allclose(norm.on({x, scale, shift})[0], truth));
  norm.opset = 21;
  EXPECT_TRUE(at::allclose(norm.on({x, each(scale), each(shift)})[0], truth));
}

TEST(Operators, FusedOnesAreTheirParts) {
  at::manual_seed(3);
  const auto microsoft = [](std::string_view type, std::vector<AttributeValue> attributes) {
    return OneOperator{.type = type, .attributes = std::move(attributes), .domain = "com.microsoft"};
  };
  const auto alike = [](const Tensor& a, const Tensor& b) { return at::allclose(a, b, 1e-4, 1e-5); };
  const Tensor x = at::randn({2, 3, 8}), y = at::randn({2, 3, 8}), bias = at::randn({8}),
               scale = at::randn({8});
  EXPECT_TRUE(alike(microsoft("BiasGelu", {}).on({x, bias})[0], at::gelu(x.add(bias))));
  EXPECT_TRUE(alike(microsoft("FastGelu", {}).on({x, bias})[0], at::gelu(x.add(bias), "tanh")));
  EXPECT_TRUE(alike(microsoft("QuickGelu", {}).on({x})[0], x.mul(x.mul(1.702).sigmoid())));
  EXPECT_TRUE(alike(microsoft("FusedMatMul", {{"alpha", 0.5}, {"transB", 1}}).on({x, y})[0],
                    x.matmul(y.transpose(1, 2)).mul(0.5)));
  const Tensor sum = x.add(y);
  EXPECT_TRUE(alike(microsoft("SkipLayerNormalization", {{"epsilon", 1e-5}}).on({x, y, scale, bias})[0],
                    at::layer_norm(sum, {8}, scale, bias)));
  const Tensor roots = sum.pow(2).mean(-1, true).add(1e-5).sqrt();
  EXPECT_TRUE(alike(microsoft("SkipSimplifiedLayerNormalization", {{"epsilon", 1e-5}}).on({x, y, scale})[0],
                    sum.div(roots).mul(scale)));
  const OneOperator attention = microsoft("MultiHeadAttention", {{"num_heads", 2}});
  const Tensor weight = at::randn({8, 24}), all = x.matmul(weight);
  const std::vector<Tensor> parts = all.chunk(3, -1);
  EXPECT_TRUE(alike(microsoft("Attention", {{"num_heads", 2}}).on({x, weight, at::zeros({24})})[0],
                    attention.on({parts[0], parts[1], parts[2]})[0]));
}

TEST(Operators, AttentionSharesHeadsAndLooksBack) {
  at::manual_seed(3);
  const Tensor q = at::randn({1, 3, 4 * 8}), k = at::randn({1, 3, 2 * 8}), v = at::randn({1, 3, 2 * 8});
  const OneOperator attention{.type = "Attention",
                              .attributes = {{"q_num_heads", 4}, {"kv_num_heads", 2}, {"is_causal", 1}},
                              .opset = 23};
  const Tensor y = attention.on({q, k, v})[0];
  // The first token sees itself alone: each of two heads of queries gets its head of values.
  const Tensor heads = v.select(1, 0).reshape({2, 8}).repeat_interleave(2, 0).reshape({32});
  EXPECT_TRUE(at::allclose(y.select(1, 0).reshape({32}), heads, 1e-4, 1e-5));
}

}  // namespace
}  // namespace plimsoll::engine
