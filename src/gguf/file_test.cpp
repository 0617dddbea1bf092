#include "gguf/file.hpp"

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "gguf/parts.hpp"
#include "gguf/test_file.hpp"

namespace plimsoll::gguf::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ8_0 = 8, kQ4_K = 12;

Result<File> read_text(const std::string& bytes) {
  return read_bytes(std::as_bytes(std::span(bytes)));
}

TEST(GgufFile, ReadsMetadataAndTensorsWithTheirTrueBytes) {
  FileWriter w;
  w.text("general.architecture", "llama").whole("llama.block_count", 2).real("eps", 0.5F).flag("on", true);
  w.texts("tokens", std::vector<std::string>{"a", "bc", ""}).wholes("heads", {8, 4});
  w.tensor("a", {256, 3}, kQ4_K).tensor("b", {32}, kF32).tensor("c", {64, 2, 5}, kQ8_0).tensor("d", {}, kF16);
  const std::string bytes = w.bytes();
  const Result<File> file = read_text(bytes);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->version, 3U);
  EXPECT_EQ(file->alignment, 32);
  EXPECT_EQ(**file->metadata.text("general.architecture"), "llama");
  EXPECT_EQ(**file->metadata.whole("llama.block_count"), 2);
  EXPECT_EQ(**file->metadata.real("eps"), 0.5);
  EXPECT_TRUE(**file->metadata.flag("on"));
  EXPECT_EQ(**file->metadata.length("tokens"), 3);
  EXPECT_THAT(**file->metadata.wholes("heads", 10), ElementsAre(8, 4));
  EXPECT_THAT(**file->metadata.wholes("llama.block_count", 10), ElementsAre(2));
  EXPECT_FALSE(*file->metadata.whole("absent"));
  ASSERT_EQ(file->tensors.size(), 4U);
  EXPECT_EQ(file->tensors[0].bytes, 3 * 144);
  EXPECT_EQ(file->tensors[0].type->name, "Q4_K");
  EXPECT_EQ(file->tensors[1].bytes, 128);
  EXPECT_EQ(file->tensors[2].bytes, 20 * 34);
  EXPECT_THAT(file->tensors[2].extents(), ElementsAre(64, 2, 5));
  EXPECT_EQ(file->tensors[3].bytes, 2);
  EXPECT_EQ(file->find("c"), &file->tensors[2]);
  EXPECT_EQ(file->find("e"), nullptr);
}

TEST(GgufFile, MetadataOfAnotherKindAreErrorsThatNameThem) {
  FileWriter w;
  w.text("t", "x").whole("n", 1);
  w.pair("minus", ValueType::int32).number<std::int32_t>(-1);
  w.pair("huge", ValueType::uint64).number<std::uint64_t>(~std::uint64_t{0});
  w.wholes("list", {1, 2, 3});
  const std::string bytes = w.bytes();
  const Result<File> file = read_text(bytes);
  ASSERT_TRUE(file);
  EXPECT_THAT(file->metadata.whole("t").error().text(),
              HasSubstr("metadata 't': is a text, not a whole number"));
  EXPECT_FALSE(file->metadata.text("n"));
  EXPECT_FALSE(file->metadata.flag("n"));
  EXPECT_FALSE(file->metadata.real("t"));
  EXPECT_FALSE(file->metadata.length("n"));
  EXPECT_FALSE(file->metadata.whole("minus"));
  EXPECT_FALSE(file->metadata.whole("huge"));
  EXPECT_THAT(file->metadata.wholes("list", 2).error().text(), HasSubstr("more than 2"));
}

TEST(GgufFile, EveryNumberOfMetadataIsReadInItsWidth) {
  FileWriter w;
  w.pair("u8", ValueType::uint8).number<std::uint8_t>(200);
  w.pair("i8", ValueType::int8).number<std::int8_t>(7);
  w.pair("u16", ValueType::uint16).number<std::uint16_t>(60000);
  w.pair("i16", ValueType::int16).number<std::int16_t>(9);
  w.pair("i32", ValueType::int32).number<std::int32_t>(11);
  w.pair("u64", ValueType::uint64).number<std::uint64_t>(1ULL << 40U);
  w.pair("i64", ValueType::int64).number<std::int64_t>(13);
  w.pair("f64", ValueType::float64).number<double>(0.25);
  w.pair("nested", ValueType::array)
      .type(ValueType::array)
      .number<std::uint64_t>(2)
      .type(ValueType::uint8)
      .number<std::uint64_t>(1)
      .number<std::uint8_t>(1)
      .type(ValueType::text)
      .number<std::uint64_t>(1)
      .text("x");
  w.whole("after", 5);
  const std::string bytes = w.bytes();
  const Result<File> file = read_text(bytes);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(**file->metadata.whole("u8"), 200);
  EXPECT_EQ(**file->metadata.whole("i8"), 7);
  EXPECT_EQ(**file->metadata.whole("u16"), 60000);
  EXPECT_EQ(**file->metadata.whole("i16"), 9);
  EXPECT_EQ(**file->metadata.whole("i32"), 11);
  EXPECT_EQ(**file->metadata.whole("u64"), std::int64_t{1} << 40);
  EXPECT_EQ(**file->metadata.whole("i64"), 13);
  EXPECT_EQ(**file->metadata.real("f64"), 0.25);
  EXPECT_EQ(**file->metadata.length("nested"), 2);
  EXPECT_EQ(**file->metadata.whole("after"), 5);
}

TEST(GgufFile, AlignmentIsThatOfTheFile) {
  FileWriter w;
  w.alignment = 64;
  w.whole("general.alignment", 64).tensor("a", {1}, kF32).tensor("b", {1}, kF32);
  const std::string bytes = w.bytes();
  const Result<File> file = read_text(bytes);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->tensors[1].offset, 64);
}

struct BadFile {
  std::string what;
  std::string bytes;
  std::string message;
};

std::vector<BadFile> bad_files() {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const auto make = [](auto&& fill) {
    FileWriter w;
    fill(w);
    return w.bytes();
  };
  const auto placed = [](std::int64_t offset, std::int64_t data) {
    const std::int64_t dims[] = {32};
    return FileWriter().tensor_at("a", dims, kF32, offset).data(data).bytes();
  };
  return {
      {"empty", "", "is not a GGUF file"},
      {"other", "PK\x03\x04 something else", "is not a GGUF file"},
      {"only magic", "GGUF", "version 0"},
      {"version 1", make([](FileWriter& w) { w.version = 1; }), "version 1"},
      {"version 4", make([](FileWriter& w) { w.version = 4; }), "version 4"},
      {"big endian", make([](FileWriter& w) { w.version = 3U << 24U; }), "big-endian"},
      {"cut header", make([](FileWriter&) {}).substr(0, 12), "cut short"},
      {"many tensors", make([](FileWriter& w) { w.more_tensors = ~std::uint64_t{0}; }), "too many"},
      {"more tensors", make([](FileWriter& w) { w.more_tensors = 1; }), "tensor whose name has 0 bytes"},
      {"many pairs", make([](FileWriter& w) { w.more_pairs = 1ULL << 60U; }), "too many"},
      {"more pairs", make([](FileWriter& w) { w.more_pairs = 5; }), "key of 0 bytes"},
      {"long key", make([](FileWriter& w) { w.text(std::string(70000, 'k'), "x"); }), "key of 70000"},
      {"value type", make([](FileWriter& w) { w.pair("k", static_cast<ValueType>(13)); }), "type 13"},
      {"long text", make([](FileWriter& w) { w.pair("k", ValueType::text).number<std::uint64_t>(kHuge); }),
       "metadata 'k': ends too early"},
      {"long array", make([](FileWriter& w) {
         w.pair("k", ValueType::array).type(ValueType::uint64).number<std::uint64_t>(1ULL << 61U);
       }),
       "metadata 'k': ends too early"},
      {"long list of texts", make([](FileWriter& w) {
         w.pair("k", ValueType::array).type(ValueType::text).number<std::uint64_t>(1ULL << 61U);
       }),
       "metadata 'k': ends too early"},
      {"deep arrays", make([](FileWriter& w) {
         Writer& value = w.pair("k", ValueType::array);
         for (int i = 0; i < 100; ++i) value.type(ValueType::array).number<std::uint64_t>(1);
       }),
       "more than 4 deep"},
      {"twice", make([](FileWriter& w) { w.whole("k", 1).whole("k", 1); }), "metadata 'k': stands twice"},
      {"alignment", make([](FileWriter& w) { w.whole("general.alignment", 48); }), "48 is no power of two"},
      {"alignment 0", make([](FileWriter& w) { w.whole("general.alignment", 0); }), "0 is no power of two"},
      {"alignment type", make([](FileWriter& w) { w.text("general.alignment", "32"); }), "is a text"},
      {"long name", make([](FileWriter& w) { w.tensor(std::string(300, 'n'), {1}, kF32); }), "300 bytes"},
      {"rank", make([](FileWriter& w) { w.tensor("a", {1, 1, 1, 1, 1}, kF32); }), "has 5 extents"},
      {"type", make([](FileWriter& w) { w.tensor("a", {1}, 1000); }), "is of type 1000"},
      {"removed type", make([](FileWriter& w) { w.tensor("a", {1}, 31); }), "Q4_0_4_4"},
      {"negative", make([](FileWriter& w) { w.tensor("a", {-1}, kF32).data(0); }), "63 bits"},
      {"overflow", make([](FileWriter& w) {
         const std::int64_t dims[] = {std::int64_t{1} << 32, std::int64_t{1} << 32};
         w.tensor_at("a", dims, kF32, 0);
       }),
       "63 bits"},
      {"bytes overflow", make([](FileWriter& w) {
         const std::int64_t dims[] = {std::int64_t{1} << 31, std::int64_t{1} << 31};
         w.tensor_at("a", dims, kF32, 0);
       }),
       "2^63"},
      {"half a block", make([](FileWriter& w) { w.tensor("a", {255, 256}, kQ4_K).data(0); }),
       "not whole blocks of Q4_K (256 each)"},
      {"offset", placed(7, 256), "not a multiple of 32"},
      {"negative offset", placed(-32, 256), "not a multiple of 32"},
      {"beyond", placed(std::int64_t{1} << 62, 256), "ends beyond the file"},
      {"cut data", placed(0, 127), "ends beyond the file: 128 bytes at 0, where there are 127"},
      {"overlap", make([](FileWriter& w) {
         const std::int64_t dims[] = {32};
         w.tensor_at("a", dims, kF32, 96).tensor_at("b", dims, kF32, 0).data(1024);
       }),
       "'b' and 'a' lie on each other"},
      {"same place", make([](FileWriter& w) {
         const std::int64_t dims[] = {32};
         w.tensor_at("a", dims, kF32, 0).tensor_at("b", dims, kF32, 0).data(1024);
       }),
       "lie on each other"},
      {"same name", make([](FileWriter& w) { w.tensor("a", {1}, kF32).tensor("a", {1}, kF32); }),
       "tensor 'a': stands twice"},
  };
}

TEST(GgufFile, BadFilesGiveClearErrors) {
  for (const BadFile& bad : bad_files()) {
    const Result<File> file = read_text(bad.bytes);
    ASSERT_FALSE(file) << bad.what;
    EXPECT_THAT(file.error().text(), HasSubstr(bad.message)) << bad.what;
  }
}

/// A file of that length whose first pair is an array of `count` items of that type; all else is a hole.
Result<File> read_sparse(ValueType items, std::uint64_t count, std::uintmax_t length) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make();
  EXPECT_TRUE(folder);
  FileWriter w;
  w.pair("k", ValueType::array).type(items).number<std::uint64_t>(count);
  const std::filesystem::path path = folder->path() / "sparse.gguf";
  std::ofstream(path, std::ios::binary) << w.bytes();
  std::filesystem::resize_file(path, length);
  return read(path);
}

TEST(GgufFile, ASparseFileIsNotReadToItsEnd) {
  constexpr std::uintmax_t kLength = std::uintmax_t{32} << 30;
  const auto refusal = [](ValueType items, std::uint64_t count) {
    const Result<File> file = read_sparse(items, count, kLength);
    return file ? "read" : file.error().text();
  };
  EXPECT_THAT(refusal(ValueType::text, 1ULL << 31U),
              HasSubstr("metadata 'k': is a list of 2147483648 items"));
  EXPECT_THAT(refusal(ValueType::array, 1ULL << 31U), HasSubstr("items; 16777216 are too many"));
  EXPECT_THAT(refusal(ValueType::uint8, 1ULL << 31U), HasSubstr("beyond the first 1073741824 bytes"));
  EXPECT_THAT(refusal(ValueType::text, 1ULL << 60U), HasSubstr("ends too early"));
}

std::string small_file() {
  FileWriter w;
  w.text("general.architecture", "llama").texts("tokens", std::vector<std::string>{"a", "b"});
  return w.tensor("a", {256, 3}, kQ4_K).tensor("b", {32}, kF32).bytes();
}

TEST(GgufFile, AnyPrefixAndAnyFlippedByteIsReadOrRefused) {
  const std::string good = small_file();
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(read_text(good.substr(0, n))) << n;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 2; ++flips) bytes[random() % 256] = static_cast<char>(random());
    const Result<File> file = read_text(bytes);
    EXPECT_TRUE(file || !file.error().text().empty());
  }
}

class SplitFile : public testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryDirectory> made = TemporaryDirectory::make();
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
  }
  [[nodiscard]] std::filesystem::path put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_->path() / name, std::ios::binary) << bytes;
    return folder_->path() / name;
  }
  static std::string part(std::uint16_t number, std::uint16_t count, std::string_view tensor,
                          std::uint32_t tensors = 2) {
    FileWriter w;
    if (number == 0) w.text("general.architecture", "llama");
    w.small("split.no", number).small("split.count", count).whole("split.tensors.count", tensors);
    return w.tensor(tensor, {32}, kF32).bytes();
  }
  std::optional<TemporaryDirectory> folder_;
};

TEST_F(SplitFile, IsReadWholeFromAnyPart) {
  (void)put("m-00001-of-00002.gguf", part(0, 2, "a"));
  const auto second = put("m-00002-of-00002.gguf", part(1, 2, "b"));
  const Result<File> file = read(second);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->parts, 2);
  EXPECT_EQ(**file->metadata.text("general.architecture"), "llama");
  ASSERT_EQ(file->tensors.size(), 2U);
  EXPECT_EQ(file->tensors[1].name, "b");
  EXPECT_EQ(file->tensors[1].part, 1U);
}

TEST_F(SplitFile, WithoutItsPartsIsRefused) {
  const auto first = put("m-00001-of-00002.gguf", part(0, 2, "a"));
  const Result<File> alone = read(first);
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().text(), HasSubstr("m-00002-of-00002.gguf: there is no such file"));
  EXPECT_THAT(alone.error().hint, HasSubstr("split into 2 parts"));
  EXPECT_THAT(read(put("renamed.gguf", part(0, 2, "a"))).error().text(),
              HasSubstr("the others cannot be found"));
}

TEST_F(SplitFile, PartsThatDoNotFitAreRefused) {
  const auto first = put("m-00001-of-00002.gguf", part(0, 2, "a"));
  (void)put("m-00002-of-00002.gguf", part(1, 2, "a"));
  EXPECT_THAT(read(first).error().text(), HasSubstr("tensor 'a': stands twice"));
  (void)put("m-00002-of-00002.gguf", part(0, 2, "b"));
  EXPECT_THAT(read(first).error().text(), HasSubstr("says to be part 1 of 2, but is named as part 2"));
  (void)put("m-00001-of-00002.gguf", part(0, 2, "a", 7));
  (void)put("m-00002-of-00002.gguf", part(1, 2, "b", 7));
  EXPECT_THAT(read(first).error().text(), HasSubstr("2 tensors together, not the 7"));
}

TEST_F(SplitFile, APathIsNamedInErrors) {
  EXPECT_THAT(read(folder_->path() / "none.gguf").error().text(),
              HasSubstr("none.gguf: there is no such file"));
  EXPECT_THAT(read(put("bad.gguf", "GGUF")).error().text(), HasSubstr("bad.gguf: "));
}

TEST(GgufParts, NamesArePartsWhereTheySayNumberAndCount) {
  EXPECT_EQ(part_name("m-00002-of-00003.gguf"), (PartName{"m", 2, 3}));
  EXPECT_EQ(file_name({"a-b", 12, 345}), "a-b-00012-of-00345.gguf");
  for (const char* none : {"m.gguf", "-00001-of-00002.gguf", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf",
                           "m-0000x-of-00002.gguf", "m-00001_of-00002.gguf", "m-00001-of-00002.ggu", ""})
    EXPECT_FALSE(part_name(none)) << none;
}

TEST(GgufTypes, AreKnownByNumberWithTheirBlocks) {
  EXPECT_EQ(find_tensor_type(12)->bytes, 144);
  EXPECT_EQ(find_tensor_type(14)->bytes, 210);
  EXPECT_EQ(find_tensor_type(4), nullptr);
  EXPECT_EQ(removed_tensor_type(4), "Q4_2");
  EXPECT_TRUE(removed_tensor_type(12).empty());
  for (const TensorType& type : tensor_types()) {
    EXPECT_EQ(type.quantised(), type.values > 1) << type.name;
    EXPECT_TRUE(type.quantised() || network::bits(type.plain) == 8 * type.bytes) << type.name;
  }
}

}  // namespace
}  // namespace plimsoll::gguf::test
