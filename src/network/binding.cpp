#include "network/binding.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace plimsoll::network {
namespace {

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
      if (position == 0 && t.dims.count == 3 && dims[0].exact() && dims[0].value() <= 4)
        continue;  // CxHxW, no batch
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

Result<Binding> bind(const Network& network, const BindingRequest& request) {
  Binder binder(network);
  // The most particular wish wins: batch and sequence first, then inputs, then extents by name.
  if (request.batch) PLIMSOLL_TRY(binder.batch(*request.batch));
  if (request.sequence) PLIMSOLL_TRY(binder.sequence(*request.sequence));
  PLIMSOLL_TRY(binder.input_shapes(request));
  PLIMSOLL_TRY(binder.extents(request));
  return std::move(binder).take();
}

}  // namespace plimsoll::network
