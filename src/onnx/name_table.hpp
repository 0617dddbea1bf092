#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "network/network.hpp"

namespace plimsoll::onnx {

/// Keyed by a number drawn once per process, so that a file cannot be made whose names all collide.
[[nodiscard]] std::uint64_t hash_name(std::string_view name);

/// The tensors of one scope by name. Names are views into the file and are not copied. Open addressing with
/// linear probing; nothing is ever removed but all of it.
class NameTable {
 public:
  struct Item {
    std::string_view name;
    network::TensorId tensor;
  };

  [[nodiscard]] Item* find(std::string_view name, std::uint64_t hash) {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot slot = slots_[i];
      if (slot.item == 0) return nullptr;
      if (slot.hash == static_cast<std::uint32_t>(hash) && items_[slot.item - 1].name == name)
        return &items_[slot.item - 1];
    }
  }

  /// The name must not be there yet.
  void insert(std::string_view name, std::uint64_t hash, network::TensorId tensor) {
    if ((items_.size() + 1) * 2 > slots_.size()) grow(items_.size() + 1);
    items_.push_back({name, tensor});
    place({static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(items_.size())});
  }

  /// Makes room for `names` in all; names that truly are in the file, not a number it claims.
  void reserve(std::size_t names) {
    items_.reserve(names);
    if (names * 2 > slots_.size()) grow(names);
  }

  [[nodiscard]] const std::vector<Item>& items() const { return items_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;  // its low half, enough to place the slot anew when the table grows
    std::uint32_t item = 0;  // index + 1; 0 where free
  };

  void place(Slot slot) {
    std::size_t i = slot.hash & mask_;
    while (slots_[i].item != 0) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
  void grow(std::size_t names);

  std::vector<Slot> slots_;
  std::vector<Item> items_;
  std::size_t mask_ = 0;
};

}  // namespace plimsoll::onnx
