#include "plan/merge/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::plan::merge {
namespace {

Manifest example() {
  return {
      .weight_bytes = Bytes(1000),
      .trained = false,
      .models = {{"a/net.onnx", "net.onnx", Bytes(600)}, {"b.onnx", "b.onnx", Bytes(500)}},
      .shared = {{0, Bytes(64), {{0, "w"}, {1, "w"}}}, {64, Bytes(100), {{0, "v"}, {0, "\xff"}, {1, "v"}}}}};
}

std::string changed(std::string_view from, std::string_view to) {
  std::string text = write_manifest(example());
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(MergeManifest, ComesBackAsItWas) {
  const auto back = read_manifest(write_manifest(example()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, example());
  EXPECT_EQ(back->union_bytes().count(), 600 + 500 - 64 - 2 * 100);
}

struct Wrong {
  std::string_view from, to, message;
};
class WrongManifest : public testing::TestWithParam<Wrong> {};
TEST_P(WrongManifest, IsRefusedAndSaysWhere) {
  const auto read = read_manifest(changed(GetParam().from, GetParam().to));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), testing::HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    MergeManifest, WrongManifest,
    testing::Values(Wrong{R"("version":1)", R"("version":2)", "version"},
                    Wrong{R"("file":"net.onnx")", R"("file":"../net.onnx")", "plain name"},
                    Wrong{R"("file":"net.onnx")", R"("file":"/net.onnx")", "plain name"},
                    Wrong{R"("file":"net.onnx")", R"("file":"..")", "plain name"},
                    Wrong{R"("file":"weights.bin")", R"("file":"a/b")", "plain name"},
                    Wrong{R"("file":"net.onnx")", R"("file":"b.onnx")", "named twice"},
                    Wrong{R"("file":"net.onnx")", R"("file":"weights.bin")", "named twice"},
                    Wrong{R"("offset":64)", R"("offset":901)", "not in a file of 1000 bytes"},
                    Wrong{R"("offset":64)", R"("offset":9223372036854775807)", "not in a file of 1000 bytes"},
                    Wrong{R"("offset":64)", R"("offset":63)", "overlaps"},
                    Wrong{R"("offset":64)", R"("offset":-1)", "offset"},
                    Wrong{R"({"model":1,"name":"v"})", R"({"model":2,"name":"v"})", "model"},
                    Wrong{R"({"model":1,"name":"v"})", R"({"model":1,"name":"w"})", "named twice"}));

TEST(MergeManifest, NeedsTwoTensorsOfASet) {
  Manifest manifest = example();
  manifest.shared[0].tensors.pop_back();
  const auto read = read_manifest(write_manifest(manifest));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), testing::HasSubstr("fewer than two"));
}

}  // namespace
}  // namespace plimsoll::plan::merge
