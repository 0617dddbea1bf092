#include "report/registry_table.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

WeighedVersion version_with_file() {
  WeighedVersion out{.version = {.model = "net", .version = 3, .created = 1, .source = "s3://a/b"}};
  out.version.aliases = {"champion"};
  out.contents = VersionContents{.path = "/a/model.onnx", .parameters = 76, .weights = Bytes(304)};
  return out;
}

TEST(RegistryTable, OfAVersionWhatIsKnownIsSaidAndTheRestIsUnknown) {
  WeighedVersion version = version_with_file();
  version.contents->flops = Flops(2960);
  version.contents->batch = 2;
  version.contents->devices = {{.device = "h200",
                                .memory = Bytes(1 << 20),
                                .fits = true,
                                .time = Seconds(1e-3),
                                .low = Seconds(5e-4),
                                .high = Seconds(2e-3),
                                .basis = "calibrated"},
                               {.device = "cpu", .here = true, .no_time = "nobody has measured it"}};
  const std::string text = version_details(version, {.width = 100});
  for (const char* part : {"net · version 3", "champion", "s3://a/b", "76", "304 B", "2.96 kFLOP",
                           "batch of 2", "h200", "1.00 MiB", "1.00 ms", "500 µs to 2.00 ms", "calibrated",
                           "cpu (here)", "unknown", "nobody has measured it"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const nlohmann::ordered_json file = version_json(version)["file"];
  EXPECT_EQ(file["devices"][0]["seconds"], 1e-3);
  EXPECT_EQ(file["devices"][0]["provenance"], "calibrated");
  for (const char* unknown :
       {"minimum_device_bytes", "fits", "seconds", "low_seconds", "high_seconds", "provenance"})
    EXPECT_TRUE(file["devices"][1][unknown].is_null()) << unknown;
}

TEST(RegistryTable, AVersionWithoutAFileIsSaidToBeUnknown) {
  WeighedVersion version = version_with_file();
  EXPECT_NE(version_details(version, {}).find("safetensors say what the weights are"), std::string::npos);
  version.contents.reset();
  EXPECT_NE(version_details(version, {}).find("no ONNX or safetensors file"), std::string::npos);
  EXPECT_TRUE(version_json(version)["file"].is_null());
  version.problem = "damaged";
  EXPECT_NE(version_details(version, {}).find("cannot be read: damaged"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::report
