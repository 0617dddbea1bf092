#include "network/setting.hpp"

#include <gtest/gtest.h>

namespace plimsoll::network {
namespace {

template <class Enum>
void expect_names_are_read(int enumerators, std::optional<Enum> (*named)(std::string_view)) {
  for (int i = 0; i < enumerators; ++i)
    EXPECT_EQ(named(name(static_cast<Enum>(i))), static_cast<Enum>(i)) << name(static_cast<Enum>(i));
}

TEST(Setting, NamesAreThoseThatAreRead) {
  expect_names_are_read(2, mode_named);
  expect_names_are_read(8, precision_named);
  expect_names_are_read(4, optimizer_named);
  expect_names_are_read(3, loss_named);
  expect_names_are_read(3, in_place_named);
}

TEST(Setting, NamesAreThoseOfTheCommandLine) {
  EXPECT_EQ(loss_named("cross-entropy"), Loss::cross_entropy);
  EXPECT_EQ(in_place_named("auto"), InPlace::automatic);
  EXPECT_EQ(precision_named("amp-bf16"), Precision::amp_bf16);
  EXPECT_EQ(loss_named("hinge"), std::nullopt);
  EXPECT_EQ(in_place_named(""), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::network
