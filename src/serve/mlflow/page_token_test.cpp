#include "serve/mlflow/page_token.hpp"

#include <gtest/gtest.h>

namespace plimsoll::serve::mlflow {
namespace {

TEST(PageToken, IsMlflowsOwn) {
  EXPECT_EQ(page_token(4), "eyJvZmZzZXQiOiA0fQ==");
}

TEST(PageToken, ComesBack) {
  for (const std::size_t offset : {1UL, 25UL, 1000UL, 123'456'789UL})
    EXPECT_EQ(offset_of(page_token(offset)), offset);
  EXPECT_EQ(offset_of(""), 0U);
}

TEST(PageToken, WhatIsNoneIsRefused) {
  for (const char* token :
       {"invalid_token", "====", "eyJvZmZzZXQiOiA0fQ", "e30=", "eyJvZmZzZXQiOiAtNH0=", "AAAA", "%%%%"})
    EXPECT_FALSE(offset_of(token)) << token;
  EXPECT_FALSE(offset_of(std::string(1000, 'A')));
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
