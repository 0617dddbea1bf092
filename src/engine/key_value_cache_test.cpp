// Causal attention's copies of keys and values: how many bytes they are, how long they stay, and that they
// change no result.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "engine/counting_allocator.hpp"
#include "engine/executor.hpp"
#include "network/builder.hpp"

namespace plimsoll::engine {
namespace {

using network::Dim;
using network::TensorId;

constexpr std::int64_t kBatch = 2, kHeads = 4, kTokens = 5, kWidth = 8;
constexpr std::int64_t kBytesPerHead = kBatch * kTokens * kWidth * 4;

struct Form {
  std::int64_t key_heads = kHeads;  ///< fewer: each is repeated for its group of queries
  bool triangle = true;
};

/// Keys or values as an exporter writes repeat_kv.
TensorId repeated(network::Builder& b, const std::string& name, TensorId x, std::int64_t heads) {
  if (heads == kHeads) return x;
  const TensorId apart = b.add("Unsqueeze", name + " apart", {x, b.constant(name + " axis", {2})});
  const TensorId wide =
      b.add("Expand", name + " wide",
            {apart, b.constant(name + " extents", {kBatch, heads, kHeads / heads, kTokens, kWidth})});
  return b.add("Reshape", name + " joined",
               {wide, b.constant(name + " shape", {kBatch, kHeads, kTokens, kWidth})});
}

/// Attention over inputs q, k, v, and an operator after it, which lets go of what attention read.
network::Network attention(const Form& form) {
  network::Builder b("attention");
  b.opset("", 17);
  const auto input = [&](std::string_view name, std::int64_t heads) {
    return b.input(name, network::DataType::float32,
                   {Dim::of(kBatch), Dim::of(heads), Dim::of(kTokens), Dim::of(kWidth)});
  };
  const TensorId q = input("q", kHeads), k = input("k", form.key_heads), v = input("v", form.key_heads);
  const TensorId root = b.constant_scalar("root", 0.6);
  const TensorId key = repeated(b, "key", b.add("Neg", "made key", {k}), form.key_heads);
  const TensorId value = repeated(b, "value", b.add("Neg", "made value", {v}), form.key_heads);
  const TensorId turned = b.add("Transpose", "turn", {key}, {{"perm", {0, 1, 3, 2}}});
  const TensorId scores = b.add(
      "MatMul", "scores", {b.add("Mul", "scale q", {q, root}), b.add("Mul", "scale k", {turned, root})});
  const TensorId zeros = b.add("ConstantOfShape", "zeros", {b.constant("square", {kTokens, kTokens})});
  TensorId mask = b.add("Add", "full", {zeros, b.constant_scalar("never", -1e30)});
  if (form.triangle)
    mask = b.add("Trilu", "mask", {mask, b.constant_scalar("above", std::int64_t{1})}, {{"upper", 1}});
  else
    mask = b.add("Mul", "mask", {mask, b.constant_scalar("nothing", 0.0)});
  const TensorId weights =
      b.add("Softmax", "softmax", {b.add("Add", "masked", {scores, mask})}, {{"axis", -1}});
  b.output(b.add("Neg", "after", {b.add("MatMul", "last", {weights, value})}));
  return std::move(b).finish();
}

struct Pass {
  at::Tensor result;
  std::int64_t at_end = 0;      ///< bytes that the pass holds after its last step
  std::int64_t afterwards = 0;  ///< bytes left when it is over, the result among them
};

Pass run(const Form& form, const network::Setting& setting, bool settled) {
  const at::AutoGradMode no_gradients(false);
  CpuBytes& bytes = count_cpu_bytes();
  const network::Network n = attention(form);
  const auto shapes = network::infer(n, *network::bind(n, {}));
  EXPECT_TRUE(shapes) << shapes.error().text();
  std::vector<Unexecutable> missing;
  auto routine = make_routine(n, *shapes, setting, missing);
  EXPECT_TRUE(routine && missing.empty());
  EXPECT_EQ(routine->recognised["attention"], setting.literal ? 0 : 1);
  Executor executor(std::move(*routine), at::kCPU);
  executor.settle_numbers();
  if (settled) executor.settle_masks();
  std::vector<std::pair<TensorId, at::Tensor>> inputs;
  for (const TensorId id : n.main().inputs) {
    const std::int64_t heads = inputs.empty() ? kHeads : form.key_heads;
    inputs.emplace_back(
        id, at::randn({kBatch, heads, kTokens, kWidth}, at::make_generator<at::CPUGeneratorImpl>(7)));
  }
  Pass pass;
  const std::int64_t before = bytes.allocated;
  executor.after_instruction = [&](std::size_t) { pass.at_end = bytes.allocated - before; };
  pass.result = executor.run(inputs).front().tensor;
  pass.afterwards = bytes.allocated - before;
  return pass;
}

network::Setting with_cache(bool cache) {
  network::Setting setting;
  setting.key_value_cache = cache;
  return setting;
}

/// What the cache adds, in bytes, before the pass has ended. As under capture masks are not settled.
std::int64_t growth(const Form& form, const network::Setting& setting, bool settled = false) {
  network::Setting without = setting;
  without.key_value_cache = false;
  const Pass plain = run(form, without, settled), cached = run(form, setting, settled);
  EXPECT_TRUE(at::equal(plain.result, cached.result));
  EXPECT_EQ(plain.afterwards, cached.afterwards);
  EXPECT_EQ(plain.afterwards, kHeads * kBytesPerHead);  // the result alone
  return cached.at_end - plain.at_end;
}

TEST(KeyValueCache, HoldsKeysAndValuesUntilThePassHasEnded) {
  EXPECT_EQ(growth({}, with_cache(true)), 2 * kHeads * kBytesPerHead);
  EXPECT_EQ(growth({}, with_cache(true), true), 2 * kHeads * kBytesPerHead);
}

TEST(KeyValueCache, HoldsTheHeadsOfAGroupOnce) {
  EXPECT_EQ(growth({.key_heads = 2}, with_cache(true)), 2 * 2 * kBytesPerHead);
  EXPECT_EQ(growth({.key_heads = 1}, with_cache(true), true), 2 * kBytesPerHead);
}

TEST(KeyValueCache, IsOfCausalAttentionThatIsRecognisedInInference) {
  EXPECT_EQ(growth({.triangle = false}, with_cache(true)), 0);
  network::Setting training = with_cache(true);
  training.mode = network::Mode::train;
  EXPECT_EQ(growth({}, training), 0);
  network::Setting literal = with_cache(true);
  literal.literal = true;
  EXPECT_EQ(growth({}, literal), 0);
}

}  // namespace
}  // namespace plimsoll::engine
