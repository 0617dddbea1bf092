#include "store/summary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace plimsoll::store {
namespace {

constexpr std::size_t kNumbers = 12;

std::array<std::uint64_t, kNumbers> words_of(const Block& b) {
  const auto bits = [](auto value) { return std::bit_cast<std::uint64_t>(value); };
  return {bits(b.first),   bits(b.last),         bits(b.first_step),   bits(b.last_step),
          bits(b.minimum), bits(b.maximum),      bits(b.sum),          bits(b.points),
          bits(b.numbers), bits(b.opening.time), bits(b.opening.step), bits(b.opening.value)};
}

Block block_from(const std::array<std::uint64_t, kNumbers>& words) {
  const auto integer = [&](std::size_t i) { return std::bit_cast<std::int64_t>(words[i]); };
  const auto real = [&](std::size_t i) { return std::bit_cast<double>(words[i]); };
  return {integer(0), integer(1), integer(2), integer(3), real(4),
          real(5),    real(6),    integer(7), integer(8), {integer(9), integer(10), real(11)}};
}

}  // namespace

void add(Block& block, const Point& p) {
  if (block.points == 0) block.opening = p;
  block.first = std::min(block.first, p.time);
  block.last = std::max(block.last, p.time);
  block.first_step = std::min(block.first_step, p.step);
  block.last_step = std::max(block.last_step, p.step);
  ++block.points;
  if (std::isnan(p.value)) return;
  block.minimum = std::min(block.minimum, p.value);
  block.maximum = std::max(block.maximum, p.value);
  block.sum += p.value;
  ++block.numbers;
}

void add(Block& block, const Block& other) {
  if (block.points == 0) block.opening = other.opening;
  block.first = std::min(block.first, other.first);
  block.last = std::max(block.last, other.last);
  block.first_step = std::min(block.first_step, other.first_step);
  block.last_step = std::max(block.last_step, other.last_step);
  block.points += other.points;
  if (other.numbers == 0) return;
  block.minimum = std::min(block.minimum, other.minimum);
  block.maximum = std::max(block.maximum, other.maximum);
  block.sum += other.sum;
  block.numbers += other.numbers;
}

Span span_of(const Block& b) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const bool any = b.numbers > 0;
  return {.first = b.first,
          .last = b.last,
          .first_step = b.first_step,
          .last_step = b.last_step,
          .minimum = any ? b.minimum : kUnknown,
          .maximum = any ? b.maximum : kUnknown,
          .mean = any ? b.sum / static_cast<double>(b.numbers) : kUnknown,
          .points = b.points};
}

std::vector<Block> blocks_of(std::span<const Point> points) {
  std::vector<Block> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i % kBlockPoints == 0) out.emplace_back();
    add(out.back(), points[i]);
  }
  return out;
}

std::string encode_blocks(std::span<const Block> blocks) {
  std::string out;
  out.reserve(blocks.size() * kNumbers * 8);
  for (const Block& block : blocks)
    for (const std::uint64_t word : words_of(block))
      for (unsigned i = 0; i < 64; i += 8) out += static_cast<char>((word >> i) & 0xFFU);
  return out;
}

Result<std::vector<Block>> decode_blocks(std::string_view bytes) {
  constexpr std::size_t kBytes = kNumbers * 8;
  if (bytes.size() % kBytes != 0) return fail("the store is damaged: a summary has {} bytes", bytes.size());
  std::vector<Block> out;
  for (; !bytes.empty(); bytes.remove_prefix(kBytes)) {
    std::array<std::uint64_t, kNumbers> words{};
    for (std::size_t i = 0; i < kBytes; ++i)
      words[i / 8] |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (i % 8 * 8);
    out.push_back(block_from(words));
    const Block& b = out.back();
    if (b.points < 1 || b.numbers < 0 || b.numbers > b.points || b.first > b.last)
      return fail("the store is damaged: a summary contradicts itself");
  }
  return out;
}

}  // namespace plimsoll::store
