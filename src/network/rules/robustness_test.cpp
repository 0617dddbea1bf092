// Operators with inputs, contents and attributes drawn at random, most of them nonsense: whatever a file
// says, a rule answers or refuses. Meant for the sanitizers as much as for the result.
#include <random>

#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/inference.hpp"
#include "network/operators.hpp"

namespace plimsoll::network {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                       kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNumbers[] = {
    0, 1, 2, 3, 4, -1, -2, -3, 5, 7, 16, 100, 2147483647, -2147483648, kMost, kLeast, kMost - 1, kLeast + 1};
constexpr std::int64_t kExtents[] = {0, 1, 1, 2, 2, 3, 4, 5, 256, 257, 1000000, std::int64_t{1} << 40, kMost};
constexpr double kReals[] = {0, 1, -1, 0.5, 2, 1e-30, 1e30, -1e300, 1e300};
constexpr std::string_view kIntegers[] = {"axis",      "keepdims",        "k",
                                          "to",        "num_outputs",     "batch_dims",
                                          "blocksize", "start",           "end",
                                          "allowzero", "dtype",           "noop_with_empty_axes",
                                          "fmod",      "output_height",   "output_width",
                                          "new_axis",  "num_scan_inputs", "value_int"};
constexpr std::string_view kLists[] = {"axes",          "perm",       "pads",     "split",
                                       "starts",        "ends",       "shape",    "pooled_shape",
                                       "ngram_indexes", "value_ints", "stopwords"};

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  template <class T, std::size_t N>
  T of(const T (&from)[N]) {
    return from[below(N)];
  }
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }

 private:
  std::mt19937 random_;
};

DataType draw_type(Draw& d) {
  constexpr DataType kTypes[] = {DataType::float32, DataType::int64,   DataType::int64,    DataType::int32,
                                 DataType::boolean, DataType::float16, DataType::undefined};
  return d.of(kTypes);
}

Scalar draw_scalar(Draw& d, DataType type, Dim symbol) {
  if (d.chance(6)) return Scalar::extent(symbol);
  return is_float(type) ? Scalar::real(d.of(kReals)) : Scalar::integer(d.of(kNumbers));
}

TensorId draw_input(Draw& d, Builder& b) {
  if (d.chance(12)) return kNoTensor;
  const DataType type = draw_type(d);
  const Dim symbol = b.symbol(d.chance(2) ? "n" : "m");
  const TensorId id = b.tensor("t");
  if (d.chance(3)) {  // contents, most of them of a vector or scalar
    std::vector<Scalar> values(d.chance(4) ? 1 : d.below(6));
    for (Scalar& s : values) s = draw_scalar(d, type, symbol);
    std::vector<Dim> dims;
    if (values.size() != 1 || d.chance(2)) dims.push_back(Dim::of(static_cast<std::int64_t>(values.size())));
    if (d.chance(5)) dims.push_back(Dim::of(1));
    b.declare(id, type, dims);
    b.set_value(id, values);
    b.set_role(id, Role::buffer);
    b.open_graph().weights.push_back(id);
    return id;
  }
  if (d.chance(10)) {
    b.declare(id, type);
  } else {
    std::vector<Dim> dims(d.below(6));
    for (Dim& x : dims) x = d.chance(6) ? symbol : Dim::of(d.of(kExtents));
    b.declare(id, type, dims);
  }
  b.graph_input(id);
  return id;
}

/// One operator of the row; true where inference accepted it.
bool run_one(Draw& d, const OperatorInfo& row) {
  Builder b("random");
  b.opset("", static_cast<std::int64_t>(7 + d.below(17)));
  const std::size_t most = row.max_inputs == kAny ? row.min_inputs + 3u : row.max_inputs;
  std::vector<TensorId> inputs(row.min_inputs + d.below(most - row.min_inputs + 1));
  for (TensorId& id : inputs) id = draw_input(d, b);
  std::vector<TensorId> outputs(1 + d.below(row.max_outputs == kAny ? 3 : row.max_outputs));
  for (TensorId& id : outputs) id = d.chance(10) ? kNoTensor : b.tensor("out");
  std::vector<std::int64_t> list(d.below(6));
  for (std::int64_t& n : list) n = d.of(kNumbers);
  std::vector<double> reals(d.below(6));
  for (double& x : reals) x = d.of(kReals);
  std::vector<AttributeValue> attributes;
  for (const std::string_view name : kIntegers)
    if (d.chance(6)) attributes.emplace_back(name, d.of(kNumbers));
  for (const std::string_view name : kLists)
    if (d.chance(6)) attributes.emplace_back(name, std::span<const std::int64_t>(list));
  if (d.chance(3)) attributes.emplace_back("scales", std::span<const double>(reals));
  b.add(row.name, row.domain, "op", inputs, outputs, attributes);
  return infer(std::move(b).finish(), Binding{}).has_value();
}

TEST(Robustness, RulesAnswerOrRefuse) {
  std::size_t accepted = 0;
  std::uint32_t seed = 0;
  for (const auto rows : {arithmetic_operators(), reduction_operators(), movement_operators(),
                          shape_operators(), selection_operators(), control_operators()})
    for (const OperatorInfo& row : rows)
      for (int i = 0; i < 300; ++i) {
        Draw d(++seed);
        accepted += run_one(d, row) ? 1 : 0;
      }
  EXPECT_GT(accepted, seed / 20);
}

}  // namespace
}  // namespace plimsoll::network
