#include <algorithm>

#include "network/rules/control.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/merging.hpp"

namespace plimsoll::network {
namespace {

// A body is inferred again while what it carries still changes shape. Loops within loops multiply these
// passes, so that beyond this height nothing is assumed about what is carried, and one pass is enough.
constexpr int kMaxPasses = 4;
constexpr int kMaxHeight = 3;

/// How many Loops stand within each other in a graph, counted up to `limit`.
int height(const Network& network, const Graph& graph, int limit) {
  int highest = 0;
  for (const Operator& op : graph.operators) {
    if (highest >= limit) break;
    for (const Attribute& a : network.attributes_of(op))
      if (a.kind == Attribute::Kind::graph) {
        const int own = network.type_of(op) == "Loop" ? 1 : 0;
        highest = std::max(
            highest, own + height(network, network.graph(static_cast<GraphId>(a.integer)), limit - own));
      }
  }
  return highest;
}

/// One value that goes from iteration to iteration. Extents that change on the way become unknowns; the
/// length of a sequence counts as one more extent, the last.
class Carried {
 public:
  explicit Carried(Inferred initial) : initial_(std::move(initial)) {
    initial_.has_value = false;
    state_ = initial_;
  }

  [[nodiscard]] const Inferred& state() const { return state_; }

  /// Makes the state cover what the body gave back; true where that took a change.
  bool widen(InferenceContext& c, const Inferred& out) {
    bool changed = false;
    if (state_.type == DataType::undefined && out.type != state_.type) {
      state_.type = out.type;
      changed = true;
    }
    if (state_.kind != out.kind && out.kind == ValueKind::sequence) {
      // The caller's sequence: only what the body makes of it shows that it is one.
      state_.kind = out.kind;
      state_.length = c.unknown("carried", {});
      extents_[kLength].open = unknown_at_first_ = true;
      changed = true;
    }
    if (state_.kind == ValueKind::sequence && out.kind == ValueKind::sequence) {
      if (initial_.kind == ValueKind::sequence && initial_.length.is(0) && !state_.ranked && out.ranked &&
          !elements_known_) {
        // An empty sequence says nothing about its elements; what is put in says it.
        state_.ranked = elements_known_ = changed = true;
        state_.shape = out.shape;
      }
      changed |= widen(c, state_.length, out.length, kLength);
    }
    if (!state_.ranked) return changed;
    if (!out.ranked || out.shape.rank() != state_.shape.rank()) {
      state_.ranked = false;
      return true;
    }
    for (std::size_t i = 0; i < out.shape.rank(); ++i) {
      Dim d = state_.shape[i];
      changed |= widen(c, d, out.shape[i], i);
      state_.shape[i] = d;
    }
    return changed;
  }

  /// Narrows the unknowns to what the fixed point shows about them; true where one became narrower.
  bool tighten(InferenceContext& c, const Inferred& out, std::int64_t trips) {
    bool changed = false;
    for (std::size_t i = 0; i <= kLength; ++i) {
      if (!extents_[i].open || !exists(i) || (i == kLength && unknown_at_first_)) continue;
      Extent& e = extents_[i];
      const Dim before = extent(state_, i), after = extent(out, i);
      const Interval from = c.symbols().bounds(extent(initial_, i)), to = c.symbols().bounds(after);
      Interval bounds{0, kUnbounded};
      // Equal expressions are equal symbols: this is a proof that every iteration adds as much.
      e.grows = e.step > 0 && c.symbols().plus(before, Dim::of(e.step)) == after;
      if (e.grows && trips != kUnbounded)
        bounds = {from.low, add(from.high, trips > 0 ? multiply(trips - 1, e.step) : 0)};
      else if (to.high != kUnbounded)
        bounds = {std::min(from.low, to.low), std::max(from.high, to.high)};
      else
        continue;
      if (bounds.high == kUnbounded) continue;
      set_extent(i, c.unknown("carried", bounds));
      changed = true;
    }
    return changed;
  }

  /// What remains after the last iteration, of which there are `trips`.
  [[nodiscard]] Inferred result(InferenceContext& c, const Inferred& out, Interval trips) const {
    Inferred final = state_;
    const auto bounds_of = [&c](Dim d) { return c.symbols().bounds(d); };
    for (std::size_t i = 0; i <= kLength; ++i) {
      if (!extents_[i].open || !exists(i)) continue;
      const Extent& e = extents_[i];
      const Interval from = i == kLength && unknown_at_first_ ? Interval{} : bounds_of(extent(initial_, i));
      const Interval to = bounds_of(extent(out, i));
      Interval bounds{trips.low > 0 ? to.low : std::min(from.low, to.low),
                      trips.low > 0 ? to.high : std::max(from.high, to.high)};
      if (e.grows && trips.high != kUnbounded)
        bounds = {add(from.low, multiply(trips.low, e.step)), add(from.high, multiply(trips.high, e.step))};
      const Dim d = bounds.low == bounds.high && bounds.high != kUnbounded ? Dim::of(bounds.low)
                                                                           : c.unknown("carried", bounds);
      if (i == kLength)
        final.length = d;
      else
        final.shape[i] = d;
    }
    return final;
  }

  /// Assumes nothing but the type.
  void forget(InferenceContext& c) {
    state_.ranked = false;
    if (state_.kind == ValueKind::sequence) set_extent(kLength, c.unknown("carried", {}));
    extents_[kLength] = {state_.kind == ValueKind::sequence, 0, false};
  }

 private:
  static constexpr std::size_t kLength = kMaxRank;
  struct Extent {
    bool open = false;      ///< it changes, and is an unknown in the state
    std::int64_t step = 0;  ///< by how much the first iteration made it larger, where that is exact
    bool grows = false;     ///< every iteration does
  };

  static std::int64_t add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return a == kUnbounded || b == kUnbounded || __builtin_add_overflow(a, b, &sum) ? kUnbounded : sum;
  }
  static std::int64_t multiply(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? kUnbounded : product;
  }
  [[nodiscard]] bool exists(std::size_t i) const {
    return i == kLength ? state_.kind == ValueKind::sequence : state_.ranked && i < state_.shape.rank();
  }
  [[nodiscard]] Dim extent(const Inferred& of, std::size_t i) const {
    if (i == kLength) return of.length;
    return of.ranked && i < of.shape.rank() ? of.shape[i] : state_.shape[i];
  }
  void set_extent(std::size_t i, Dim d) {
    if (i == kLength)
      state_.length = d;
    else
      state_.shape[i] = d;
  }
  bool widen(InferenceContext& c, Dim& state, Dim out, std::size_t i) {
    if (extents_[i].open || state == out) return false;
    extents_[i].open = true;
    if (state.exact() && out.exact() && out.value() > state.value())
      extents_[i].step = out.value() - state.value();
    state = c.unknown("carried", {});
    return true;
  }

  Inferred initial_, state_;
  bool elements_known_ = false;
  bool unknown_at_first_ = false;  // a sequence whose length nobody said
  Extent extents_[kMaxRank + 1];
};

/// How often the body runs, as far as the operator's inputs and the body's condition say.
struct Trips {
  Dim most = Dim::invalid();  ///< invalid: no limit is known
  bool all = false;           ///< runs that often; nothing ends it sooner

  [[nodiscard]] Interval bounds(const Symbols& symbols) const {
    if (!most.valid()) return {0, kUnbounded};
    const Interval b = symbols.bounds(most);
    return {all ? b.low : 0, b.high};
  }
  [[nodiscard]] Dim dim(InferenceContext& c) const {
    if (all && most.valid()) return most;
    const Interval b = bounds(c.symbols());
    return b.high == 0 ? Dim::of(0) : c.unknown("trips", b);
  }
};

/// The operator of one Loop, its body, and the values it carries.
class LoopRule {
 public:
  LoopRule(InferenceContext& c, GraphId id) : c_(c), id_(id), body_(c.network().graph(id)) {}

  Status check() const {
    const std::size_t carried = c_.inputs() - std::min<std::size_t>(2, c_.inputs());
    if (body_.inputs.size() != carried + 2)
      return fail("the body has {} inputs; it must have two and the {} that are carried", body_.inputs.size(),
                  carried);
    if (body_.outputs.size() < carried + 1)
      return fail("the body has {} outputs; it must have a condition and the {} that are carried",
                  body_.outputs.size(), carried);
    if (c_.outputs() + 1 > body_.outputs.size())
      return fail("has {} outputs, its body {}", c_.outputs(), body_.outputs.size());
    for (std::size_t i = 0; i < carried; ++i)
      if (!c_.has(i + 2)) return fail("input {} is missing", i + 2);
    return {};
  }

  Status infer() {
    for (std::size_t i = 2; i < c_.inputs(); ++i) carried_.emplace_back(c_.copy(i));
    const bool deep = height(c_.network(), body_, kMaxHeight) >= kMaxHeight;
    if (deep) {
      for (Carried& v : carried_) v.forget(c_);
      PLIMSOLL_TRY(pass());
      return finish();
    }
    bool changed = true;
    for (int i = 0; i < kMaxPasses && changed; ++i) {
      PLIMSOLL_TRY(pass());
      changed = false;
      for (std::size_t k = 0; k < carried_.size(); ++k)
        changed |= carried_[k].widen(c_, body_output(c_, body_, k + 1));
    }
    if (changed) {
      for (Carried& v : carried_) v.forget(c_);
      PLIMSOLL_TRY(pass());
      return finish();
    }
    const std::int64_t most = trips().bounds(c_.symbols()).high;
    for (std::size_t k = 0; k < carried_.size(); ++k)
      changed |= carried_[k].tighten(c_, body_output(c_, body_, k + 1), most);
    if (changed) PLIMSOLL_TRY(pass());
    return finish();
  }

 private:
  /// Infers the body once from the state that is carried now.
  Status pass() {
    set_scalar(body_.inputs[0], DataType::int64, std::nullopt);
    // An iteration begins only while the condition holds.
    set_scalar(body_.inputs[1], DataType::boolean, 1);
    for (std::size_t i = 0; i < carried_.size(); ++i)
      if (body_.inputs[i + 2] != kNoTensor) c_.set_tensor(body_.inputs[i + 2], carried_[i].state());
    return c_.infer_body(id_);
  }

  void set_scalar(TensorId id, DataType type, std::optional<std::int64_t> value) {
    if (id == kNoTensor) return;
    Inferred scalar;
    scalar.type = type;
    scalar.ranked = true;
    // Some bodies declare a vector of one instead.
    if (const Tensor& declared = c_.network().tensor(id); declared.has_shape && declared.dims.count == 1)
      scalar.shape.push_back(Dim::of(1));
    if (value) {
      scalar.has_value = true;
      scalar.value.push_back(Scalar::integer(*value));
    }
    c_.set_tensor(id, scalar);
  }

  /// After a pass: the body's own condition is known then.
  [[nodiscard]] Trips trips() const {
    Trips out;
    if (const auto limit = single(c_, 0); limit && !limit->is_real())
      out.most = limit->is_integer() ? Dim::of(std::max<std::int64_t>(0, limit->integer())) : limit->dim();
    out.all = true;
    if (!c_.has(1)) return out;  // no condition at all: the body's is not looked at
    const auto first = single(c_, 1);
    if (first && first->is_integer() && first->integer() == 0) out.most = Dim::of(0);
    const Inferred next = body_output(c_, body_, 0);
    const bool goes_on = next.has_value && next.value.size() == 1 && next.value[0].is_integer() &&
                         next.value[0].integer() != 0;
    const bool ends = next.has_value && !goes_on && next.value.size() == 1 && next.value[0].is_integer();
    out.all = first && first->is_integer() && (goes_on || first->integer() == 0);
    if (ends && (!out.most.valid() || c_.symbols().bounds(out.most).high > 1)) {
      const bool once = out.most.valid() && c_.symbols().bounds(out.most).low >= 1;
      out.all = first && (once || !c_.has(0));
      out.most = Dim::of(1);
    }
    return out;
  }

  Status finish() {
    const Trips made = trips();
    const Interval bounds = made.bounds(c_.symbols());
    const std::size_t carried = carried_.size();
    std::optional<Dim> count;
    for (std::size_t i = 0; i < c_.outputs(); ++i) {
      Inferred out = body_output(c_, body_, i + 1);
      out.has_value = false;
      if (i < carried) {
        c_.set(i, carried_[i].result(c_, out, bounds));
        continue;
      }
      if (!c_.wants(i)) continue;
      if (!count) count = made.dim(c_);
      Shape stacked{*count};
      stacked.append(out.shape.dims());
      if (out.ranked) out.shape = stacked;
      c_.set(i, std::move(out));
    }
    return {};
  }

  InferenceContext& c_;
  GraphId id_;
  const Graph& body_;
  std::vector<Carried> carried_;
};

}  // namespace

Status loop(InferenceContext& c) {
  const auto id = c.graph("body");
  if (!id) return fail("the body is missing");
  LoopRule rule(c, *id);
  PLIMSOLL_TRY(rule.check());
  return rule.infer();
}

}  // namespace plimsoll::network
