#include "base/random_text.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(RandomHex, IsAnotherEachTime) {
  const Result<std::string> one = random_hex(16), two = random_hex(16);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->size(), 32U);
  EXPECT_EQ(one->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(random_hex(0), "");
}

}  // namespace
}  // namespace plimsoll
