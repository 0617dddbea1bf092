#include "measure/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/safetensors.hpp"
#include "network/zoo/zoo.hpp"
#include "onnx/reader.hpp"
#include "onnx/test_model.hpp"

namespace plimsoll::measure {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kFixtures = fs::path(PLIMSOLL_SOURCE_DIR) / "tests/fixtures";

onnx::Model fixture(const char* name) {
  Result<onnx::Model> model = onnx::read(kFixtures / name);
  EXPECT_TRUE(model) << model.error().text();
  return std::move(*model);
}

/// What a job would find at a location.
std::string contents(const Weights& weights, const job::WeightLocation& location) {
  const auto file = read_file(weights.files[location.file], 1 << 20);
  EXPECT_TRUE(file);
  return file->substr(static_cast<std::size_t>(location.offset), static_cast<std::size_t>(location.bytes));
}

TEST(Weights, OfAModelLieInItsFile) {
  onnx::Model model = fixture("tiny.onnx");
  const auto weights = find_weights(model.network, &model, {});
  ASSERT_TRUE(weights) << weights.error().text();
  EXPECT_EQ(weights->files.size(), 1U);
  EXPECT_EQ(weights->locations.size(), 3U);
  EXPECT_FALSE(weights->random);
  EXPECT_FALSE(weights->gathered);
  EXPECT_EQ(weights->source, "the model");
  for (const auto& location : weights->locations)
    EXPECT_EQ(contents(*weights, location), std::string(static_cast<std::size_t>(location.bytes), '\0'));
}

TEST(Weights, InTypedFieldsAreGathered) {
  namespace t = onnx::test;
  namespace f = onnx::schema::tensor;
  const std::string bytes = t::model(
      t::graph({.initializers = {
                    t::tensor("a", 6, {2}, t::number_field(f::kInt32s, 1) + t::number_field(f::kInt32s, -1)),
                    t::tensor("b", 6, {1}, t::number_field(f::kInt32s, 3))}}));
  Result<onnx::Model> model = onnx::read_bytes(std::as_bytes(std::span(bytes)), "test");
  ASSERT_TRUE(model) << model.error().text();
  const auto weights = find_weights(model->network, &*model, {});
  ASSERT_TRUE(weights) << weights.error().text();
  ASSERT_TRUE(weights->gathered);
  ASSERT_EQ(weights->locations.size(), 2U);
  EXPECT_EQ(contents(*weights, weights->locations[0]), std::string_view("\1\0\0\0\xff\xff\xff\xff", 8));
  EXPECT_EQ(contents(*weights, weights->locations[1]), std::string_view("\3\0\0\0", 4));
  EXPECT_EQ(weights->locations[1].offset, 64);
}

TEST(Weights, OfTheZooAreRandom) {
  const auto network = network::zoo::build("resnet18", network::Mode::infer);
  ASSERT_TRUE(network);
  const auto weights = find_weights(*network, nullptr, {});
  ASSERT_TRUE(weights) << weights.error().text();
  EXPECT_TRUE(weights->random);
  EXPECT_EQ(weights->source, "random");
  EXPECT_TRUE(weights->locations.empty());
}

TEST(Weights, ThatAreMissingAreAskedForByName) {
  onnx::Model model = fixture("no_weights.onnx");
  const auto missing = find_weights(model.network, &model, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Error::Kind::bad_input);
  EXPECT_THAT(missing.error().text(), HasSubstr("'w'"));
  EXPECT_THAT(missing.error().hint, HasSubstr("--random-weights"));
  const auto random = find_weights(model.network, &model, {.file = {}, .random = true});
  ASSERT_TRUE(random) << random.error().text();
  EXPECT_TRUE(random->random);
}

class StoredWeights : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::make();
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
  }
  fs::path store(network::DataType type, std::vector<std::int64_t> dims) {
    const fs::path path = folder_->path() / "w.safetensors";
    const std::vector<std::byte> bytes(432, std::byte{7});
    const std::vector<job::ArrayToStore> arrays = {{"w", type, std::move(dims), bytes}};
    EXPECT_TRUE(job::write_safetensors(path, arrays));
    return path;
  }
  std::optional<TemporaryDirectory> folder_;
  onnx::Model model_ = fixture("no_weights.onnx");
};

TEST_F(StoredWeights, AreFoundByName) {
  const auto path = store(network::DataType::float32, {4, 3, 3, 3});
  const auto weights = find_weights(model_.network, &model_, {.file = path, .random = false});
  ASSERT_TRUE(weights) << weights.error().text();
  const auto location = std::ranges::find_if(
      weights->locations, [&](const auto& l) { return model_.network.name_of(l.tensor) == "w"; });
  ASSERT_NE(location, weights->locations.end());
  EXPECT_EQ(contents(*weights, *location), std::string(432, '\7'));
}

TEST_F(StoredWeights, OfAnotherTypeOrShapeAreRefused) {
  const auto attempt = [this](const fs::path& path) {
    return find_weights(model_.network, &model_, {.file = path, .random = true}).error().text();
  };
  EXPECT_THAT(attempt(store(network::DataType::int32, {4, 3, 3, 3})),
              HasSubstr("is int32; the network has float32"));
  EXPECT_THAT(attempt(store(network::DataType::float32, {3, 4, 3, 3})),
              HasSubstr("is 3x4x3x3; the network has 4x3x3x3"));
  EXPECT_THAT(attempt(folder_->path() / "absent"), HasSubstr("no such file"));
}

/// Every network that ONNX files bring must pass through a job.
TEST(Weights, NetworksOfFilesComeBackFromAJob) {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(kFixtures / "../fuzz/seeds/model")) {
    Result<onnx::Model> model = onnx::read(entry.path());
    if (!model) continue;
    job::Job job;
    job.network = model->network;
    const auto binding = network::bind(job.network, {});
    if (!binding) continue;
    job.binding = *binding;
    const Result<job::Job> again = job::read(job::write(job));
    ASSERT_TRUE(again) << entry.path() << ": " << again.error().text();
    EXPECT_TRUE(again->network == job.network) << entry.path();
    ++seen;
  }
  EXPECT_GE(seen, 15);
}

}  // namespace
}  // namespace plimsoll::measure
