#include "network/symbols.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::network {

enum class Symbols::Operation : std::uint8_t { plus, minus, times, divide, divide_up, minimum, maximum };

namespace {

// Bounds are never negative, so each of these saturates towards "no bound known".
std::int64_t add_up(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return a == kUnbounded || b == kUnbounded || __builtin_add_overflow(a, b, &sum) ? kUnbounded : sum;
}
std::int64_t multiply_up(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  std::int64_t product = 0;
  return a == kUnbounded || b == kUnbounded || __builtin_mul_overflow(a, b, &product) ? kUnbounded : product;
}
std::int64_t divide_up_exact(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0);
}

constexpr std::size_t kLongestName = 40;

}  // namespace

std::size_t Symbols::KeyHash::operator()(const Key& k) const noexcept {
  const auto code = [](Dim d) {
    return d.exact() ? static_cast<std::uint64_t>(d.value()) : ~static_cast<std::uint64_t>(d.id());
  };
  std::uint64_t h = code(k.a) * 0x9e3779b97f4a7c15ULL;
  h = (h ^ (h >> 29) ^ code(k.b)) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 32) ^ static_cast<std::uint64_t>(k.operation)) * 0x94d049bb133111ebULL;
  return static_cast<std::size_t>(h ^ (h >> 31));
}

SymbolId Symbols::add(Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  return static_cast<SymbolId>(symbols_.size() - 1);
}

Interval Symbols::bounds(Dim d) const {
  if (!d.valid()) return {};
  if (d.exact()) return {d.value(), d.value()};
  return at(d.id()).bounds;
}

std::string Symbols::text(Dim d) const {
  if (!d.valid()) return "invalid";
  return d.exact() ? fmt::format("{}", d.value()) : at(d.id()).name;
}

Dim Symbols::data_dependent(std::string_view name, Interval bounds) {
  return Dim::symbol(add({std::string(name), bounds, Symbol::Origin::data}));
}

Dim Symbols::derive(Operation operation, Dim a, Dim b, Interval bounds) {
  // An interval of one number is that number, except that "unbounded" is no number.
  if (bounds.low == bounds.high && bounds.high != kUnbounded) return Dim::of(bounds.low);
  const Key key{a, b, operation};
  if (const auto found = derived_.find(key); found != derived_.end()) return Dim::symbol(found->second);
  static constexpr std::string_view kForms[] = {"{} + {}",     "{} - {}",     "{}*{}",      "{}/{}",
                                                "ceil({}/{})", "min({}, {})", "max({}, {})"};
  std::string name = fmt::format(fmt::runtime(kForms[static_cast<std::size_t>(operation)]), text(a), text(b));
  // Long chains would otherwise grow names without end.
  if (name.size() > kLongestName) name = fmt::format("n{}", symbols_.size());
  const SymbolId id = add({std::move(name), bounds, Symbol::Origin::derived});
  derived_.emplace(key, id);
  return Dim::symbol(id);
}

Dim Symbols::plus(Dim a, Dim b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  if (a.exact() && b.exact()) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a.value(), b.value(), &sum) ? Dim::invalid() : Dim::of(sum);
  }
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  const Interval x = bounds(a), y = bounds(b);
  return derive(Operation::plus, a, b, {add_up(x.low, y.low), add_up(x.high, y.high)});
}

Dim Symbols::minus(Dim a, Dim b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  if (a.exact() && b.exact()) return Dim::of(a.value() - b.value());
  if (b.is(0)) return a;
  if (a == b) return Dim::of(0);
  const Interval x = bounds(a), y = bounds(b);
  const std::int64_t high = x.high == kUnbounded ? kUnbounded : std::max<std::int64_t>(0, x.high - y.low);
  const std::int64_t low = y.high == kUnbounded ? 0 : std::max<std::int64_t>(0, x.low - y.high);
  return derive(Operation::minus, a, b, {low, high});
}

Dim Symbols::times(Dim a, Dim b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  if (a.is(0) || b.is(0)) return Dim::of(0);
  if (a.exact() && b.exact()) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.value(), b.value(), &product) ? Dim::invalid() : Dim::of(product);
  }
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  const Interval x = bounds(a), y = bounds(b);
  return derive(Operation::times, a, b, {multiply_up(x.low, y.low), multiply_up(x.high, y.high)});
}

Dim Symbols::divide(Dim a, Dim b) {
  if (!a.valid() || !b.valid() || b.is(0)) return Dim::invalid();
  if (a.exact() && b.exact()) return Dim::of(a.value() / b.value());
  if (b.is(1)) return a;
  const Interval x = bounds(a), y = bounds(b);
  const std::int64_t most = std::max<std::int64_t>(1, y.low);
  const std::int64_t high = x.high == kUnbounded ? kUnbounded : x.high / most;
  const std::int64_t low = y.high == kUnbounded || y.high == 0 ? 0 : x.low / y.high;
  return derive(Operation::divide, a, b, {low, high});
}

Dim Symbols::divide_up(Dim a, Dim b) {
  if (!a.valid() || !b.valid() || b.is(0)) return Dim::invalid();
  if (a.exact() && b.exact()) return Dim::of(divide_up_exact(a.value(), b.value()));
  if (b.is(1)) return a;
  const Interval x = bounds(a), y = bounds(b);
  const std::int64_t most = std::max<std::int64_t>(1, y.low);
  const std::int64_t high = x.high == kUnbounded ? kUnbounded : divide_up_exact(x.high, most);
  const std::int64_t low = y.high == kUnbounded || y.high == 0 ? 0 : divide_up_exact(x.low, y.high);
  return derive(Operation::divide_up, a, b, {low, high});
}

Dim Symbols::minimum(Dim a, Dim b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  if (a == b) return a;
  const Interval x = bounds(a), y = bounds(b);
  if (x.high <= y.low) return a;
  if (y.high <= x.low) return b;
  return derive(Operation::minimum, a, b, {std::min(x.low, y.low), std::min(x.high, y.high)});
}

Dim Symbols::maximum(Dim a, Dim b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  if (a == b) return a;
  const Interval x = bounds(a), y = bounds(b);
  if (x.low >= y.high) return a;
  if (y.low >= x.high) return b;
  return derive(Operation::maximum, a, b, {std::max(x.low, y.low), std::max(x.high, y.high)});
}

}  // namespace plimsoll::network
