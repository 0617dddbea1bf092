#include "network/network.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::network {
namespace {

/// Compares two Networks part by part; ids are compared directly, since both number their tensors in the
/// order in which they were met.
class Comparison {
 public:
  Comparison(const Network& a, const Network& b) : a_(a), b_(b) {}

  [[nodiscard]] bool equal() const {
    return a_.name == b_.name && a_.opsets == b_.opsets && a_.symbols == b_.symbols &&
           a_.graphs.size() == b_.graphs.size() && a_.tensors.size() == b_.tensors.size() &&
           std::ranges::equal(a_.tensors, b_.tensors, [this](const Tensor& x, const Tensor& y) { return equal(x, y); }) &&
           std::ranges::equal(a_.graphs, b_.graphs, [this](const Graph& x, const Graph& y) { return equal(x, y); });
  }

 private:
  [[nodiscard]] bool equal(const Tensor& x, const Tensor& y) const {
    return x.type == y.type && x.role == y.role && x.has_shape == y.has_shape && x.has_value == y.has_value &&
           a_.view(x.name) == b_.view(y.name) && (!x.has_shape || std::ranges::equal(a_.dims_of(x), b_.dims_of(y))) &&
           (!x.has_value || std::ranges::equal(a_.value_of(x), b_.value_of(y)));
  }
  [[nodiscard]] bool equal(const Attribute& x, const Attribute& y) const {
    if (x.kind != y.kind || a_.view(x.name) != b_.view(y.name)) return false;
    switch (x.kind) {
      case Attribute::Kind::integer:
      case Attribute::Kind::tensor:
      case Attribute::Kind::graph: return x.integer == y.integer;
      case Attribute::Kind::real: return x.real == y.real || (x.real != x.real && y.real != y.real);
      case Attribute::Kind::text: return a_.view(x.list) == b_.view(y.list);
      case Attribute::Kind::integers: return std::ranges::equal(a_.integers_of(x), b_.integers_of(y));
      case Attribute::Kind::reals: return std::ranges::equal(a_.reals_of(x), b_.reals_of(y));
      case Attribute::Kind::texts: {
        if (x.list.count != y.list.count) return false;
        for (std::uint32_t i = 0; i < x.list.count; ++i)
          if (a_.view(a_.ranges[x.list.begin + i]) != b_.view(b_.ranges[y.list.begin + i])) return false;
        return true;
      }
      case Attribute::Kind::other: return true;
    }
    return false;
  }
  [[nodiscard]] bool equal(const Operator& x, const Operator& y) const {
    return x.opset == y.opset && a_.view(x.type) == b_.view(y.type) && a_.view(x.domain) == b_.view(y.domain) &&
           a_.view(x.name) == b_.view(y.name) && std::ranges::equal(a_.inputs(x), b_.inputs(y)) &&
           std::ranges::equal(a_.outputs(x), b_.outputs(y)) &&
           std::ranges::equal(a_.attributes_of(x), b_.attributes_of(y),
                              [this](const Attribute& p, const Attribute& q) { return equal(p, q); });
  }
  [[nodiscard]] bool equal(const Graph& x, const Graph& y) const {
    return x.name == y.name && x.inputs == y.inputs && x.outputs == y.outputs && x.weights == y.weights &&
           std::ranges::equal(x.operators, y.operators, [this](const Operator& p, const Operator& q) { return equal(p, q); });
  }

  const Network& a_;
  const Network& b_;
};

}  // namespace

bool operator==(const Network& a, const Network& b) { return Comparison(a, b).equal(); }

const Attribute* Network::find(const Operator& op, std::string_view attribute) const {
  for (const Attribute& a : attributes_of(op))
    if (view(a.name) == attribute) return &a;
  return nullptr;
}

std::string describe(const Network& network, const Operator& op) {
  if (op.name.count > 0) return fmt::format("{} '{}'", network.type_of(op), network.name_of(op));
  for (const TensorId out : network.outputs(op))
    if (out != kNoTensor) return fmt::format("{} that makes '{}'", network.type_of(op), network.name_of(out));
  return std::string(network.type_of(op));
}

}  // namespace plimsoll::network
