#include "run/inventory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "nvml/fake.hpp"
#include "run/test_root.hpp"

namespace plimsoll::running {
namespace {

using testing::ElementsAre;

nvml::FakeLibrary machine() {
  return nvml::FakeLibrary(std::vector<nvml::FakeDevice>{
      {.name = "NVIDIA H200",
       .uuid = "GPU-a",
       .memory = nvml::Memory{Bytes(1000), Bytes(700), Bytes(300), Bytes(40)},
       .processes = std::vector<nvml::Process>{{7, Bytes(100)}, {8, Bytes(60)}, {9, std::nullopt}}},
      {.name = "NVIDIA H200",
       .uuid = "GPU-b",
       .memory = nvml::Memory{Bytes(1000), Bytes(900), Bytes(100)},
       .mig = {{.gpu_instance = 9,
                .compute_instance = 0,
                .uuid = "MIG-b1",
                .memory = nvml::Memory{Bytes(150), Bytes(100), Bytes(50)},
                .slices = 1,
                .number = 2,
                .name = "NVIDIA H200 MIG 1g.18gb"}},
       .mig_processes = {{2, {{7, Bytes(50), 9, 0}}}}}});
}

/// 7 is of run r1, 8 its child, 9 somebody else's.
FakeRoot root_with_runs(const char* pid_space) {
  FakeRoot root("a", "b", pid_space);
  for (const pid_t pid : {7, 9}) root.process(pid, 100);
  root.put("proc/7/environ", std::string("PLIMSOLL_RUN_ID=r1\0", 19));
  root.put("proc/8/stat", "8 (a) S 7 8 8 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 101 1 2 3\n");
  return root;
}

TEST(Inventory, SaysWhatThereIsAndWhoUsesIt) {
  const FakeRoot root = root_with_runs(kInitial);
  const auto nvml = machine();
  const Host host = look_at_host(&nvml, {}, root.path());
  EXPECT_EQ(host.driver, "550.54.15");
  EXPECT_EQ(host.machine_id, ProcessSpace::here(root.path()).machine_id);
  EXPECT_TRUE(host.pids_are_known);
  ASSERT_EQ(host.gpus.size(), 2U);
  const Gpu& whole = host.gpus[0];
  EXPECT_EQ(whole.uuid, "GPU-a");
  EXPECT_FALSE(whole.mig);
  EXPECT_EQ(whole.memory->reserved, Bytes(40));
  EXPECT_THAT(whole.occupants, ElementsAre(Occupant{7, Bytes(100), "r1"}, Occupant{8, Bytes(60), "r1"},
                                           Occupant{9, std::nullopt, ""}));
  const Gpu& sliced = host.gpus[1];
  EXPECT_TRUE(sliced.mig);
  ASSERT_EQ(sliced.slices.size(), 1U);
  EXPECT_EQ(sliced.slices[0], (MigSlice{.parent = 1,
                                        .number = 2,
                                        .gpu_instance = 9,
                                        .compute_instance = 0,
                                        .uuid = "MIG-b1",
                                        .name = "NVIDIA H200 MIG 1g.18gb",
                                        .profile = "1g.18gb",
                                        .slices = 1,
                                        .memory = nvml::Memory{Bytes(150), Bytes(100), Bytes(50)},
                                        .occupants = {{7, Bytes(50), "r1"}}}));
}

TEST(Inventory, ARunIsFoundByItsFirstProcess) {
  const FakeRoot root = root_with_runs(kInitial);
  const auto nvml = machine();
  const std::vector<KnownRun> known{{"r2", 9}};
  EXPECT_EQ(look_at_host(&nvml, known, root.path()).gpus[0].occupants[2].run, "r2");
}

TEST(Inventory, NumbersOfTheWholeMachineNameNobodyInAContainer) {
  const FakeRoot root = root_with_runs("pid:[4026532001]");
  auto nvml = machine();
  EXPECT_TRUE(look_at_host(&nvml, {}, root.path()).pids_are_known) << "all that it names are here";
  nvml.device(0).processes->push_back({70000, Bytes(5)});
  const Host host = look_at_host(&nvml, {}, root.path());
  EXPECT_FALSE(host.pids_are_known);
  for (const Occupant& occupant : host.gpus[0].occupants) EXPECT_EQ(occupant.run, "");
}

TEST(Inventory, WithoutADriverThereIsNoGpu) {
  const FakeRoot root("a", "b", kInitial);
  EXPECT_TRUE(look_at_host(nullptr, {}, root.path()).gpus.empty());
  const nvml::FakeLibrary silent({{.name = "NVIDIA H200"}});
  const Host host = look_at_host(&silent, {}, root.path());
  ASSERT_EQ(host.gpus.size(), 1U) << "a driver that tells nothing has a GPU all the same";
  EXPECT_FALSE(host.gpus[0].memory);
}

TEST(Inventory, IsWrittenAsJson) {
  const FakeRoot root = root_with_runs(kInitial);
  const auto nvml = machine();
  Inventory inventory{{look_at_host(&nvml, {}, root.path())}};
  inventory.hosts[0].name = "node7";
  inventory.hosts[0].machine_id = "c0ffee";
  EXPECT_EQ(
      to_json(inventory).dump(),
      R"({"hosts":[{"name":"node7","driver":"550.54.15","processes_known":true,"machine":"c0ffee","gpus":[)"
      R"({"number":0,"uuid":"GPU-a","name":"NVIDIA H200","memory":{"total_bytes":1000,"free_bytes":700,)"
      R"("used_bytes":300,"reserved_bytes":40},"processes":[{"pid":7,"used_bytes":100,"run":"r1"},)"
      R"({"pid":8,"used_bytes":60,"run":"r1"},{"pid":9}],"mig":false,"slices":[]},)"
      R"({"number":1,"uuid":"GPU-b","name":"NVIDIA H200","memory":{"total_bytes":1000,"free_bytes":900,)"
      R"("used_bytes":100},"processes":[],"mig":true,"slices":[{"parent":1,"number":2,"gpu_instance":9,)"
      R"("compute_instance":0,"uuid":"MIG-b1","profile":"1g.18gb","slices":1,"memory":{"total_bytes":150,)"
      R"("free_bytes":100,"used_bytes":50},"processes":[{"pid":7,"used_bytes":50,"run":"r1"}]}]}]}]})");
  Inventory other = inventory;
  other.hosts[0].gpus[1].slices[0].occupants.clear();
  EXPECT_NE(other, inventory);
}

}  // namespace
}  // namespace plimsoll::running
