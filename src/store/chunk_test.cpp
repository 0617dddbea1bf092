#include "store/chunk.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace plimsoll::store {
namespace {

void expect_same_bits(const std::vector<Point>& wanted, const Result<std::vector<Point>>& got) {
  ASSERT_TRUE(got) << got.error().text();
  ASSERT_EQ(got->size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ((*got)[i].time, wanted[i].time) << i;
    EXPECT_EQ((*got)[i].step, wanted[i].step) << i;
    EXPECT_EQ(std::bit_cast<std::uint64_t>((*got)[i].value), std::bit_cast<std::uint64_t>(wanted[i].value))
        << i;
  }
}

/// A sampler's points: every 100 ms with some jitter.
std::vector<Point> samples(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<Point> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({1'700'000'000'000'000 + static_cast<Time>(i * 100'000 + random() % 300),
                   static_cast<std::int64_t>(i), 300.0 + static_cast<double>(random() % 4000) / 1000});
  return out;
}

TEST(Chunk, GivesBackWhatWasPutIn) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 63U, 64U, 65U, 1000U, 4096U})
    expect_same_bits(samples(count), decode_chunk(encode_chunk(samples(count))));
}

TEST(Chunk, KeepsExtremesAndEveryBitOfANotANumber) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(),
                 kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<Point> points = {{kLeast, kMost, std::bit_cast<double>(0x7FF0DEAD0000BEEFULL)},
                               {kMost, kLeast, std::bit_cast<double>(0xFFF8000000000001ULL)},
                               {0, 0, -0.0},
                               {kMost, kMost, std::numeric_limits<double>::infinity()},
                               {kLeast, kLeast, -std::numeric_limits<double>::infinity()},
                               {-1, -1, std::numeric_limits<double>::denorm_min()}};
  expect_same_bits(points, decode_chunk(encode_chunk(points)));
  for (int i = 0; i < 5; ++i) points.insert(points.end(), points.begin(), points.end());  // compressed too
  expect_same_bits(points, decode_chunk(encode_chunk(points)));
}

TEST(Chunk, KeepsRandomBits) {
  std::mt19937_64 random(11);
  std::vector<Point> points(500);
  for (Point& p : points)
    p = {static_cast<Time>(random()), static_cast<std::int64_t>(random()), std::bit_cast<double>(random())};
  expect_same_bits(points, decode_chunk(encode_chunk(points)));
}

TEST(Chunk, OfAConstantTakesNextToNothing) {
  std::vector<Point> points(kChunkPoints);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = {static_cast<Time>(i) * 1000, static_cast<std::int64_t>(i), 42.5};
  EXPECT_LT(encode_chunk(points).size(), 400U);  // 24 bytes a point would be 98,304
}

TEST(Chunk, CutAnywhereIsAnError) {
  for (const std::size_t count : {5U, 200U}) {
    const std::string whole = encode_chunk(samples(count));
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_FALSE(decode_chunk(std::string_view(whole).substr(0, length))) << length;
    EXPECT_FALSE(decode_chunk(whole + '\0'));
  }
}

TEST(Chunk, WithABitTurnedIsAnErrorOrTheSame) {
  const std::string whole = encode_chunk(samples(100));
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(static_cast<unsigned char>(damaged[bit / 8]) ^ (1U << (bit % 8)));
    // zlib's own checksum sees whatever counts in the compressed part; a few bits of it are padding.
    const Result<std::vector<Point>> got = decode_chunk(damaged);
    EXPECT_TRUE(!got || *got == samples(100)) << bit;
  }
}

TEST(Chunk, ThatClaimsMoreThanItHoldsIsRefusedBeforeMemoryIsTaken) {
  using namespace std::string_literals;
  EXPECT_FALSE(decode_chunk("\x01\x00\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s));  // 2^64 - 1 points
  EXPECT_FALSE(decode_chunk("\x01\x01\x01\xFF\xFF\xFF\xFF\x0F"s));                  // 4 GiB for one point
  EXPECT_FALSE(decode_chunk("\x02\x00\x00"s));                                      // of a later version
  EXPECT_FALSE(decode_chunk("\x01\x00\x80\x00"s));                                  // 0 in two bytes
  EXPECT_TRUE(decode_chunk("\x01\x00\x00"s));
}

}  // namespace
}  // namespace plimsoll::store
