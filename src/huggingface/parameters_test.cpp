// Configurations in tests/fixtures/huggingface against what transformers counts of them
// (tests/huggingface/parameters.py wrote the table), and each network's shapes.
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "huggingface/description.hpp"
#include "huggingface/model.hpp"
#include "network/binding.hpp"
#include "network/inference.hpp"

namespace plimsoll::huggingface {
namespace {

std::filesystem::path fixtures() {
  return std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/fixtures/huggingface";
}

std::map<std::string, std::int64_t> table() {
  std::map<std::string, std::int64_t> rows;
  std::istringstream lines(read_file(fixtures() / "parameters.csv", 1 << 20).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t comma = line.find(',');
    if (line.starts_with('#') || comma == std::string::npos) continue;
    std::from_chars(line.data() + comma + 1, line.data() + line.size(), rows[line.substr(0, comma)]);
  }
  return rows;
}

std::int64_t parameters(const network::Network& network) {
  std::int64_t all = 0;
  for (const network::TensorId id : network.main().weights) {
    const network::Tensor& tensor = network.tensor(id);
    if (tensor.role != network::Role::parameter) continue;
    std::int64_t elements = 1;
    for (const network::Dim d : network.dims_of(tensor)) elements *= d.value();
    all += elements;
  }
  return all;
}

TEST(Parameters, AreThoseOfTransformers) {
  const auto rows = table();
  EXPECT_GE(rows.size(), 40u);
  for (const auto& [name, expected] : rows) {
    const Result<std::string> text = read_file(fixtures() / (name + ".json"), 1 << 20);
    ASSERT_TRUE(text) << name;
    const Result<Description> description = describe(*text);
    ASSERT_TRUE(description) << name << ": " << description.error().text();
    EXPECT_TRUE(description->notes.empty()) << name << ": " << description->notes.front();
    const Result<network::Network> built = build(*description, name, network::Mode::infer);
    ASSERT_TRUE(built) << name << ": " << built.error().text();
    EXPECT_EQ(parameters(*built), expected) << name;
    const Result<network::Binding> binding = network::bind(*built, {.batch = 2});
    ASSERT_TRUE(binding) << name << ": " << binding.error().text();
    const Result<network::Shapes> shapes = network::infer(*built, *binding);
    EXPECT_TRUE(shapes) << name << ": " << shapes.error().text();
  }
}

TEST(Folders, AreFoundByTheirConfiguration) {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make();
  ASSERT_TRUE(folder);
  const std::filesystem::path file = folder->path() / "config.json";
  EXPECT_EQ(config_at(folder->path()), file);
  EXPECT_EQ(config_at(file), file);
  EXPECT_EQ(config_at(folder->path() / "model.onnx"), "");
  const Result<Model> none = read(file, network::Mode::infer);
  ASSERT_FALSE(none);
  ASSERT_TRUE(write_file(file, R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 12})"));
  const Result<Model> model = read(file, network::Mode::infer);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->network.name, folder->path().filename());
  ASSERT_TRUE(write_file(file, R"({"model_type": "gpt2", "n_layer": "one"})"));
  const Result<Model> wrong = read(file, network::Mode::infer);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, file.string() + ": n_layer");
}

}  // namespace
}  // namespace plimsoll::huggingface
