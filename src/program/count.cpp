#include "program/count.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "network/causal.hpp"
#include "network/saturating.hpp"
#include "program/experts.hpp"
#include "program/work_table.hpp"

namespace plimsoll::program {

using network::kUnbounded, network::product, network::quotient, network::sum;
namespace {

using network::Graph;
using network::GraphId;
using network::kNoTensor;
using network::Network;
using network::Operator;
using network::Role;
using network::Shapes;
using network::TensorId;

/// What one operator, or all of a graph, does.
struct Totals {
  Work forward, backward;
};

/// One corner of an operator's work.
struct Corner {
  std::int64_t macs = 0, flops = 0, read = 0, written = 0;
};

Work between(const Corner& low, const Corner& high) {
  return {{low.macs, high.macs}, {low.flops, high.flops}, {low.read, high.read}, {low.written, high.written}};
}

bool is_unbounded(const Work& w) {
  return w.flops.high == kUnbounded || w.bytes_read.high == kUnbounded || w.bytes_written.high == kUnbounded;
}

class Counter {
 public:
  Counter(const Network& network, const Shapes& shapes, const Conventions& conventions)
      : network_(network),
        shapes_(shapes),
        conventions_(conventions),
        source_(network.tensors.size(), kNoTensor),
        used_(network.tensors.size(), false),
        needs_gradient_(network.tensors.size(), false) {
    if (conventions.halve_causal) causal_ = network::find_causal_products(network);
  }

  Counts run() {
    std::size_t operators = 0;
    for (const Graph& g : network_.graphs) operators += g.operators.size();
    counts_.operators.reserve(operators);
    stored();
    const Totals main = graph(GraphId{0}, {1, 1});
    counts_.forward = main.forward;
    counts_.backward = main.backward;
    for (const OperatorCount& row : counts_.operators)
      if (row.alternative == 0)
        counts_.activation_bytes = sum(counts_.activation_bytes, row.activation_bytes);
    const Operator none{};
    const Site site{network_, shapes_, none, conventions_};
    for (const TensorId id : network_.main().inputs)
      counts_.input_bytes = sum(counts_.input_bytes, site.bytes(id));
    for (const TensorId id : network_.main().outputs)
      counts_.output_bytes = sum(counts_.output_bytes, site.bytes(id));
    return std::move(counts_);
  }

 private:
  /// Stored tensors: their totals, and where a gradient starts.
  void stored() {
    const Operator none{};
    const Site site{network_, shapes_, none, conventions_};
    for (const Graph& g : network_.graphs)
      for (const TensorId id : g.weights) {
        const auto at = static_cast<std::size_t>(id);
        source_[at] = id;
        const std::int64_t elements = site.elements(id), bytes = site.bytes(id, elements);
        counts_.weight_bytes = sum(counts_.weight_bytes, bytes);
        add_size(counts_.weight_sizes, id);
        if (network_.tensor(id).role != Role::parameter) continue;
        needs_gradient_[at] = true;
        counts_.parameters = sum(counts_.parameters, elements);
        counts_.parameter_bytes = sum(counts_.parameter_bytes, bytes);
        add_size(counts_.parameter_sizes, id);
      }
  }

  /// `part` of `whole` equal parts of a stored tensor.
  void add_size(network::WeightSizes& sizes, TensorId id, std::int64_t part = 1,
                std::int64_t whole = 1) const {
    const Operator none{};
    const network::StoredWeight* const stored = network_.stored_of(id);
    if (stored != nullptr && stored->kept)
      sizes.kept = sum(sizes.kept, product(quotient(stored->bytes, whole), part));
    else
      sizes.add(shapes_.type(id),
                product(quotient(Site{network_, shapes_, none, conventions_}.elements(id), whole), part));
  }

  Totals graph(GraphId id, Interval repeats) {
    Totals totals;
    const auto& operators = network_.graph(id).operators;
    for (std::uint32_t i = 0; i < operators.size(); ++i) single(operators[i], id, i, repeats, totals);
    return totals;
  }

  void single(const Operator& op, GraphId id, std::uint32_t index, Interval repeats, Totals& totals) {
    OperatorCount& row = counts_.operators.emplace_back();
    row.graph = id;
    row.index = index;
    row.repeats = repeats;
    const WorkRow* rule = find_work(op.kind);
    const Trait trait = rule == nullptr ? Trait::none : rule->trait;
    attribute_weights(op, trait, row);
    if (is_folded(op))
      row.coverage = Coverage::folded;
    else if (rule == nullptr)
      row.coverage = Coverage::no_rule;
    else
      measure(op, *rule, !causal_.empty() && id == GraphId{0} && causal_[index], row, totals);
    trace(op, rule);
    ++counts_.nodes;
    if (row.coverage == Coverage::counted || row.coverage == Coverage::folded) ++counts_.counted;
    // From here on `row` may move: bodies append rows of their own.
    if (trait == Trait::branches) {
      const Totals inside = branches(op, repeats);
      totals.forward += inside.forward;
      totals.backward += inside.backward;
    } else if (trait == Trait::repeats) {
      repeat_bodies(op, repeats, totals);
    }
  }

  /// Where a row finds this work again.
  std::uint32_t store(const Work& work) {
    if (work == Work{}) return 0;
    counts_.works.push_back(work);
    return static_cast<std::uint32_t>(counts_.works.size() - 1);
  }

  /// Whether everything that it makes was found out without data.
  [[nodiscard]] bool is_folded(const Operator& op) const {
    const auto outputs = network_.outputs(op);
    return !outputs.empty() && std::ranges::all_of(outputs, [this](TensorId id) {
      return id == kNoTensor || shapes_.at(id).has_value;
    });
  }

  /// Puts an operator's work into its row and adds it to the totals.
  void measure(const Operator& op, const WorkRow& rule, bool halve, OperatorCount& row, Totals& totals) {
    const Site upper{network_, shapes_, op, conventions_, true};
    const Site lower{network_, shapes_, op, conventions_, false};
    const bool varies = depends_on_data(op, rule);
    const Corner high = forward(upper, rule, halve);
    const Corner low = varies ? forward(lower, rule, halve) : high;
    const Work once = between(low, high), work = once * row.repeats;
    if (rule.traffic != Traffic::none && !is_unbounded(once)) row.activation_bytes = high.written;
    if (is_unbounded(once) || is_unbounded(work)) {  // the latter in a Loop without a bound
      row.coverage = Coverage::unbounded;
      return;
    }
    row.work = store(work);
    totals.forward += work;
    if (rule.traffic == Traffic::experts) add_idle(lower);
    if (rule.backward == Backward::none) return;
    const Corner most = backward(upper, rule, high);
    if (most.written == 0) return;  // nothing that it reads needs a gradient
    const Corner least = varies ? backward(lower, rule, low) : most;
    const Work gradient = between(least, most) * row.repeats;
    row.backward = store(gradient);
    totals.backward += gradient;
  }

  [[nodiscard]] bool depends_on_data(const Operator& op, const WorkRow& rule) const {
    const auto symbolic = [this](TensorId id) {
      return id != kNoTensor &&
             (!shapes_.ranked(id) ||
              std::ranges::any_of(shapes_.dims(id), [](network::Dim d) { return !d.exact(); }));
    };
    return rule.trait == Trait::varies || std::ranges::any_of(network_.inputs(op), symbolic) ||
           std::ranges::any_of(network_.outputs(op), symbolic);
  }

  /// Stacked weights that the lower corner leaves unread.
  void add_idle(const Site& lower) {
    const std::int64_t experts = lower.input_dim(1, -1), rows = quotient(lower.input_elements(1), experts);
    if (experts == kUnbounded || rows == kUnbounded) return;
    const std::int64_t idle = experts - chosen_experts(experts, lower.integer("k", 1), rows).least;
    for (std::size_t i = 2; i < lower.inputs().size(); ++i)
      if (lower.has(i)) add_size(counts_.idle_sizes, lower.inputs()[i], idle, experts);
  }

  /// What is a stored tensor, perhaps under another name, takes what that takes.
  [[nodiscard]] std::int64_t bytes_of(const Site& site, TensorId id) const {
    const TensorId source = source_[static_cast<std::size_t>(id)];
    return site.bytes(source != kNoTensor && network_.stored_of(source) != nullptr ? source : id);
  }

  [[nodiscard]] Corner forward(const Site& site, const WorkRow& rule, bool halve) const {
    Corner c;
    if (site.outputs().empty()) return c;
    const Operations operations = rule.formula(site, rule);
    // Where a window is shorter than the keys, it and not the diagonal decides how many are seen.
    const std::int64_t window = halve ? site.integer("local_window_size", 0) : 0;
    const bool triangle = halve && (window <= 0 || window >= site.input_dim(1, -2));
    c.macs = triangle ? quotient(operations.macs.value, 2) : operations.macs.value;
    c.flops = sum(product(c.macs, conventions_.flops_per_mac), operations.other_flops.value);
    if (rule.traffic == Traffic::none) return c;
    for (const TensorId id : site.outputs())
      if (id != kNoTensor) c.written = sum(c.written, site.bytes(id));
    const auto inputs = site.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNoTensor || shapes_.at(inputs[i]).has_value) continue;  // known contents: folded in
      if (std::find(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(i), inputs[i]) !=
          inputs.begin() + static_cast<std::ptrdiff_t>(i))
        continue;  // the same tensor twice is read once
      const bool stacked = i >= 2 && rule.traffic == Traffic::experts;
      c.read = sum(c.read, i == 0 && rule.traffic == Traffic::gathers ? c.written
                           : stacked                                  ? bytes_of_chosen(site, inputs[i])
                                                                      : bytes_of(site, inputs[i]));
    }
    return c;
  }

  [[nodiscard]] Corner backward(const Site& site, const WorkRow& rule, const Corner& forward) const {
    Corner c;
    std::int64_t operands = 0;
    const auto inputs = site.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNoTensor || !needs_gradient_[static_cast<std::size_t>(inputs[i])]) continue;
      if (i < 2) ++operands;
      c.written = sum(c.written, site.bytes(inputs[i]));
    }
    if (rule.backward == Backward::product) {
      c.macs = product(forward.macs, operands);
      c.flops = product(forward.flops, operands);
      // Each product reads the gradient and the other operand.
      c.read = sum(product(forward.written, operands), forward.read);
    } else if (rule.backward == Backward::map) {
      c.flops = product(site.output_elements(), rule.backward_cost);
      c.read = sum(forward.written, forward.read);
    } else {
      c.read = forward.written;
    }
    return c;
  }

  /// Follows gradients and stored tensors through one operator.
  void trace(const Operator& op, const WorkRow* rule) {
    const auto inputs = network_.inputs(op);
    const bool flows = rule != nullptr &&
                       (rule->backward != Backward::none || rule->traffic == Traffic::none) &&
                       std::ranges::any_of(inputs, [this](TensorId id) {
                         return id != kNoTensor && needs_gradient_[static_cast<std::size_t>(id)];
                       });
    const bool renames = rule != nullptr && rule->trait == Trait::renames;
    for (const TensorId id : network_.outputs(op)) {
      if (id == kNoTensor) continue;
      const auto at = static_cast<std::size_t>(id);
      if (flows && network::is_float(shapes_.type(id))) needs_gradient_[at] = true;
      if (renames && !inputs.empty() && inputs[0] != kNoTensor)
        source_[at] = source_[static_cast<std::size_t>(inputs[0])];
    }
  }

  void attribute_weights(const Operator& op, Trait trait, OperatorCount& row) {
    // What only renames a weight leaves it to whoever computes with it.
    if (trait == Trait::renames && !network_.inputs(op).empty() && network_.inputs(op)[0] != kNoTensor &&
        source_[static_cast<std::size_t>(network_.inputs(op)[0])] != kNoTensor)
      return;
    const Site site{network_, shapes_, op, conventions_};
    for (const TensorId id : network_.inputs(op)) {
      if (id == kNoTensor) continue;
      const TensorId weight = source_[static_cast<std::size_t>(id)];
      if (weight == kNoTensor || used_[static_cast<std::size_t>(weight)]) continue;
      used_[static_cast<std::size_t>(weight)] = true;
      const std::int64_t elements = site.elements(weight);
      row.weight_bytes = sum(row.weight_bytes, site.bytes(weight, elements));
      if (network_.tensor(weight).role == Role::parameter) row.parameters = sum(row.parameters, elements);
    }
  }

  /// The bodies of Loop, Scan and SequenceMap.
  void repeat_bodies(const Operator& op, Interval repeats, Totals& totals) {
    const Interval trips = trip_count(op, network_.type_of(op));
    const Interval times{product(repeats.low, trips.low), product(repeats.high, trips.high)};
    for (const network::Attribute& a : network_.attributes_of(op)) {
      if (a.kind != network::Attribute::Kind::graph) continue;
      const Totals body = graph(static_cast<GraphId>(a.integer), times);
      totals.forward += body.forward;
      totals.backward += body.backward;
    }
  }

  [[nodiscard]] Interval trip_count(const Operator& op, std::string_view type) const {
    const auto inputs = network_.inputs(op);
    if (type == "Loop" && !inputs.empty() && inputs[0] != kNoTensor && shapes_.at(inputs[0]).has_value &&
        !shapes_.value(inputs[0]).empty()) {
      // A condition may end it sooner.
      const network::Interval most = shapes_.symbols().bounds(shapes_.value(inputs[0]).front().dim());
      return {inputs.size() > 1 && inputs[1] != kNoTensor ? 0 : most.low, most.high};
    }
    if (type == "Scan" && !inputs.empty() && inputs.back() != kNoTensor && shapes_.ranked(inputs.back()) &&
        !shapes_.dims(inputs.back()).empty()) {
      // The last input is scanned, along its first axis unless scan_input_axes says otherwise.
      const network::Attribute* axes = network_.find(op, "scan_input_axes");
      const auto list = axes == nullptr ? std::span<const std::int64_t>{} : network_.integers_of(*axes);
      std::int64_t axis = list.empty() ? 0 : list.back();
      const auto rank = static_cast<std::int64_t>(shapes_.dims(inputs.back()).size());
      if (axis < 0) axis += rank;
      if (axis >= 0 && axis < rank)
        return shapes_.symbols().bounds(shapes_.dims(inputs.back())[static_cast<std::size_t>(axis)]);
    }
    if (type == "SequenceMap" && !inputs.empty() && inputs[0] != kNoTensor &&
        shapes_.at(inputs[0]).kind == network::ValueKind::sequence)
      return shapes_.symbols().bounds(shapes_.at(inputs[0]).length);
    return {0, kUnbounded};
  }

  /// A known condition runs one branch; otherwise the heavier one stands for both, and the other's rows
  /// are marked as alternatives.
  Totals branches(const Operator& op, Interval repeats) {
    struct Branch {
      Totals totals;
      std::size_t begin = 0, end = 0;
    };
    std::vector<Branch> found;
    for (const std::string_view name : {"then_branch", "else_branch"}) {
      const network::Attribute* a = network_.find(op, name);
      if (a == nullptr || a->kind != network::Attribute::Kind::graph) continue;
      Branch branch;
      branch.begin = counts_.operators.size();
      branch.totals = graph(static_cast<GraphId>(a->integer), repeats);
      branch.end = counts_.operators.size();
      found.push_back(branch);
    }
    if (found.size() != 2) return found.empty() ? Totals{} : found.front().totals;
    const std::optional<bool> condition = known_condition(op);
    const bool then_stands =
        condition.value_or(found[0].totals.forward.flops.high >= found[1].totals.forward.flops.high);
    const Branch& other = found[then_stands ? 1 : 0];
    for (std::size_t i = other.begin; i < other.end; ++i) ++counts_.operators[i].alternative;
    if (condition) return found[then_stands ? 0 : 1].totals;
    for (std::size_t i = found[0].begin; i < found[1].end; ++i) counts_.operators[i].certain = false;
    return {either(found[0].totals.forward, found[1].totals.forward),
            either(found[0].totals.backward, found[1].totals.backward)};
  }

  [[nodiscard]] std::optional<bool> known_condition(const Operator& op) const {
    const auto inputs = network_.inputs(op);
    if (inputs.empty() || inputs[0] == kNoTensor || !shapes_.at(inputs[0]).has_value) return std::nullopt;
    const auto value = shapes_.value(inputs[0]);
    if (value.empty() || !value.front().is_integer()) return std::nullopt;
    return value.front().integer() != 0;
  }

  const Network& network_;
  const Shapes& shapes_;
  const Conventions& conventions_;
  Counts counts_;
  std::vector<TensorId> source_;  // the stored tensor that a tensor is, perhaps seen through Identity
  std::vector<bool> used_;        // stored tensors already attributed to an operator
  std::vector<bool> needs_gradient_;
  std::vector<bool> causal_;
};

}  // namespace

Counts count(const Network& network, const Shapes& shapes, const Conventions& conventions) {
  return Counter(network, shapes, conventions).run();
}

}  // namespace plimsoll::program
