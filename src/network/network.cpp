#include "network/network.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace plimsoll::network {
namespace {

/// Walks two Networks side by side from their main graphs. Tensors and bodies are matched where they are met
/// first and must match ever after, so that their numbering does not matter: a Network read back from a file
/// numbers its tensors in another order than the one that was built by hand.
class Comparison {
 public:
  Comparison(const Network& a, const Network& b)
      : a_(a), b_(b), to_b_(a.tensors.size(), kNoTensor), to_a_(b.tensors.size(), kNoTensor) {}

  [[nodiscard]] bool equal() {
    if (a_.name != b_.name || a_.opsets != b_.opsets || a_.symbols != b_.symbols ||
        a_.graphs.size() != b_.graphs.size() || a_.tensors.size() != b_.tensors.size())
      return false;
    return equal(a_.main(), b_.main());
  }

 private:
  [[nodiscard]] bool equal(TensorId x, TensorId y) {
    if (x == kNoTensor || y == kNoTensor) return x == y;
    TensorId& image = to_b_[static_cast<std::size_t>(x)];
    TensorId& origin = to_a_[static_cast<std::size_t>(y)];
    if (image != kNoTensor || origin != kNoTensor) return image == y && origin == x;
    image = y;
    origin = x;
    return equal(a_.tensor(x), b_.tensor(y)) && equal(a_.stored_of(x), b_.stored_of(y));
  }
  [[nodiscard]] bool equal(const StoredWeight* x, const StoredWeight* y) const {
    if (x == nullptr || y == nullptr) return x == y;
    return x->bytes == y->bytes && x->kept == y->kept && a_.view(x->format) == b_.view(y->format);
  }
  [[nodiscard]] bool equal(std::span<const TensorId> x, std::span<const TensorId> y) {
    return std::ranges::equal(x, y, [this](TensorId p, TensorId q) { return equal(p, q); });
  }
  [[nodiscard]] bool equal(const Tensor& x, const Tensor& y) const {
    return x.type == y.type && x.role == y.role && x.has_shape == y.has_shape && x.has_value == y.has_value &&
           a_.view(x.name) == b_.view(y.name) &&
           (!x.has_shape || std::ranges::equal(a_.dims_of(x), b_.dims_of(y))) &&
           (!x.has_value ||
            std::ranges::equal(a_.value_of(x), b_.value_of(y), [&](const Scalar& p, const Scalar& q) {
              return p == q || (p.is_real() && q.is_real() && x.type != DataType::float64 &&
                                same_float(p.real(), q.real()));
            }));
  }
  /// Real attributes and most real tensors are of 32 bits at most in a file; further digits say nothing.
  [[nodiscard]] static bool same_float(double x, double y) {
    return static_cast<float>(x) == static_cast<float>(y) || (x != x && y != y);
  }
  [[nodiscard]] bool equal(const Attribute& x, const Attribute& y) {
    if (x.kind != y.kind || a_.view(x.name) != b_.view(y.name)) return false;
    switch (x.kind) {
      case Attribute::Kind::integer: return x.integer == y.integer;
      case Attribute::Kind::tensor:
        return equal(static_cast<TensorId>(x.integer), static_cast<TensorId>(y.integer));
      case Attribute::Kind::graph:
        return equal(a_.graph(static_cast<GraphId>(x.integer)), b_.graph(static_cast<GraphId>(y.integer)));
      case Attribute::Kind::real: return same_float(x.real, y.real);
      case Attribute::Kind::text: return a_.view(x.list) == b_.view(y.list);
      case Attribute::Kind::integers: return std::ranges::equal(a_.integers_of(x), b_.integers_of(y));
      case Attribute::Kind::reals: return std::ranges::equal(a_.reals_of(x), b_.reals_of(y), same_float);
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
  [[nodiscard]] bool equal(const Operator& x, const Operator& y) {
    return x.opset == y.opset && a_.view(x.type) == b_.view(y.type) &&
           a_.view(x.domain) == b_.view(y.domain) && a_.view(x.name) == b_.view(y.name) &&
           equal(a_.inputs(x), b_.inputs(y)) && equal(a_.outputs(x), b_.outputs(y)) &&
           std::ranges::equal(a_.attributes_of(x), b_.attributes_of(y),
                              [this](const Attribute& p, const Attribute& q) { return equal(p, q); });
  }
  [[nodiscard]] bool equal(const Graph& x, const Graph& y) {
    return x.name == y.name && equal(x.inputs, y.inputs) && equal(x.outputs, y.outputs) &&
           equal(x.weights, y.weights) &&
           std::ranges::equal(x.operators, y.operators,
                              [this](const Operator& p, const Operator& q) { return equal(p, q); });
  }

  const Network& a_;
  const Network& b_;
  std::vector<TensorId> to_b_, to_a_;
};

}  // namespace

bool operator==(const Network& a, const Network& b) {
  return Comparison(a, b).equal();
}

const StoredWeight* Network::stored_of(TensorId id) const {
  const auto found = std::ranges::lower_bound(stored, id, {}, &StoredWeight::tensor);
  return found != stored.end() && found->tensor == id ? &*found : nullptr;
}

const Attribute* Network::find(const Operator& op, std::string_view attribute) const {
  for (const Attribute& a : attributes_of(op))
    if (view(a.name) == attribute) return &a;
  return nullptr;
}

std::string describe(const Network& network, const Operator& op) {
  constexpr std::size_t kLongestType = 80;
  std::string type = printable(network.type_of(op), kLongestType);
  if (op.name.count > 0) return fmt::format("{} {}", type, quote(network.name_of(op)));
  for (const TensorId out : network.outputs(op))
    if (out != kNoTensor) return fmt::format("{} that makes {}", type, quote(network.name_of(out)));
  return type;
}

}  // namespace plimsoll::network
