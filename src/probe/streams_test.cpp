#include "probe/streams.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "probe/mapped_array.hpp"

namespace plimsoll::probe {
namespace {

/// With a tail that fills no line, and none.
class Streams : public ::testing::TestWithParam<std::tuple<Stores, std::int64_t>> {
 protected:
  Streams() : a_(*Floats::map(size() + 1)), b_(*Floats::map(size() + 1)), out_(*Floats::map(size() + 1)) {
    fill_addends(a_.data(), b_.data(), 5, size());
    out_.data()[size()] = 42;  // beyond the end
  }
  ~Streams() override { EXPECT_EQ(out_.data()[size()], 42); }
  static Stores stores() { return std::get<0>(GetParam()); }
  static std::int64_t size() { return std::get<1>(GetParam()); }
  Floats a_, b_, out_;
};

TEST_P(Streams, SumIsRightAndAWrongElementIsSeen) {
  add(out_.data(), a_.data(), b_.data(), size(), stores());
  EXPECT_EQ(wrong_sums(out_.data(), 5, size()), 0);
  for (const std::int64_t at : {std::int64_t{0}, size() / 2, size() - 1}) {
    const float kept = out_.data()[at];
    out_.data()[at] = std::nextafter(kept, 1e9F);
    EXPECT_EQ(wrong_sums(out_.data(), 5, size()), 1);
    out_.data()[at] = NAN;
    EXPECT_EQ(wrong_sums(out_.data(), 5, size()), 1);
    out_.data()[at] = kept;
  }
}

TEST_P(Streams, EveryElementIsWrittenCopiedAndComputed) {
  write(out_.data(), 7, size(), stores());
  for (std::int64_t i = 0; i < size(); ++i) ASSERT_EQ(out_.data()[i], 7);
  copy(out_.data(), a_.data(), size(), stores());
  for (std::int64_t i = 0; i < size(); ++i) ASSERT_EQ(out_.data()[i], a_.data()[i]);
  triad(out_.data(), a_.data(), b_.data(), 2, size(), stores());
  for (std::int64_t i = 0; i < size(); ++i) ASSERT_EQ(out_.data()[i], a_.data()[i] + 2 * b_.data()[i]);
}

TEST_P(Streams, ReadingSeesEveryElement) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < size(); ++i) sum += std::bit_cast<std::uint32_t>(a_.data()[i]);
  EXPECT_EQ(read(a_.data(), size()), sum);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Streams,
                         ::testing::Combine(::testing::Values(Stores::cached, Stores::streamed),
                                            ::testing::Values<std::int64_t>(1, 15, 16, 63, 64, 1000, 4096)));

}  // namespace
}  // namespace plimsoll::probe
