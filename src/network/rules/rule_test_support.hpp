#pragma once
#include <charconv>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "network/builder.hpp"
#include "network/inference.hpp"

namespace plimsoll::network::rule_test {

/// Extents written as text: "2x3", "nx4" with a symbol, "n:10x4" with one of at most 10, "scalar".
class ShapeText {
 public:
  explicit ShapeText(Builder& builder) : builder_(builder) {}

  std::vector<Dim> parse(std::string_view text) {
    std::vector<Dim> out;
    while (!text.empty() && text != "scalar") {
      const std::size_t end = std::min(text.find('x'), text.size());
      out.push_back(dim(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }
  Dim dim(std::string_view token) {
    std::int64_t n = 0;
    if (const auto [end, error] = std::from_chars(token.begin(), token.end(), n); error == std::errc{})
      return Dim::of(n);
    const std::size_t colon = token.find(':');
    const Dim symbol = builder_.symbol(token.substr(0, colon));
    if (colon != std::string_view::npos)
      bounds_[std::string(token.substr(0, colon))] = std::stoll(std::string(token.substr(colon + 1)));
    return symbol;
  }
  /// The Network's symbols again, with the bounds that were written.
  void apply(Network& network) const {
    Symbols bounded;
    for (std::size_t i = 0; i < network.symbols.size(); ++i) {
      Symbol s = network.symbols.at(static_cast<SymbolId>(i));
      if (const auto found = bounds_.find(s.name); found != bounds_.end()) s.bounds = {0, found->second};
      bounded.add(std::move(s));
    }
    network.symbols = std::move(bounded);
  }

 private:
  Builder& builder_;
  std::map<std::string, std::int64_t> bounds_;
};

/// What inference says: "2x3" or "2x3 = [1, 2]" where contents are known, after the type where it is not
/// float32; or "error: …".
inline std::string describe_tensor(const Shapes& shapes, TensorId id) {
  std::string out;
  const Shapes::Entry& e = shapes.at(id);
  if (e.type != DataType::float32) out = fmt::format("{} ", name(e.type));
  if (e.kind == ValueKind::sequence) out += fmt::format("{} of ", shapes.symbols().text(e.length));
  if (e.kind == ValueKind::optional) out += "optional ";
  out += shapes.text(id);
  if (!e.has_value) return out;
  out += " = [";
  bool first = true;
  for (const Scalar& s : shapes.value(id)) {
    if (!first) out += ", ";
    first = false;
    out += s.is_symbol() ? shapes.symbols().text(s.dim())
           : s.is_real() ? fmt::format("{}", s.real())
                         : fmt::format("{}", s.integer());
  }
  return out + "]";
}

/// A Network of one operator, described argument by argument.
class Rule {
 public:
  explicit Rule(std::string_view op, int opset = 18) : op_(op) { builder_.opset("", opset); }

  Rule& input(std::string_view shape, DataType type = DataType::float32) {
    const std::vector<Dim> dims = shapes_.parse(shape);
    const TensorId id = builder_.tensor("x");
    if (shape == "?")
      builder_.declare(id, type);
    else
      builder_.declare(id, type, dims);
    builder_.graph_input(id);
    return add(id);
  }
  Rule& none() { return add(kNoTensor); }
  /// Contents: integers, and names of symbols; "scalar" or "2x2" where they are no vector.
  Rule& values(const std::vector<std::string>& values, std::string_view shape = {},
               DataType type = DataType::int64) {
    std::vector<Scalar> scalars;
    for (const std::string& v : values) {
      if (is_float(type))
        scalars.push_back(Scalar::real(std::stod(v)));
      else
        scalars.push_back(v[0] == '-' ? Scalar::integer(std::stoll(v)) : Scalar::extent(shapes_.dim(v)));
    }
    const TensorId id = builder_.tensor("v");
    const std::vector<Dim> dims = shape.empty()
                                      ? std::vector<Dim>{Dim::of(static_cast<std::int64_t>(values.size()))}
                                      : shapes_.parse(shape);
    builder_.declare(id, type, dims);
    builder_.set_role(id, Role::buffer);
    builder_.open_graph().weights.push_back(id);
    builder_.set_value(id, scalars);
    return add(id);
  }
  Rule& ints(const std::vector<std::int64_t>& values, std::string_view shape = {}) {
    std::vector<std::string> texts;
    for (const std::int64_t v : values) texts.push_back(std::to_string(v));
    return this->values(texts, shape);
  }
  Rule& reals(const std::vector<double>& values, std::string_view shape = {}) {
    std::vector<std::string> texts;
    for (const double v : values) texts.push_back(fmt::format("{}", v));
    return this->values(texts, shape, DataType::float32);
  }
  Rule& attribute(std::string_view name, std::int64_t v) { return with({name, v}); }
  Rule& attribute(std::string_view name, int v) { return with({name, v}); }
  Rule& attribute(std::string_view name, const char* v) { return with({name, v}); }
  Rule& attribute(std::string_view name, double v) { return with({name, v}); }
  Rule& attribute(std::string_view name, std::initializer_list<std::int64_t> v) {
    return with({name, std::span<const std::int64_t>(lists_.emplace_back(v))});
  }
  Rule& real_list(std::string_view name, std::initializer_list<double> v) {
    return with({name, std::span<const double>(reals_.emplace_back(v))});
  }
  Rule& with(AttributeValue v) {
    attributes_.push_back(v);
    return *this;
  }
  Rule& outputs(std::size_t n) {
    outputs_ = n;
    return *this;
  }
  Builder& builder() { return builder_; }

  /// Runs inference; the outputs' descriptions joined by " | ".
  std::string infer() {
    std::vector<TensorId> out;
    for (std::size_t i = 0; i < outputs_; ++i) out.push_back(builder_.tensor(fmt::format("out{}", i)));
    builder_.add(op_, "", "op", inputs_, out, attributes_);
    Network network = std::move(builder_).finish();
    shapes_.apply(network);
    // No binding: symbols stay symbols.
    const Result<Shapes> shapes = network::infer(network, Binding{});
    if (!shapes) return "error: " + shapes.error().message;
    std::string text;
    for (const TensorId id : out) text += (text.empty() ? "" : " | ") + describe_tensor(*shapes, id);
    return text;
  }

 private:
  Rule& add(TensorId id) {
    inputs_.push_back(id);
    return *this;
  }
  std::string op_;
  Builder builder_{"test"};
  ShapeText shapes_{builder_};
  std::vector<TensorId> inputs_;
  std::vector<AttributeValue> attributes_;
  std::deque<std::vector<std::int64_t>> lists_;
  std::deque<std::vector<double>> reals_;
  std::size_t outputs_ = 1;
};

}  // namespace plimsoll::network::rule_test
