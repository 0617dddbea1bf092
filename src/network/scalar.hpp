#pragma once
#include <bit>
#include <cstdint>
#include <optional>

#include "network/symbols.hpp"

namespace plimsoll::network {

/// One element of a small tensor whose contents are known: an integer (booleans are 0 and 1), a real, or
/// a symbol where it is an extent that is not known exactly. Shape arithmetic is done on these.
class Scalar {
 public:
  constexpr Scalar() = default;
  static constexpr Scalar integer(std::int64_t n) { return Scalar(Kind::integer, n); }
  static constexpr Scalar real(double x) { return Scalar(Kind::real, std::bit_cast<std::int64_t>(x)); }
  static constexpr Scalar extent(Dim d) {
    return d.symbolic() ? Scalar(Kind::symbol, static_cast<std::int64_t>(d.id()))
                        : integer(d.exact() ? d.value() : 0);
  }

  [[nodiscard]] constexpr bool is_integer() const { return kind_ == Kind::integer; }
  [[nodiscard]] constexpr bool is_real() const { return kind_ == Kind::real; }
  [[nodiscard]] constexpr bool is_symbol() const { return kind_ == Kind::symbol; }
  [[nodiscard]] constexpr std::int64_t integer() const { return bits_; }  ///< only where is_integer()
  [[nodiscard]] constexpr double real() const {
    return kind_ == Kind::real ? std::bit_cast<double>(bits_) : static_cast<double>(bits_);
  }
  /// The scalar as an extent: exact, symbolic, or invalid for a negative or real one.
  [[nodiscard]] constexpr Dim dim() const {
    if (kind_ == Kind::symbol) return Dim::symbol(static_cast<SymbolId>(bits_));
    return kind_ == Kind::integer ? Dim::of(bits_) : Dim::invalid();
  }
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) {
    if (a.kind_ != b.kind_) return false;
    if (a.kind_ != Kind::real) return a.bits_ == b.bits_;
    const double x = a.real(), y = b.real();
    return x == y || (x != x && y != y);
  }

 private:
  enum class Kind : std::uint8_t { integer, real, symbol };
  constexpr Scalar(Kind kind, std::int64_t bits) : kind_(kind), bits_(bits) {}
  Kind kind_ = Kind::integer;
  std::int64_t bits_ = 0;  // of the integer, the real, or the symbol's id
};

/// Longest tensor whose contents are kept; shapes, pads, axes and split sizes are all far shorter.
inline constexpr std::size_t kMaxValueElements = 256;

}  // namespace plimsoll::network
