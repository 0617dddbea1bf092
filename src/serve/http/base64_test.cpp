#include "serve/http/base64.hpp"

#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

TEST(Base64, ThereAndBack) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64_decode("Zg=="), "f");
  EXPECT_EQ(base64_decode("Zg"), "f");
  EXPECT_EQ(base64_decode("+/8="), "\xfb\xff");
  std::string all;
  for (int i = 0; i < 1000; ++i) all += static_cast<char>(i * 7);
  EXPECT_EQ(base64_decode(base64_encode(all)), all);
}

TEST(Base64, OtherTextIsNone) {
  for (const char* text : {"Z!", "Zg=x", "a b", "-_"}) EXPECT_EQ(base64_decode(text), std::nullopt) << text;
}

}  // namespace
}  // namespace plimsoll::serve
