#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "network/symbols.hpp"

namespace plimsoll::network {

/// No framework makes tensors of a higher rank than this; a file that does is refused.
inline constexpr std::size_t kMaxRank = 16;

/// A shape under construction: at most kMaxRank extents, held inline. Pushing more marks it `overflowed`,
/// which whoever stores the shape refuses.
class Shape {
 public:
  Shape() {}  // not defaulted: the extents are left alone until they are pushed
  Shape(std::initializer_list<Dim> dims) : Shape(std::span<const Dim>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const Dim> dims) {
    for (const Dim d : dims) push_back(d);
  }
  Shape(const Shape& other) { *this = other; }
  Shape& operator=(const Shape& other) {
    rank_ = other.rank_;
    overflowed_ = other.overflowed_;
    for (std::size_t i = 0; i < rank_; ++i) std::construct_at(&dims_[i], other.dims_[i]);
    return *this;
  }

  void push_back(Dim d) {
    if (rank_ == kMaxRank) {
      overflowed_ = true;
      return;
    }
    std::construct_at(&dims_[rank_++], d);
  }
  void append(std::span<const Dim> dims) {
    for (const Dim d : dims) push_back(d);
  }
  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  Dim& operator[](std::size_t i) { return dims_[i]; }
  Dim operator[](std::size_t i) const { return dims_[i]; }
  [[nodiscard]] std::span<const Dim> dims() const { return {dims_, rank_}; }
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t i = 0; i < a.rank_; ++i)
      if (a.dims_[i] != b.dims_[i]) return false;
    return true;
  }

 private:
  // In a union, so that making a Shape does not fill all of them: only the first rank_ are there.
  union {
    Dim dims_[kMaxRank];
  };
  std::uint8_t rank_ = 0;
  bool overflowed_ = false;
};

}  // namespace plimsoll::network
