#include "network/binding.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::network {
namespace {

/// A language model's only free dimensions are the batch and the length of its token ids. Where there are
/// more (a cache of earlier tokens, a decoder beside an encoder) lengths depend on each other, and nothing is
/// known of them.
std::optional<std::size_t> only_sequence(const Network& network) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < network.symbols.size(); ++i) {
    const std::string& name = network.symbols.at(static_cast<SymbolId>(i)).name;
    if (names_batch(name)) continue;
    if (found || !names_sequence(name)) return std::nullopt;
    found = i;
  }
  if (!found) return std::nullopt;
  for (const TensorId id : network.main().inputs) {
    const Tensor& t = network.tensor(id);
    if (!t.has_shape || t.dims.count != 2 || !is_integer(t.type)) continue;
    if (network.dims_of(t)[1] == Dim::symbol(static_cast<SymbolId>(*found))) return found;
  }
  return std::nullopt;
}

/// The axis of a Slice along one axis, where the model says which; its end is computed.
std::optional<std::size_t> computed_cut(const Network& network, const Operator& op) {
  const auto inputs = network.inputs(op);
  constexpr std::size_t kEnds = 2, kAxes = 3;
  if (network.type_of(op) != "Slice" || inputs.size() <= kAxes) return std::nullopt;
  if (inputs[kEnds] == kNoTensor || network.tensor(inputs[kEnds]).has_value) return std::nullopt;
  if (inputs[kAxes] == kNoTensor || !network.tensor(inputs[kAxes]).has_value) return std::nullopt;
  const auto axes = network.value_of(network.tensor(inputs[kAxes]));
  if (axes.size() != 1 || !axes[0].is_integer() || axes[0].integer() < 0) return std::nullopt;
  return static_cast<std::size_t>(axes[0].integer());
}

/// Fills a Binding symbol by symbol.
class Binder {
 public:
  explicit Binder(const Network& network) : network_(network) {
    for (std::size_t i = 0; i < network.symbols.size(); ++i)
      binding_.symbols.push_back({network.symbols.at(static_cast<SymbolId>(i)).name, 1, true});
  }

  Status extents(const BindingRequest& request) {
    for (const auto& extent : request.extents) {
      if (extent.value <= 0) return fail("dimension '{}' cannot be {}", extent.name, extent.value);
      const auto found = std::ranges::find(binding_.symbols, extent.name, &BoundSymbol::name);
      if (found == binding_.symbols.end())
        return fail("the model has no dimension named '{}'; it has {}", extent.name, list_symbols());
      *found = {extent.name, extent.value, false};
    }
    return {};
  }

  Status input_shapes(const BindingRequest& request) {
    for (const auto& given : request.inputs) {
      const auto id = find_input(given.name);
      if (!id) return std::unexpected(id.error());
      const Tensor& t = network_.tensor(*id);
      if (t.has_shape && t.dims.count != given.dims.size())
        return fail("input '{}' has {} dimensions, not {}", network_.name_of(*id), t.dims.count,
                    given.dims.size());
      for (const std::int64_t d : given.dims)
        if (d < 0) return fail("input '{}' cannot have the extent {}", network_.name_of(*id), d);
      // A symbol that the given shape replaces is bound by it, so that other inputs follow.
      if (t.has_shape)
        for (std::size_t i = 0; i < given.dims.size(); ++i)
          if (const Dim d = network_.dims_of(t)[i]; d.symbolic()) set(d, given.dims[i]);
      binding_.inputs.push_back({*id, given.dims});
    }
    return {};
  }

  Status batch(std::int64_t n) { return leading(n, "batch", 0, names_batch); }
  Status sequence(std::int64_t n) { return leading(n, "sequence", 1, names_sequence); }

  /// What nobody gave, once everything else is bound.
  void assume_sequence(const std::optional<PositionTable>& table) {
    const std::optional<std::size_t> symbol = only_sequence(network_);
    if (!symbol || !binding_.symbols[*symbol].assumed) return;
    binding_.symbols[*symbol].value = table ? std::min(kUsualSequence, table->rows) : kUsualSequence;
  }

  Status check_sequence(const PositionTable& table, const BindingRequest& request) const {
    std::int64_t longest = request.sequence.value_or(0);
    if (const std::optional<std::size_t> symbol = only_sequence(network_))
      longest = std::max(longest, binding_.symbols[*symbol].value);
    if (longest <= table.rows && request.context <= table.rows - longest) return {};
    if (request.context > 0)
      return std::unexpected(
          Error{.message = fmt::format("{} new and {} earlier tokens are more than the model's table of "
                                       "positions: \"{}\" holds {}",
                                       longest, request.context, printable(table.name), table.rows),
                .hint = fmt::format("--context {} is the longest that it takes with so many new ones",
                                    std::max<std::int64_t>(table.rows - longest, 0))});
    return std::unexpected(
        Error{.message = fmt::format("a sequence of {} is longer than the model's table of positions: "
                                     "\"{}\" holds {}",
                                     longest, printable(table.name), table.rows),
              .hint = fmt::format("--seq {} is the longest that it takes", table.rows)});
  }

  Binding take() && { return std::move(binding_); }

 private:
  [[nodiscard]] std::string list_symbols() const {
    std::vector<std::string> names;
    for (const BoundSymbol& s : binding_.symbols) names.push_back(s.name);
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  }

  Result<TensorId> find_input(std::string_view name) const {
    const auto& inputs = network_.main().inputs;
    if (name.empty() && inputs.size() == 1) return inputs.front();
    for (const TensorId id : inputs)
      if (network_.name_of(id) == name) return id;
    std::vector<std::string_view> names;
    for (const TensorId id : inputs) names.push_back(network_.name_of(id));
    return fail("the model has no input named '{}'; it has {}", name, fmt::join(names, ", "));
  }

  void set(Dim d, std::int64_t n) {
    BoundSymbol& s = binding_.symbols[static_cast<std::size_t>(d.id())];
    s.value = n;
    s.assumed = false;
  }

  [[nodiscard]] bool given_anew(TensorId id) const {
    return std::ranges::any_of(binding_.inputs, [id](const auto& i) { return i.tensor == id; });
  }

  /// Binds the symbols that are named like the dimension; failing that, extent `position` of every input
  /// that has one beyond it, symbolic or fixed.
  Status leading(std::int64_t n, std::string_view what, std::size_t position,
                 bool (*named)(std::string_view)) {
    if (n <= 0) return fail("a {} of {} makes no sense", what, n);
    bool found = false;
    for (BoundSymbol& s : binding_.symbols)
      if (named(s.name)) {
        s.value = n;
        s.assumed = false;
        found = true;
      }
    if (found) return {};
    for (const TensorId id : network_.main().inputs) {
      const Tensor& t = network_.tensor(id);
      // A batch needs something after it; a sequence is the second extent of token ids or embeddings.
      if (!t.has_shape || given_anew(id) || t.dims.count < 2 ||
          t.dims.count > (position == 0 ? kMaxInputRank : 3))
        continue;
      const auto dims = network_.dims_of(t);
      if (position == 0 && is_one_image(network_, t)) continue;
      if (dims[position].symbolic()) {
        set(dims[position], n);
      } else {
        std::vector<std::int64_t> shape;
        for (std::size_t i = 0; i < dims.size(); ++i)
          shape.push_back(i == position     ? n
                          : dims[i].exact() ? dims[i].value()
                                            : binding_.symbols[static_cast<std::size_t>(dims[i].id())].value);
        if (dims[position].value() != n) binding_.inputs.push_back({id, std::move(shape)});
      }
      found = true;
    }
    if (found || n == 1) return {};
    return fail("the model has no {} dimension (its named dimensions: {})", what, list_symbols());
  }

  static constexpr std::size_t kMaxInputRank = 16;
  const Network& network_;
  Binding binding_;
};

}  // namespace

// Names that exporters give; compared in lower case, as a whole or as the beginning of the name.
bool names_batch(std::string_view symbol) {
  const std::string s = lower_case(symbol);
  return s == "n" || s == "b" || s == "bs" || s.starts_with("batch") || s.ends_with("batch") ||
         s.ends_with("batch_size");
}

bool names_sequence(std::string_view symbol) {
  const std::string s = lower_case(symbol);
  return s == "s" || s == "t" || s == "l" || s.starts_with("seq") || s.ends_with("seq") ||
         s.ends_with("sequence") || s.ends_with("seq_len") || s.ends_with("sequence_length") ||
         s.starts_with("length") || s.starts_with("time");
}

bool is_one_image(const Network& network, const Tensor& input) {
  constexpr std::int64_t kMostChannels = 4;
  if (!input.has_shape || input.dims.count != 3) return false;
  const Dim first = network.dims_of(input)[0];
  return first.exact() && first.value() <= kMostChannels;
}

std::optional<PositionTable> smallest_position_table(const Network& network) {
  std::optional<PositionTable> out;
  for (const Operator& op : network.main().operators) {
    const std::optional<std::size_t> axis = computed_cut(network, op);
    if (!axis) continue;
    const TensorId id = network.inputs(op)[0];
    const Tensor& table = network.tensor(id);
    if ((table.role != Role::parameter && table.role != Role::buffer) || !table.has_shape) continue;
    if (*axis >= table.dims.count || !network.dims_of(table)[*axis].exact()) continue;
    const std::int64_t rows = network.dims_of(table)[*axis].value();
    if (!out || rows < out->rows) out = PositionTable{std::string(network.name_of(id)), rows};
  }
  return out;
}

Result<Binding> bind(const Network& network, const BindingRequest& request) {
  Binder binder(network);
  // The most particular wish wins: batch and sequence first, then inputs, then extents by name.
  if (request.batch) PLIMSOLL_TRY(binder.batch(*request.batch));
  if (request.sequence) PLIMSOLL_TRY(binder.sequence(*request.sequence));
  PLIMSOLL_TRY(binder.input_shapes(request));
  PLIMSOLL_TRY(binder.extents(request));
  const std::optional<PositionTable> table = smallest_position_table(network);
  binder.assume_sequence(table);
  if (table) PLIMSOLL_TRY(binder.check_sequence(*table, request));
  return std::move(binder).take();
}

}  // namespace plimsoll::network
