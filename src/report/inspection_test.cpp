#include "report/inspection.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "network/builder.hpp"
#include "report/difference.hpp"

namespace plimsoll::report {
namespace {

using network::Builder;
using network::DataType;
using network::Dim;
using network::TensorId;

/// What an Inspection points to.
struct Held {
  network::Network network;
  network::Shapes shapes;
  program::Counts counts;
  program::Conventions conventions;
  [[nodiscard]] Inspection view(std::string name) const {
    return {std::move(name), network, shapes, counts, conventions, {}};
  }
};

/// 2 x 3 through as many 3 x `width` products as there are widths, with a Relu after each.
Held chain(std::initializer_list<std::int64_t> widths, const char* last = "Relu") {
  Builder b("chain");
  b.opset("", 17);
  TensorId value = b.input("x", DataType::float32, {Dim::of(2), Dim::of(3)});
  std::int64_t inner = 3, n = 0;
  for (const std::int64_t width : widths) {
    const std::string name = "layer" + std::to_string(++n);
    value = b.add("MatMul", name, {value, b.parameter(name + ".w", {inner, width})});
    value = b.add(n == static_cast<std::int64_t>(widths.size()) ? last : "Relu", name + ".after", {value});
    inner = width;
  }
  b.output(value);
  Held held;
  held.network = std::move(b).finish();
  network::InferOptions options;
  options.allow_unknown_operators = true;
  Result<network::Shapes> shapes = network::infer(held.network, {}, options);
  EXPECT_TRUE(shapes);
  held.shapes = std::move(*shapes);
  held.counts = program::count(held.network, held.shapes, held.conventions);
  return held;
}

TEST(Grouped, EveryThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(25557032), "25,557,032");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(-123), "-123");
}

TEST(CountText, SaysWhatIsABound) {
  EXPECT_EQ(interval_text(program::Interval{12, 12}), "12");
  EXPECT_EQ(interval_text(program::Interval{0, 12}), "<= 12");
  EXPECT_EQ(interval_text(program::Interval{0, network::kUnbounded}), "unknown");
  EXPECT_EQ(interval_bytes_text(program::Interval{0, 2048}), "<= 2.00 KiB");
}

TEST(Concentration, OfTheHeaviestLayers) {
  // Seven layers: 15 % are 1.05, rounded up two. Of 4 B: 300, 10000, 10000, 100, 1, 1, 1 weights.
  const Held held = chain({100, 100, 100, 1, 1, 1, 1});
  const WeightConcentration c = concentration(held.counts);
  EXPECT_EQ(c.layers, 7u);
  EXPECT_EQ(c.heaviest, 2u);
  EXPECT_NEAR(c.share, 20000.0 / 20403, 1e-12);
}

TEST(Concentration, OfNothing) {
  const WeightConcentration c = concentration(program::Counts{});
  EXPECT_EQ(c.layers, 0u);
  EXPECT_EQ(c.share, 0);
}

TEST(Kinds, AddUpToTheTotals) {
  const Held held = chain({4, 5});
  const std::vector<KindTotals> kinds = totals_by_kind(held.view("m"));
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "MatMul");  // most FLOPs first
  EXPECT_EQ(kinds[0].nodes, 2u);
  EXPECT_EQ(kinds[0].work.macs.high, 2 * 3 * 4 + 2 * 4 * 5);
  EXPECT_EQ(kinds[0].parameters, 12 + 20);
  EXPECT_EQ(kinds[1].work.flops.high, 8 + 10);
}

TEST(Summary, ListsWhatWasNotCounted) {
  const Held held = chain({4}, "Mystery");
  const std::string text = summary_text(held.view("m"), {});
  EXPECT_NE(text.find("1 of 2 operators; not counted (50.0 % of them): 1 Mystery"), std::string::npos)
      << text;
  const Table layers = layer_table(held.view("m"));
  EXPECT_EQ(layers.rows.at(1).at(5), "not counted");
  for (const auto& row : layers.rows) EXPECT_EQ(row.size(), layers.columns.size());
}

TEST(Summary, NamesOfAModelAreMadePrintable) {
  const Held held = chain({4});
  EXPECT_EQ(summary_text(held.view("\x1b[31mred"), {}).find('\x1b'), std::string::npos);
  EXPECT_EQ(to_json(held.view("\xff")).at("model"), "\\xff");
}

TEST(Json, IsTheContractAndAddsUp) {
  const Held held = chain({4, 5});
  const auto json = to_json(held.view("m"));
  EXPECT_EQ(json.at("parameters"), 32);
  EXPECT_EQ(json.at("macs"), 64);
  EXPECT_EQ(json.at("flops"), 2 * 64 + 18);
  EXPECT_EQ(json.at("coverage").at("uncounted").size(), 0u);
  EXPECT_EQ(json.at("layers").at(0).at("output_shape"), (nlohmann::json{2, 4}));
  std::int64_t macs = 0;
  for (const auto& layer : json.at("layers")) macs += layer.at("macs").get<std::int64_t>();
  EXPECT_EQ(macs, 64);
}

TEST(Difference, OfAModelAndItself) {
  const Held held = chain({4, 5});
  for (const auto& row : difference_table(held.view("a"), held.view("b")).rows)
    EXPECT_EQ(row.back(), "same") << row[0];
  EXPECT_TRUE(kind_difference(held.view("a"), held.view("b")).rows.empty());
  EXPECT_TRUE(layer_difference(held.view("a"), held.view("b")).rows.empty());
}

TEST(Difference, OfTwoModels) {
  const Held a = chain({4}), b = chain({4, 400}, "Tanh");
  const auto cell = [&](std::string_view name) {
    for (const auto& row : difference_table(a.view("a"), b.view("b")).rows)
      if (row[0] == name) return row.back();
    return std::string("no such row");
  };
  EXPECT_EQ(cell("parameters"), "134 x");  // 12 against 12 + 1600
  EXPECT_EQ(cell("operators"), "+100 %");
  std::vector<std::string> changes;
  for (const auto& row : layer_difference(a.view("a"), b.view("b")).rows)
    changes.push_back(row[0] + ": " + row[3]);
  EXPECT_EQ(changes, (std::vector<std::string>{"layer2 (MatMul): added", "layer2.after (Tanh): added"}));
  const auto json = difference_json(a.view("a"), b.view("b"));
  EXPECT_EQ(json.at("totals").at("parameters"), (nlohmann::json{12, 1612}));
  EXPECT_TRUE(json.at("by_op").at("Tanh").at(0).is_null());
}

}  // namespace
}  // namespace plimsoll::report
