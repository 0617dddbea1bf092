// Every rule under inputs and attributes that no exporter writes: it may refuse them, never crash. Meant for
// the build with sanitizers.
#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/inference.hpp"
#include "network/operators.hpp"

namespace plimsoll::network {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min(),
                       kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::array<std::int64_t, 12> kNumbers = {kLowest, kLowest + 1, -3,      -1,           0,       1, 2,
                                                   3,       4,           1 << 20, kHighest / 2, kHighest};
constexpr std::array kTexts = {"SAME_UPPER",  "VALID", "",       "none", "bidirectional", "ij,jk->ik",
                               "...ii->...i", "->",    "linear", "RGB",  "constant"};
constexpr std::array kAttributes = {
    "kernel_shape",
    "strides",
    "dilations",
    "pads",
    "group",
    "auto_pad",
    "ceil_mode",
    "output_padding",
    "output_shape",
    "axis",
    "axes",
    "keepdims",
    "perm",
    "equation",
    "direction",
    "hidden_size",
    "layout",
    "num_heads",
    "kv_num_heads",
    "q_num_heads",
    "num_groups",
    "K",
    "N",
    "bits",
    "blocksize",
    "to",
    "dtype",
    "output_dtype",
    "split",
    "num_outputs",
    "start",
    "end",
    "shape",
    "size",
    "step",
    "transA",
    "transB",
    "onesided",
    "inverse",
    "channels_last",
    "sample_size",
    "batch_dims",
    "mode",
    "reduction",
    "stash_type",
    "gather_axis",
    "block_size",
    "qkv_hidden_sizes",
    "value_ints",
    "scales",
    "output_height",
    "output_width",
    "allowzero",
    "starts",
    "ends",
    "transBatchA",
};

class Trial {
 public:
  explicit Trial(std::uint32_t seed) : random_(seed) {}

  void run(const OperatorInfo& row) {
    Builder b("hostile");
    static constexpr std::array<std::int64_t, 7> kOpsets = {7, 9, 11, 13, 18, 21, 23};
    b.opset(row.domain, row.domain.empty() ? any(kOpsets) : 1);
    const std::size_t most = row.max_inputs == kAny ? row.min_inputs + 6U : row.max_inputs;
    std::vector<TensorId> inputs, outputs;
    for (std::size_t n = row.min_inputs + below(most - row.min_inputs + 1), i = 0; i < n; ++i)
      inputs.push_back(i >= row.min_inputs && below(4) == 0 ? kNoTensor : input(b));
    for (std::size_t n = 1 + below(row.max_outputs == kAny ? 4 : std::max<std::size_t>(1, row.max_outputs));
         n > 0; --n)
      outputs.push_back(b.tensor("y"));
    lists_.clear();
    lists_.reserve(kAttributes.size());
    std::vector<AttributeValue> attributes;
    // Half of the trials are tame, so that rules get past their first check.
    tame_ = below(2) == 0;
    for (const char* name : kAttributes)
      if (below(3) == 0) attributes.push_back(attribute(name));
    b.add(row.name, row.domain, "node", inputs, outputs, attributes);
    const Network network = std::move(b).finish();
    if (const Result<Shapes> shapes = infer(network, Binding{}); shapes)
      for (const TensorId id : outputs) {
        (void)shapes->text(id);
        if (!shapes->ranked(id)) continue;
        for (const Dim d : shapes->dims(id))
          EXPECT_LE(shapes->symbols().bounds(d).low, shapes->symbols().bounds(d).high) << row.name;
      }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  template <class T, std::size_t n>
  T any(const std::array<T, n>& from) {
    return from[below(n)];
  }
  std::int64_t number() { return tame_ ? static_cast<std::int64_t>(below(4)) : any(kNumbers); }

  TensorId input(Builder& b) {
    static constexpr std::array kTypes = {DataType::float32, DataType::int64,  DataType::uint8,
                                          DataType::boolean, DataType::string, DataType::undefined};
    if (below(8) == 0) {
      const TensorId id = b.tensor("unranked");
      b.declare(id, any(kTypes));
      b.graph_input(id);
      return id;
    }
    if (below(3) == 0) {
      std::vector<Scalar> values(below(5));
      for (Scalar& s : values)
        s = below(6) == 0
                ? Scalar::real(-1e300)
                : Scalar::integer(below(2) == 0 ? static_cast<std::int64_t>(below(4)) : any(kNumbers));
      std::vector<Dim> dims;
      if (values.size() != 1 || below(2) == 0)
        dims.push_back(Dim::of(static_cast<std::int64_t>(values.size())));
      const TensorId id = b.weight("constant", DataType::int64, dims, Role::buffer);
      b.set_value(id, values);
      return id;
    }
    std::vector<Dim> dims(below(8) == 0 ? below(kMaxRank + 1) : below(6));
    for (Dim& d : dims) {
      const std::size_t kind = below(12);
      d = kind == 0   ? b.symbol("n")
          : kind == 1 ? Dim::of(kHighest)
          : kind == 2 ? b.symbol("m")
                      : Dim::of(static_cast<std::int64_t>(below(5)));
    }
    return b.input("x", any(kTypes), dims);
  }

  AttributeValue attribute(const char* name) {
    switch (below(4)) {
      case 0: return {name, any(kTexts)};
      case 1: return {name, number()};
      default: {
        std::vector<std::int64_t>& list = lists_.emplace_back(below(10) == 0 ? 40 : below(5));
        for (std::int64_t& n : list) n = number();
        return {name, list};
      }
    }
  }

  std::mt19937 random_;
  std::vector<std::vector<std::int64_t>> lists_;
  bool tame_ = false;
};

TEST(Hostile, NoRuleCrashes) {
  constexpr std::uint32_t kTrials = 300;
  for (const OperatorInfo& row : operator_table())
    if (row.infer != nullptr)
      for (std::uint32_t seed = 0; seed < kTrials; ++seed) Trial(seed).run(row);
}

}  // namespace
}  // namespace plimsoll::network
