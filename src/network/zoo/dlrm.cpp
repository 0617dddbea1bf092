#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// Naumov et al. 2019; MLPerf's reference for Criteo Terabyte: rows per table with indices capped at 40 M.
constexpr std::int64_t kRows[] = {39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
                                  38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
                                  14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36};
constexpr std::int64_t kTables = std::size(kRows);
constexpr std::int64_t kDense = 13;
constexpr std::int64_t kBottom[] = {512, 256};  // and then the tables' width
constexpr std::int64_t kTop[] = {1024, 1024, 512, 256};

constexpr Option kDlrmOptions[] = {
    {"tables", "embedding tables, one looked up per categorical feature", "26", Option::Kind::integer, 1,
     1024},
    {"rows", "rows of every table", "Criteo Terabyte's", Option::Kind::integer, 1, 1e10},
    {"dim", "width of the tables", "128", Option::Kind::integer, 1, 16384},
    {"dense", "dense features", "13", Option::Kind::integer, 1, 1e6},
};

Features layer(Blocks& b, const std::string& part, int index, Features x, std::int64_t out,
               Activation activation) {
  x = b.linear(fmt::format("{}.{}", part, 2 * index), x, out);
  x.id = b.activate(fmt::format("{}.{}", part, 2 * index + 1), x.id, activation);
  return x;
}

// Every pair of the vectors' dot products, below the diagonal, behind the dense vector.
Features interact(Blocks& b, Features dense, const std::vector<TensorId>& looked_up) {
  std::vector<TensorId> all = {dense.id};
  all.insert(all.end(), looked_up.begin(), looked_up.end());
  const auto n = static_cast<std::int64_t>(all.size());
  const std::int64_t pairs = n * (n - 1) / 2;
  const TensorId row = b.add("Concat", "interaction.concat", all, {{"axis", 1}});
  const TensorId square = b.add("Reshape", "interaction.view", {row, b.integers({0, n, dense.width})});
  const TensorId turned = b.add("Transpose", "interaction.transpose", {square}, {{"perm", {0, 2, 1}}});
  const TensorId products = b.add("MatMul", "interaction", {square, turned});
  const TensorId flat = b.add("Reshape", "interaction.flat", {products, b.integers({0, n * n})});
  const TensorId index = b.builder().buffer("interaction.lower_triangle", {pairs}, DataType::int64);
  const TensorId lower = b.add("Gather", "interaction.gather", {flat, index}, {{"axis", 1}});
  return {b.add("Concat", "interaction.out", {dense.id, lower}, {{"axis", 1}}), dense.width + pairs};
}

Result<Network> build_dlrm(const Entry& entry, const Arguments& arguments, Mode mode) {
  const std::int64_t tables = arguments.integer("tables", kTables);
  const std::int64_t width = arguments.integer("dim", 128);
  const std::int64_t dense_features = arguments.integer("dense", kDense);
  if (!arguments.has("rows") && tables > kTables)
    return fail("Criteo Terabyte has {} tables; say rows= for more of them", kTables);
  Blocks b(entry.name, mode);
  Features x{b.builder().input("dense", DataType::float32, {b.batch(), Dim::of(dense_features)}),
             dense_features};
  const TensorId sparse = b.builder().input("sparse", DataType::int64, {b.batch(), Dim::of(tables)});
  int index = 0;
  for (const std::int64_t out : kBottom) x = layer(b, "bot_l", index++, x, out, Activation::relu);
  x = layer(b, "bot_l", index, x, width, Activation::relu);
  std::vector<TensorId> looked_up;
  for (std::int64_t t = 0; t < tables; ++t) {
    const std::string name = fmt::format("emb_l.{}", t);
    const std::int64_t rows = arguments.has("rows") ? arguments.integer("rows", 1) : kRows[t];
    const TensorId column = b.add("Gather", name + ".index", {sparse, b.integer(t)}, {{"axis", 1}});
    looked_up.push_back(b.add(
        "Gather", name, {b.builder().parameter(name + ".weight", {rows, width}), column}, {{"axis", 0}}));
  }
  x = interact(b, x, looked_up);
  index = 0;
  for (const std::int64_t out : kTop) x = layer(b, "top_l", index++, x, out, Activation::relu);
  b.output(layer(b, "top_l", index, x, 1, Activation::sigmoid).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> dlrm_entries() {
  return {{"dlrm", "DLRM for Criteo Terabyte (MLPerf)", kRecommendation, "13 dense, 26 sparse", kDlrmOptions,
           build_dlrm}};
}

}  // namespace plimsoll::network::zoo
