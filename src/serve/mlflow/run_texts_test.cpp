#include "serve/mlflow/run_texts.hpp"

#include <gtest/gtest.h>

namespace plimsoll::serve::mlflow {
namespace {

RunTexts::Text text(std::size_t bytes, char c = 'x') {
  return std::make_shared<const std::string>(bytes, c);
}

TEST(RunTexts, GivesARunInTheVersionThatItHasAlone) {
  RunTexts texts(100'000);
  EXPECT_EQ(texts.find("a", 1), nullptr);
  texts.keep("a", 1, text(10, 'o'));
  EXPECT_EQ(*texts.find("a", 1), std::string(10, 'o'));
  EXPECT_EQ(texts.find("a", 2), nullptr);
  EXPECT_EQ(texts.find("b", 1), nullptr);
  texts.keep("a", 2, text(10, 'n'));
  EXPECT_EQ(texts.find("a", 1), nullptr);
  EXPECT_EQ(*texts.find("a", 2), std::string(10, 'n'));
}

TEST(RunTexts, HoldsNoMoreThanItMayAndWhatWasAskedForLast) {
  constexpr std::size_t kMost = 100'000;
  RunTexts texts(kMost);
  for (int i = 0; i < 1000; ++i) {
    texts.keep(std::to_string(i), i, text(1000));
    EXPECT_NE(texts.find("0", 0), nullptr) << "asked for after " << i;
    EXPECT_LE(texts.bytes(), kMost);
  }
  EXPECT_NE(texts.find("999", 999), nullptr);
  EXPECT_EQ(texts.find("500", 500), nullptr);
  texts.keep("large", 1, text(kMost));
  EXPECT_EQ(texts.find("large", 1), nullptr);
  EXPECT_NE(texts.find("999", 999), nullptr);
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
