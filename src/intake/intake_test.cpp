#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <zlib.h>

#include "base/files.hpp"
#include "dataset/dataset.hpp"
#include "intake/prepared.hpp"
#include "intake/source.hpp"

namespace plimsoll::intake {
namespace {

using network::DataType;
using std::filesystem::path;
using testing::ElementsAre;
using testing::HasSubstr;

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

class Folder : public testing::Test {
 protected:
  path put(const std::string& name, const std::string& contents) {
    const path file = at(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << contents;
    return file;
  }
  path put_packed(const std::string& name, const std::string& contents) {
    const path file = at(name);
    const gzFile packed = gzopen(file.c_str(), "wb");
    EXPECT_EQ(gzwrite(packed, contents.data(), static_cast<unsigned>(contents.size())), std::ssize(contents));
    gzclose(packed);
    return file;
  }
  path at(const std::string& name) { return folder_.path() / name; }

  /// All examples of a part, one after the other.
  static std::string read_all(Part& part) {
    std::string out;
    std::vector<std::byte> row(static_cast<std::size_t>(part.form.bytes()));
    for (std::int64_t i = 0; i < part.count; ++i) {
      const Status read = part.inputs->next(row);
      if (!read) return read.error().text();
      for (const std::byte b : row) out += static_cast<char>(b);
    }
    const Status end = part.inputs->end();
    return end ? out : end.error().text();
  }
  static std::vector<std::int64_t> classes(const Part& part) {
    std::vector<std::int64_t> out(part.labels.bytes.size() / sizeof(std::int64_t));
    if (!out.empty()) std::memcpy(out.data(), part.labels.bytes.data(), part.labels.bytes.size());
    return out;
  }
  template <class T>
  static std::string why(const Result<T>& result) {
    return result ? "it was read" : result.error().text();
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::make("plimsoll-test");
};

// ---- IDX

const std::string kImages = bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}) + "abcd";
const std::string kLabels = bytes({0, 0, 8, 1, 0, 0, 0, 2, 7, 3});

class Idx : public Folder {};

TEST_F(Idx, IsReadPackedAndNot) {
  const path labels = put("labels", kLabels);
  for (const path& images : {put("images", kImages), put_packed("images.gz", kImages)}) {
    Result<Part> part = open_idx(images, labels);
    ASSERT_TRUE(part) << why(part);
    EXPECT_EQ(part->form, (Form{DataType::uint8, {1, 1, 2}}));
    EXPECT_EQ(part->count, 2);
    EXPECT_THAT(classes(*part), ElementsAre(7, 3));
    EXPECT_EQ(read_all(*part), "abcd");
  }
}

TEST_F(Idx, SaysWhatIsWrong) {
  const path images = put("images", kImages), labels = put("labels", kLabels);
  EXPECT_THAT(why(open_idx(at("none"), labels)), HasSubstr("cannot open"));
  EXPECT_THAT(why(open_idx(folder_.path(), labels)), HasSubstr("not a regular file"));
  EXPECT_THAT(why(open_idx(put("a", "hello there"), labels)), HasSubstr("not an IDX file"));
  EXPECT_THAT(why(open_idx(put("b", bytes({0, 0, 13, 3})), labels)), HasSubstr("IDX type 0x0d"));
  EXPECT_THAT(why(open_idx(put("c", kImages.substr(0, 10)), labels)), HasSubstr("ends after 10 bytes"));
  EXPECT_THAT(why(open_idx(labels, labels)), HasSubstr("images are number x height x width"));
  EXPECT_THAT(why(open_idx(images, images)), HasSubstr("labels are one row of numbers"));
  EXPECT_THAT(why(open_idx(images, put("d", bytes({0, 0, 8, 1, 0, 0, 0, 1, 7})))),
              HasSubstr("1 labels for 2 images"));
  EXPECT_THAT(why(open_idx(put("e", kImages.substr(0, 19)), labels)), HasSubstr("is cut off"));
  Result<Part> longer = open_idx(put("f", kImages + "e"), labels);
  ASSERT_TRUE(longer);
  EXPECT_THAT(read_all(*longer), HasSubstr("goes on after the 20 bytes"));
}

// A few bytes that promise an exabyte must not be believed.
TEST_F(Idx, IsNotBelievedMoreThanItCanHold) {
  const path labels = put("labels", kLabels);
  const std::string huge =
      bytes({0, 0, 8, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255});
  EXPECT_THAT(why(open_idx(put("huge", huge), labels)), HasSubstr("is cut off"));
  EXPECT_THAT(why(open_idx(put_packed("huge.gz", huge), labels)), HasSubstr("is cut off"));
}

TEST_F(Idx, ImagesOfNothingAreRefused) {
  const path labels = put("labels", kLabels);
  const std::string nothing = bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0});
  EXPECT_THAT(why(open_idx(put("nothing", nothing), labels)), HasSubstr("holds images of nothing"));
  // None of them, so that the file is long enough for what it says.
  const std::string huge = bytes({0, 0, 8, 3, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255});
  EXPECT_THAT(why(open_idx(put("huge", huge), labels)), HasSubstr("its images are too large"));
}

TEST_F(Idx, DamagedGzipIsFound) {
  std::string packed = *read_file(put_packed("good.gz", kImages + std::string(1000, 'x')), 1 << 20);
  const path broken = put("broken.gz", packed.substr(0, packed.size() / 2));
  EXPECT_FALSE(open_idx(broken, put("labels", kLabels)));
}

// ---- CIFAR

class Cifar : public Folder {
 protected:
  static std::string record(const std::string& labels, char value) {
    return labels + std::string(3072, value);
  }
};

TEST_F(Cifar, ReadsRecordsOfSeveralFiles) {
  Result<Part> part = open_cifar(
      {put("1.bin", record("\x03", 'a') + record("\x05", 'b')), put("2.bin", record("\x01", 'c'))}, 1);
  ASSERT_TRUE(part) << why(part);
  EXPECT_EQ(part->form, (Form{DataType::uint8, {3, 32, 32}}));
  EXPECT_THAT(classes(*part), ElementsAre(3, 5, 1));
  EXPECT_EQ(read_all(*part), std::string(3072, 'a') + std::string(3072, 'b') + std::string(3072, 'c'));
}

TEST_F(Cifar, OfAHundredClassesTakesTheFineLabel) {
  put("train.bin", record("\x01\x2a", 'a'));
  put("test.bin", record("\x01\x07", 'b'));
  put("fine_label_names.txt", "apple\nbee\n");
  const Result<Source> source = open_source({.path = folder_.path()});
  ASSERT_TRUE(source) << why(source);
  EXPECT_THAT(classes(source->training), ElementsAre(42));
  ASSERT_TRUE(source->test);
  EXPECT_THAT(classes(*source->test), ElementsAre(7));
  EXPECT_THAT(source->class_names, ElementsAre("apple", "bee"));
}

TEST_F(Cifar, OfPartsOfRecordsIsRefused) {
  EXPECT_THAT(why(open_cifar({put("a.bin", "xyz")}, 1)), HasSubstr("3 bytes are not records of 3073"));
  EXPECT_THAT(why(open_cifar({put("b.bin", "")}, 1)), HasSubstr("0 bytes"));
}

// ---- NumPy

class Npy : public Folder {
 protected:
  static std::string file(const std::string& header, const std::string& values) {
    return "\x93NUMPY" +
           bytes({1, 0, static_cast<int>(header.size() % 256), static_cast<int>(header.size() / 256)}) +
           header + values;
  }
  static std::string header(const std::string& type, const std::string& shape) {
    return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  }
  template <class Number>
  static std::string raw(std::initializer_list<Number> numbers) {
    std::string out(numbers.size() * sizeof(Number), '\0');
    std::memcpy(out.data(), std::data(numbers), out.size());
    return out;
  }
};

TEST_F(Npy, ImagesWithChannelsLastAreTurned) {
  // Two images of 5x1 pixels and 3 channels: pixels "abc", "def", …
  const std::string pixels = "abcdefghijklmno";
  Result<Part> part = open_npy(put("x.npy", file(header("|u1", "(2, 5, 1, 3)"), pixels + pixels)),
                               put("y.npy", file(header("<i4", "(2,)"), raw<std::int32_t>({4, 0}))));
  ASSERT_TRUE(part) << why(part);
  EXPECT_EQ(part->form, (Form{DataType::uint8, {3, 5, 1}}));
  EXPECT_THAT(classes(*part), ElementsAre(4, 0));
  EXPECT_EQ(read_all(*part), "adgjmbehkncfiloadgjmbehkncfilo");
}

TEST_F(Npy, NumbersBecomeFloats) {
  Result<Part> part = open_npy(put("x.npy", file(header("<f8", "(1, 2)"), raw<double>({0.5, -2}))),
                               put("y.npy", file(header("<f4", "(1, 3)"), raw<float>({1, 2, 3}))));
  ASSERT_TRUE(part) << why(part);
  EXPECT_EQ(part->form, (Form{DataType::float32, {2}}));
  EXPECT_EQ(part->labels.type, DataType::float32);
  EXPECT_EQ(part->labels.dims, std::vector<std::int64_t>{3});
  EXPECT_EQ(read_all(*part), raw<float>({0.5F, -2}));
}

TEST_F(Npy, GreyImagesGetTheirChannelAndColumnsOfClassesAreRead) {
  Result<Part> part = open_npy(put("x.npy", file(header("|u1", "(2, 1, 2)"), "abcd")),
                               put("y.npy", file(header("|u1", "(2, 1)"), bytes({1, 0}))));
  ASSERT_TRUE(part) << why(part);
  EXPECT_EQ(part->form.dims, (std::vector<std::int64_t>{1, 1, 2}));
}

TEST_F(Npy, SaysWhatIsWrong) {
  const path labels = put("y.npy", file(header("<i8", "(1,)"), raw<std::int64_t>({0})));
  const auto with = [&](const std::string& contents) {
    return why(open_npy(put("x.npy", contents), labels));
  };
  EXPECT_THAT(with("nothing here"), HasSubstr("not a NumPy file"));
  EXPECT_THAT(with(file(header(">f4", "(1, 2)"), "")), HasSubstr("'>f4'"));
  EXPECT_THAT(with(file(header("<c8", "(1, 2)"), "")), HasSubstr("'<c8'"));
  EXPECT_THAT(with(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 2)}", "")),
              HasSubstr("records"));
  EXPECT_THAT(with(file("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", "")),
              HasSubstr("Fortran"));
  EXPECT_THAT(with(file(header("<f4", "(1, -2)"), "")), HasSubstr("header that is not NumPy's"));
  EXPECT_THAT(with(file(header("<f4", "(1, 2)"), "1234")), HasSubstr("is cut off"));
  EXPECT_THAT(with(file(header("<f4", "(4611686018427387904, 4)"), "")), HasSubstr("is cut off"));
  EXPECT_THAT(with(file(header("<f4", "(0, 4611686018427387904, 4)"), "")), HasSubstr("too large"));
  EXPECT_THAT(with(file(header("<f4", "(3,)"), raw<float>({1, 2, 3}))),
              HasSubstr("rows of more than one number"));
  EXPECT_THAT(with(file(header("<f4", "(2, 1)"), raw<float>({1, 2}))), HasSubstr("1 labels for 2 examples"));
}

// ---- folders, and what is made of them

class Sources : public Folder {
 protected:
  static Result<dataset::Dataset> prepared(const path& file) { return dataset::Dataset::open(file); }
};

TEST_F(Sources, OfNoKnownFormAreRefusedWithTheForms) {
  const auto refused = open_source({.path = folder_.path()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, HasSubstr("MNIST's IDX files"));
  EXPECT_THAT(why(open_source({.path = at("nowhere")})), HasSubstr("is not there"));
  EXPECT_THAT(why(open_source({.path = put("x.npy", "")})), HasSubstr("examples without labels"));
}

TEST_F(Sources, AreWrittenAsOneFileAndFoundAgain) {
  put("data/train-images-idx3-ubyte", kImages);
  put("data/train-labels-idx1-ubyte", kLabels);
  const Request request{.path = at("data")};
  const auto first = prepare(request, at("kept"));
  ASSERT_TRUE(first) << why(first);
  const auto data = prepared(*first);
  ASSERT_TRUE(data) << why(data);
  EXPECT_EQ(data->training().inputs.dims, (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_EQ(data->classes(), 8);
  ASSERT_EQ(data->mean().size(), 1U);
  EXPECT_NEAR(data->mean()[0], ('a' + 'b' + 'c' + 'd') / 4.0 / 255, 1e-12);
  EXPECT_NEAR(data->deviation()[0], std::sqrt(1.25) / 255, 1e-12);

  const auto time = std::filesystem::last_write_time(*first);
  EXPECT_EQ(*prepare(request, at("kept")), *first);
  // What has changed is prepared anew, under another name.
  put("data/train-images-idx3-ubyte", kImages.substr(0, 16) + "wxyz");
  std::filesystem::last_write_time(at("data/train-images-idx3-ubyte"), time + std::chrono::seconds(2));
  const auto second = prepare(request, at("kept"));
  ASSERT_TRUE(second) << why(second);
  EXPECT_NE(*second, *first);
  // A limit leaves only what is in use.
  const auto third = prepare({.path = at("data"), .images = {.channels = 3}}, at("kept"), {}, 1);
  ASSERT_TRUE(third) << why(third);
  EXPECT_FALSE(std::filesystem::exists(*first));
  EXPECT_FALSE(std::filesystem::exists(*second));
  EXPECT_TRUE(std::filesystem::exists(*third));
  EXPECT_EQ(prepared(*third)->training().inputs.dims, (std::vector<std::int64_t>{3, 1, 2}));
}

// One damaged example at the end of the data leaves no file behind.
TEST_F(Sources, AreWrittenWholeOrNotAtAll) {
  put("data/train-images-idx3-ubyte", kImages + "more");
  put("data/train-labels-idx1-ubyte", kLabels);
  EXPECT_THAT(why(prepare({.path = at("data")}, at("kept"))), HasSubstr("goes on after"));
  EXPECT_TRUE(std::filesystem::is_empty(at("kept")));
}

}  // namespace
}  // namespace plimsoll::intake
