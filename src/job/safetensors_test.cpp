#include "job/safetensors.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::job {
namespace {

using network::DataType;
using testing::HasSubstr;

std::vector<std::byte> file_with(std::string_view header, std::size_t data) {
  std::vector<std::byte> out(8 + header.size() + data);
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xff);
  for (std::size_t i = 0; i < header.size(); ++i) out[8 + i] = static_cast<std::byte>(header[i]);
  return out;
}

TEST(Safetensors, ArraysComeBackFromWhereTheyWereWritten) {
  const auto folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  const auto path = folder->path() / "w.safetensors";
  const std::vector<std::byte> six(24, std::byte{6}), one(1, std::byte{1});
  const std::vector<ArrayToStore> arrays = {{"a.weight", DataType::float32, {2, 3}, six},
                                            {"flag", DataType::boolean, {}, one},
                                            {"none", DataType::int64, {0, 5}, {}},
                                            {"b", DataType::bfloat16, {12}, six}};
  const Status written = write_safetensors(path, arrays);
  ASSERT_TRUE(written) << written.error().text();
  const auto read = read_safetensors(path);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), arrays.size());
  const auto contents = read_file(path, 1 << 20);
  ASSERT_TRUE(contents);
  for (const ArrayToStore& array : arrays) {
    const StoredArray& found = read->at(array.name);
    EXPECT_EQ(found.type, array.type);
    EXPECT_EQ(found.dims, array.dims);
    EXPECT_EQ(found.bytes, static_cast<std::int64_t>(array.bytes.size()));
    EXPECT_EQ(found.offset % 64, 0);
    for (std::size_t i = 0; i < array.bytes.size(); ++i)
      EXPECT_EQ(static_cast<std::byte>((*contents)[static_cast<std::size_t>(found.offset) + i]),
                array.bytes[i]);
  }
}

/// The format forbids holes between arrays, and its own reader refuses them.
TEST(Safetensors, TheDataHasNoHoles) {
  const auto folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  const auto path = folder->path() / "w.safetensors";
  const std::vector<std::byte> three(3, std::byte{3});
  const std::vector<ArrayToStore> arrays = {{"a", DataType::uint8, {3}, three},
                                            {"b", DataType::uint8, {3}, three}};
  ASSERT_TRUE(write_safetensors(path, arrays));
  const auto contents = read_file(path, 1 << 20);
  ASSERT_TRUE(contents);
  EXPECT_THAT(*contents, HasSubstr("\"data_offsets\":[3,64]"));
  EXPECT_EQ(contents->size() % 64, 3U);
}

TEST(Safetensors, WhatCannotBeStoredIsRefused) {
  const std::vector<std::byte> bytes(3);
  const auto attempt = [&bytes](std::string name, DataType type, std::vector<std::int64_t> dims) {
    const std::vector<ArrayToStore> arrays = {{std::move(name), type, std::move(dims), bytes}};
    return write_safetensors("/nonexistent/w", arrays).error().text();
  };
  EXPECT_THAT(attempt("a", DataType::string, {3}), HasSubstr("no type for string"));
  EXPECT_THAT(attempt("a", DataType::uint8, {4}), HasSubstr("3 bytes do not fit"));
  EXPECT_THAT(attempt("\xff", DataType::uint8, {3}), HasSubstr("not UTF-8"));
  EXPECT_THAT(attempt("a", DataType::uint8, {3}), HasSubstr("cannot create"));
}

TEST(Safetensors, MetadataIsPassedOver) {
  const auto arrays = read_safetensors_header(
      file_with(R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "I8", "shape": [],
                                            "data_offsets": [0, 1]}})",
                1));
  ASSERT_TRUE(arrays) << arrays.error().text();
  EXPECT_EQ(arrays->size(), 1U);
}

struct Bad {
  const char* header;
  const char* message;
};
class BadSafetensors : public testing::TestWithParam<Bad> {};

TEST_P(BadSafetensors, IsRefusedWithTheReason) {
  const auto arrays = read_safetensors_header(file_with(GetParam().header, 8));
  ASSERT_FALSE(arrays);
  EXPECT_THAT(arrays.error().text(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Headers, BadSafetensors,
    testing::Values(
        Bad{"[]", "not an object"}, Bad{"{", "not JSON"}, Bad{R"({"a": 1})", "'a': is not an object"},
        Bad{R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}})", "data_offsets"},
        Bad{R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})", "a begin and an end"},
        Bad{R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})", "do not hold"},
        Bad{R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})", "shape"},
        Bad{R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                "b": {"dtype": "U8", "shape": [4], "data_offsets": [3, 7]}})",
            "'a' and 'b' lie on each other"},
        Bad{R"({"a": {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]}})", "'F99'"},
        Bad{R"({"a": {"dtype": "U8", "shape": [4294967296, 4294967296, 4294967296], "data_offsets": [0, 0]}})",
            "do not hold"}));

TEST(Safetensors, AShortFileOrAnAbsurdLengthIsRefused) {
  const std::vector<std::byte> seven(7), claims(16, std::byte{0xff});
  EXPECT_THAT(read_safetensors_header(seven).error().text(), HasSubstr("too short"));
  EXPECT_THAT(read_safetensors_header(claims).error().text(), HasSubstr("header would be"));
  EXPECT_THAT(read_safetensors("/nonexistent/file").error().text(), HasSubstr("/nonexistent/file"));
}

}  // namespace
}  // namespace plimsoll::job
