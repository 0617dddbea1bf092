#include "network/lifetimes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "network/test_network.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::network {
namespace {

using test_network::Built;
using test_network::built;
using test_network::input;
using test_network::Net;

std::vector<std::vector<TensorId>> all_reads(const Network& network) {
  std::vector<std::vector<TensorId>> reads;
  for (const Operator& op : network.main().operators) {
    reads.emplace_back();
    for (const TensorId id : network.inputs(op))
      if (id != kNoTensor) reads.back().push_back(id);
  }
  return reads;
}

/// A network in which every operator runs, and who is released when, by the outputs' names.
class Lifetimes {
 public:
  explicit Lifetimes(const Net& net) : built_(built(net)) {
    const std::vector<std::vector<TensorId>> reads = all_reads(built_.network);
    released_ = released_after(built_.network, std::vector<bool>(reads.size(), true), reads);
  }

  /// The operator after which the first result of the operator `name` is released.
  [[nodiscard]] std::string after(std::string_view name) const {
    const Network& network = built_.network;
    for (const Operator& op : network.main().operators) {
      if (network.name_of(op) != name) continue;
      const std::uint32_t end = released_[static_cast<std::size_t>(network.outputs(op)[0])];
      return end == kHeld ? "held" : std::string(network.name_of(network.main().operators[end]));
    }
    return "no such operator";
  }

 private:
  Built built_;
  std::vector<std::uint32_t> released_;
};

/// A layer of DenseNet: features joined, then a chain of modules; the features are read again at the end.
TensorId dense_layer(Builder& b, const std::string& module, const std::string& joined,
                     const std::string& leaf) {
  const TensorId x = b.add("Relu", "stem" + leaf, {input(b, "x", {1, 8})});
  const TensorId y = b.add("Relu", "second" + leaf, {x});
  const TensorId whole = b.add("Concat", joined, {x, y}, {{"axis", 1}});
  const TensorId norm = b.add("Sigmoid", module + "norm1" + leaf, {whole});
  const TensorId relu = b.add("Relu", module + "relu1" + leaf, {norm});
  const TensorId made = b.add("Tanh", module + "conv1" + leaf, {relu});
  return b.add("Concat", "joined" + leaf, {made, x, y}, {{"axis", 1}});
}

TEST(Lifetimes, AConcatenationBesideItsPartsHasANameWhileTheLayerUsesIt) {
  const Lifetimes zoo([](Builder& b) { return dense_layer(b, "layer.", "layer.concat", ""); });
  EXPECT_EQ(zoo.after("layer.concat"), "layer.conv1");
  EXPECT_EQ(zoo.after("layer.norm1"), "layer.relu1") << "what is made of it has none";
  EXPECT_EQ(zoo.after("stem"), "joined");
  const Lifetimes exported([](Builder& b) { return dense_layer(b, "/layer/", "/layer/Concat", "/Op"); });
  EXPECT_EQ(exported.after("/layer/Concat"), "/layer/conv1/Op");
}

TEST(Lifetimes, AConcatenationThatReplacesAPartGoesWhenItIsRead) {
  // `x = torch.cat([x, skip], 1); x = self.conv(x)`
  const Lifetimes unet([](Builder& b) {
    const TensorId x = b.add("Relu", "down", {input(b, "x", {1, 8})});
    const TensorId y = b.add("Tanh", "deep", {x});
    const TensorId whole = b.add("Concat", "up.concat", {y, x}, {{"axis", 1}});
    const TensorId norm = b.add("Sigmoid", "up.norm", {whole});
    return b.add("Relu", "up.relu", {norm});
  });
  EXPECT_EQ(unet.after("up.concat"), "up.norm");
}

TEST(Lifetimes, WithoutNamesOfModulesTheLastUseDecides) {
  const Lifetimes flat([](Builder& b) { return dense_layer(b, "", "concat", ""); });
  EXPECT_EQ(flat.after("concat"), "norm1");
}

TEST(Lifetimes, AModulesArgumentIsHeldUntilItReturns) {
  const Lifetimes net([](Builder& b) {
    const TensorId x = b.add("Relu", "stem", {input(b, "x", {1, 8})});
    const TensorId first = b.add("Relu", "block.first", {x});
    return b.add("Tanh", "after", {b.add("Tanh", "block.second", {first})});
  });
  EXPECT_EQ(net.after("stem"), "block.second");
  EXPECT_EQ(net.after("block.first"), "block.second");
  EXPECT_EQ(net.after("after"), "held");
}

/// As torchvision's code has it: Inception and GoogLeNet join what they are done with.
TEST(Lifetimes, OfTheZooDenseNetAndCaitJoinWhatTheyReadAgain) {
  for (const zoo::Entry& entry : zoo::entries()) {
    const auto network = zoo::build(entry.name, Mode::infer);
    ASSERT_TRUE(network) << network.error().text();
    const std::vector<std::vector<TensorId>> reads = all_reads(*network);
    const std::vector<bool> executed(reads.size(), true);
    const auto named = named_until(*network, executed, reads, Scopes(*network, executed));
    const auto count = std::ranges::count_if(named, [](std::uint32_t until) { return until != kHeld; });
    // The first layer of each block gets its features as they are; the 54 others join them. CaiT's last two
    // blocks: `u = torch.cat((x_cls, x), 1)`.
    const int expected = entry.name == "densenet121" ? 54 : entry.name.starts_with("cait") ? 2 : 0;
    EXPECT_EQ(count, expected) << entry.name;
  }
}

}  // namespace
}  // namespace plimsoll::network
