#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "onnx/reader.hpp"
#include "onnx/writer.hpp"

namespace plimsoll::onnx {
namespace {

namespace fs = std::filesystem;

fs::path shared() {
  const char* const given = std::getenv("PLIMSOLL_SHARED");
  return given != nullptr ? fs::path(given) : fs::path(PLIMSOLL_SOURCE_DIR) / ".." / "shared";
}

std::vector<fs::path> models() {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(shared() / "data" / "onnx", error))
    if (entry.path().extension() == ".onnx") out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

/// A file in the temporary folder, removed in the end.
struct TemporaryFile {
  fs::path path = fs::temp_directory_path() / ("plimsoll_onnx_" + std::to_string(::getpid()) + ".onnx");
  ~TemporaryFile() { fs::remove(path); }
};

TEST(RoundTrip, OfExportedModels) {
  const auto files = models();
  if (files.empty()) GTEST_SKIP() << "no models at " << shared() << " (set PLIMSOLL_SHARED)";
  const TemporaryFile file;
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.filename());
    const Result<Model> model = read(path);
    ASSERT_TRUE(model) << model.error().text();
    const Status written = write(model->network, {}, file.path);
    ASSERT_TRUE(written) << written.error().text();
    const Result<Model> back = read(file.path);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(model->network == back->network);
    EXPECT_EQ(model->weights.size(), back->weights.size());
  }
}

/// The number after `"key": ` in a line of JSON.
std::int64_t number_in(const std::string& line, const std::string& key) {
  const auto at = line.find("\"" + key + "\": ");
  return at == std::string::npos ? -1 : std::stoll(line.substr(at + key.size() + 4));
}

std::int64_t parameters(const network::Network& network) {
  std::int64_t sum = 0;
  for (const network::Tensor& t : network.tensors) {
    if (t.role != network::Role::parameter) continue;
    std::int64_t elements = 1;
    for (const network::Dim d : network.dims_of(t)) elements *= d.value();
    sum += elements;
  }
  return sum;
}

TEST(ClassifyWeights, AgreesWithPyTorchsParameterCounts) {
  std::ifstream lines(shared() / "data" / "h200" / "memory.jsonl");
  if (!lines) GTEST_SKIP() << "no measurements at " << shared() << " (set PLIMSOLL_SHARED)";
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"mode\": \"load\"") == std::string::npos) continue;
    const auto at = line.find("\"model\": \"") + 10;
    const std::string name = line.substr(at, line.find('"', at) - at);
    const Result<Model> model = read(shared() / "data" / "onnx" / (name + ".train.onnx"));
    if (!model) continue;  // not every measured model was exported in training mode
    EXPECT_EQ(parameters(model->network), number_in(line, "params")) << name;
    ++checked;
  }
  EXPECT_GE(checked, 10);
}

}  // namespace
}  // namespace plimsoll::onnx
