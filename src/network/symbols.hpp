#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plimsoll::network {

/// Index of a Symbol in a Symbols table.
enum class SymbolId : std::uint32_t {};

/// One extent of a tensor: an exact number, a symbol (a name in a Symbols table), or invalid, which is
/// what arithmetic gives where the result would be negative or beyond 2^63: whoever stores a shape
/// refuses it with a message. Eight bytes, compared with ==.
class Dim {
 public:
  constexpr Dim() = default;
  static constexpr Dim of(std::int64_t n) { return Dim(n >= 0 ? n : kInvalid); }
  static constexpr Dim symbol(SymbolId id) { return Dim(-1 - static_cast<std::int64_t>(id)); }
  static constexpr Dim invalid() { return Dim(kInvalid); }

  [[nodiscard]] constexpr bool exact() const { return code_ >= 0; }
  [[nodiscard]] constexpr bool valid() const { return code_ != kInvalid; }
  [[nodiscard]] constexpr bool symbolic() const { return code_ < 0 && code_ != kInvalid; }
  [[nodiscard]] constexpr std::int64_t value() const { return code_; }  ///< only where exact()
  [[nodiscard]] constexpr SymbolId id() const {
    return static_cast<SymbolId>(-1 - code_);
  }  ///< only where symbolic()
  [[nodiscard]] constexpr bool is(std::int64_t n) const { return code_ == n && n >= 0; }
  friend constexpr bool operator==(Dim, Dim) = default;

 private:
  static constexpr std::int64_t kInvalid = std::numeric_limits<std::int64_t>::min();
  explicit constexpr Dim(std::int64_t code) : code_(code) {}
  std::int64_t code_ = 0;
};

inline constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

/// Both ends included; `high == kUnbounded` where no bound is known.
struct Interval {
  std::int64_t low = 0;
  std::int64_t high = kUnbounded;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// A named extent: declared by the model and not yet bound, found to depend on the data (NonZero's rows),
/// or computed from such a one.
struct Symbol {
  enum class Origin : std::uint8_t { declared, data, derived };
  std::string name;
  Interval bounds;
  Origin origin = Origin::declared;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

/// The names of extents and the arithmetic over them. Equal expressions over equal operands give the
/// same symbol, so that shapes that must agree compare equal. Bounds follow by interval arithmetic.
class Symbols {
 public:
  SymbolId add(Symbol symbol);
  [[nodiscard]] const Symbol& at(SymbolId id) const { return symbols_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::size_t size() const { return symbols_.size(); }
  [[nodiscard]] Interval bounds(Dim d) const;
  [[nodiscard]] std::string text(Dim d) const;  ///< "128", "batch", "invalid"

  /// A new symbol for an extent that depends on the data, at most `high`.
  Dim data_dependent(std::string_view name, Interval bounds);

  Dim plus(Dim a, Dim b);
  Dim minus(Dim a, Dim b);  ///< invalid where exact and negative; a symbol's low end stops at 0
  Dim times(Dim a, Dim b);
  Dim divide(Dim a, Dim b);  ///< rounded down; invalid for an exact zero divisor
  Dim divide_up(Dim a, Dim b);
  Dim minimum(Dim a, Dim b);
  Dim maximum(Dim a, Dim b);

  friend bool operator==(const Symbols& a, const Symbols& b) { return a.symbols_ == b.symbols_; }

 private:
  enum class Operation : std::uint8_t;
  struct Key {
    Dim a, b;
    Operation operation;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const noexcept;
  };
  Dim derive(Operation operation, Dim a, Dim b, Interval bounds);

  std::vector<Symbol> symbols_;
  std::unordered_map<Key, SymbolId, KeyHash> derived_;
};

}  // namespace plimsoll::network
