// The engine claims every operator of the zoo, and of the exported graphs that stand beside the project
// (PLIMSOLL_SHARED, else ../shared; skipped without them).
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "engine/routine.hpp"
#include "network/zoo/zoo.hpp"
#include "onnx/reader.hpp"

namespace plimsoll {
namespace {

/// What stops the network from being executed; empty where nothing does.
std::string obstacle(const network::Network& n, network::Mode mode, bool literal) {
  const auto binding = network::bind(n, {});
  if (!binding) return binding.error().text();
  const auto shapes = network::infer(n, *binding);
  if (!shapes) return shapes.error().text();
  network::Setting setting;
  setting.mode = mode;
  setting.literal = literal;
  std::vector<engine::Unexecutable> missing;
  const auto routine = engine::make_routine(n, *shapes, setting, missing);
  if (!routine) return routine.error().text();
  return missing.empty() ? "" : missing.front().op + ": " + missing.front().reason;
}

TEST(EngineCoverage, EveryNetworkOfTheZoo) {
  for (const network::zoo::Entry& entry : network::zoo::entries())
    for (const network::Mode mode : {network::Mode::infer, network::Mode::train}) {
      const auto built = network::zoo::build(entry.name, mode);
      ASSERT_TRUE(built) << built.error().text();
      for (const bool literal : {false, true}) EXPECT_EQ(obstacle(*built, mode, literal), "") << entry.name;
    }
}

TEST(EngineCoverage, EveryExportedGraph) {
  const char* given = std::getenv("PLIMSOLL_SHARED");
  const std::filesystem::path folder =
      (given != nullptr ? std::filesystem::path(given)
                        : std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "../shared") /
      "data/onnx";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no exported graphs in " << folder;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    const auto model = onnx::read(file.path());
    ASSERT_TRUE(model) << model.error().text();
    for (const bool literal : {false, true})
      EXPECT_EQ(obstacle(model->network, network::Mode::infer, literal), "") << file.path().filename();
  }
}

}  // namespace
}  // namespace plimsoll
