#include "onnx/order.hpp"

#include <cstdint>
#include <unordered_map>

namespace plimsoll::onnx {
namespace {

using network::Attribute;
using network::GraphId;
using network::Network;
using network::Operator;
using network::TensorId;

/// For each operator the operators whose outputs it needs, as slices of one array.
class Dependencies {
 public:
  Dependencies(const Network& network, const std::vector<Operator>& operators) : network_(network) {
    producers_.reserve(operators.size());
    for (std::uint32_t i = 0; i < operators.size(); ++i)
      for (const TensorId id : network.outputs(operators[i]))
        if (id != network::kNoTensor) producers_.emplace(id, i);
    for (const Operator& op : operators) {
      begin_.push_back(needed_.size());
      collect(op);
    }
    begin_.push_back(needed_.size());
  }
  [[nodiscard]] std::size_t begin(std::uint32_t op) const { return begin_[op]; }
  [[nodiscard]] std::size_t end(std::uint32_t op) const { return begin_[op + 1]; }
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const { return needed_[i]; }

 private:
  void need(TensorId id) {
    if (const auto found = producers_.find(id); found != producers_.end()) needed_.push_back(found->second);
  }
  void collect(const Operator& op) {
    for (const TensorId id : network_.inputs(op)) need(id);
    std::vector<GraphId> bodies;
    push_bodies(op, bodies);
    while (!bodies.empty()) {
      const network::Graph& body = network_.graph(bodies.back());
      bodies.pop_back();
      for (const TensorId id : body.outputs) need(id);
      for (const Operator& inner : body.operators) {
        for (const TensorId id : network_.inputs(inner)) need(id);
        push_bodies(inner, bodies);
      }
    }
  }
  void push_bodies(const Operator& op, std::vector<GraphId>& bodies) const {
    for (const Attribute& a : network_.attributes_of(op))
      if (a.kind == Attribute::Kind::graph) bodies.push_back(static_cast<GraphId>(a.integer));
  }

  const Network& network_;
  std::unordered_map<TensorId, std::uint32_t> producers_;
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> needed_;
};

}  // namespace

Status sort_operators(const Network& network, std::vector<Operator>& operators) {
  const Dependencies needs(network, operators);
  enum class Mark : std::uint8_t { untouched, open, done };
  std::vector<Mark> marks(operators.size(), Mark::untouched);
  struct Step {
    std::uint32_t op;
    std::size_t next;
  };
  std::vector<Step> path;
  std::vector<Operator> sorted;
  sorted.reserve(operators.size());
  for (std::uint32_t first = 0; first < operators.size(); ++first) {
    if (marks[first] != Mark::untouched) continue;
    marks[first] = Mark::open;
    path.push_back({first, needs.begin(first)});
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next == needs.end(step.op)) {
        marks[step.op] = Mark::done;
        sorted.push_back(operators[step.op]);
        path.pop_back();
        continue;
      }
      const std::uint32_t needed = needs[step.next++];
      if (marks[needed] == Mark::open) {
        return std::unexpected(Error{"needs its own result: the graph has a cycle",
                                     network::describe(network, operators[needed])});
      }
      if (marks[needed] == Mark::done) continue;
      marks[needed] = Mark::open;
      path.push_back({needed, needs.begin(needed)});
    }
  }
  operators = std::move(sorted);
  return {};
}

}  // namespace plimsoll::onnx
