#include "onnx/name_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <utility>

namespace plimsoll::onnx {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t draw_seed() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32U ^ device();
}
// Drawn before main, since a guarded local would be looked at for every name.
const std::uint64_t kSeed = draw_seed();

template <class T>
std::uint64_t load(const char* at) {
  T word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

std::uint64_t hash_name(std::string_view name) {
  // After wyhash: multiply to 128 bits and fold, eight bytes at a time.
  constexpr std::uint64_t kOdd1 = 0xa0761d6478bd642fULL, kOdd2 = 0xe7037ed1a0b428dbULL;
  std::uint64_t h = kSeed ^ name.size();
  const char* at = name.data();
  std::size_t left = name.size();
  for (; left > 8; left -= 8, at += 8) h = mix(h ^ kOdd1, load<std::uint64_t>(at) ^ kOdd2);
  // The rest as two words that overlap, so that no loop runs over single bytes.
  std::uint64_t rest = 0;
  if (left >= 4)
    rest = load<std::uint32_t>(at) << 32U | load<std::uint32_t>(at + left - 4);
  else if (left > 0)
    rest = load<std::uint8_t>(at) << 16U | load<std::uint8_t>(at + left / 2) << 8U |
           load<std::uint8_t>(at + left - 1);
  return mix(h ^ kOdd2, rest ^ kSeed ^ kOdd1);
}

void NameTable::grow(std::size_t names) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(16, names * 2));
  const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(size));
  mask_ = size - 1;
  for (const Slot slot : before)
    if (slot.item != 0) place(slot);
}

}  // namespace plimsoll::onnx
