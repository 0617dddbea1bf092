#pragma once
#include <algorithm>
#include <charconv>
#include <deque>
#include <ranges>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "network/builder.hpp"
#include "network/inference.hpp"

/// For tests: a network of one operator written as text, and what inference says of it.
namespace plimsoll::network::testing {

struct OneOperator {
  std::string_view op;  ///< "Conv", "Conv@13", "com.microsoft:Gelu@1"; opset 17 unless told
  std::string_view
      inputs;  ///< "1x3x8x8 nx4:int64 scalar ? - =1,2,3 ==5": shapes, unranked, left out, contents
  std::string_view attributes;  ///< "group=2 strides=[2,2] auto_pad=VALID"
  std::string_view expected;    ///< "1x4x6x6; int64 1x4x6x6", or "error: " and a part of the message
};

inline std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> out;
  if (text.empty()) return out;
  for (const auto part : std::views::split(text, by)) out.emplace_back(part.begin(), part.end());
  return out;
}

inline std::int64_t number(std::string_view text) {
  std::int64_t n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  EXPECT_TRUE(read.ec == std::errc() && read.ptr == text.data() + text.size()) << "no number: " << text;
  return n;
}

inline DataType type_named(std::string_view text) {
  for (int i = 0; i < kDataTypes; ++i)
    if (name(static_cast<DataType>(i)) == text) return static_cast<DataType>(i);
  ADD_FAILURE() << "no type: " << text;
  return DataType::undefined;
}

inline TensorId make_input(Builder& b, std::string_view text) {
  if (text == "-") return kNoTensor;
  if (text.starts_with('=')) {
    const bool scalar = text.starts_with("==");
    std::vector<Scalar> values;
    for (const auto n : split(text.substr(scalar ? 2 : 1), ",")) values.push_back(Scalar::integer(number(n)));
    std::vector<Dim> dims;
    if (!scalar) dims.push_back(Dim::of(static_cast<std::int64_t>(values.size())));
    const TensorId id = b.weight("constant", DataType::int64, dims, Role::buffer);
    b.set_value(id, values);
    return id;
  }
  const std::size_t colon = text.find(':');
  const DataType type =
      colon == std::string_view::npos ? DataType::float32 : type_named(text.substr(colon + 1));
  const std::string_view shape = text.substr(0, colon);
  if (shape == "?") {
    const TensorId id = b.tensor("unranked");
    b.declare(id, type);
    b.graph_input(id);
    return id;
  }
  std::vector<Dim> dims;
  if (shape != "scalar")
    for (const auto d : split(shape, "x"))
      dims.push_back(d.find_first_not_of("0123456789") == std::string_view::npos ? Dim::of(number(d))
                                                                                 : b.symbol(d));
  return b.input("input", type, dims);
}

/// The attributes as Builder takes them; `lists` keeps what they point to.
inline std::vector<AttributeValue> make_attributes(std::string_view text,
                                                   std::deque<std::vector<std::int64_t>>& lists) {
  std::vector<AttributeValue> out;
  for (const auto part : split(text, " ")) {
    const std::size_t at = part.find('=');
    const std::string_view key = part.substr(0, at), value = part.substr(at + 1);
    if (value.starts_with('[')) {
      std::vector<std::int64_t>& list = lists.emplace_back();
      for (const auto n : split(value.substr(1, value.size() - 2), ",")) list.push_back(number(n));
      out.emplace_back(key, list);
    } else if (!value.empty() && value.find_first_not_of("-0123456789") == std::string_view::npos &&
               value != "->") {
      out.emplace_back(key, number(value));
    } else {
      out.emplace_back(key, value);
    }
  }
  return out;
}

/// "1x4x6x6; int64 1x4x6x6" (float32 goes without saying), or "error: …".
inline std::string outcome(const OneOperator& test) {
  Builder b("one");
  std::string_view op = test.op, domain;
  std::int64_t opset = 17;
  if (const std::size_t at = op.find('@'); at != std::string_view::npos) {
    opset = number(op.substr(at + 1));
    op = op.substr(0, at);
  }
  if (const std::size_t at = op.find(':'); at != std::string_view::npos) {
    domain = op.substr(0, at);
    op.remove_prefix(at + 1);
  }
  b.opset(domain, opset);
  std::vector<TensorId> inputs, outputs;
  for (const auto text : split(test.inputs, " ")) inputs.push_back(make_input(b, text));
  const bool error = test.expected.starts_with("error: ");  // whose text may hold semicolons
  for (auto n = error ? 1 : 1 + std::ranges::count(test.expected, ';'); n > 0; --n)
    outputs.push_back(b.tensor("output"));
  std::deque<std::vector<std::int64_t>> lists;
  b.add(op, domain, "tested", inputs, outputs, make_attributes(test.attributes, lists));
  const Network network = std::move(b).finish();
  const Result<Shapes> shapes = infer(network, Binding{});  // no binding: symbols stay symbols
  if (!shapes) return "error: " + shapes.error().message;
  std::string out;
  for (const TensorId id : outputs) {
    if (!out.empty()) out += "; ";
    if (shapes->type(id) != DataType::float32) out += std::string(name(shapes->type(id))) + " ";
    out += shapes->text(id);
  }
  return out;
}

inline void check(std::span<const OneOperator> tests) {
  for (const OneOperator& test : tests) {
    const std::string found = outcome(test);
    const bool error = test.expected.starts_with("error: ");
    const bool right =
        error ? found.starts_with("error: ") && found.find(test.expected.substr(7)) != std::string::npos
              : found == test.expected;
    EXPECT_TRUE(right) << test.op << " (" << test.inputs << ") " << test.attributes << "\n  expected "
                       << test.expected << "\n  found    " << found;
  }
}

}  // namespace plimsoll::network::testing
