#include "run/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using testing::HasSubstr;
using enum Admission::Answer;

nvml::Memory memory(int total, int free) {
  return {Bytes(total), Bytes(free), Bytes(total - free)};
}

/// A whole GPU of 100 bytes, and one with two GPU instances, of which the first has two compute instances.
Host host() {
  return {
      .gpus = {
          {.number = 0, .uuid = "GPU-a", .memory = memory(100, 60)},
          {.number = 1,
           .uuid = "GPU-b",
           .memory = memory(100, 90),
           .mig = true,
           .slices = {
               {.parent = 1,
                .number = 0,
                .gpu_instance = 1,
                .compute_instance = 0,
                .uuid = "MIG-b10",
                .profile = "1c.2g.35gb",
                .memory = memory(40, 30)},
               {.parent = 1,
                .number = 1,
                .gpu_instance = 1,
                .compute_instance = 1,
                .uuid = "MIG-b11",
                .memory = memory(40, 30)},
               {.parent = 1, .number = 2, .gpu_instance = 5, .uuid = "MIG-b20", .memory = memory(20, 20)}}}}};
}
Promise promise(std::string run, std::string device, int need) {
  return {.run = std::move(run), .devices = {std::move(device)}, .need = Bytes(need)};
}

TEST(Admission, CountsWhatIsPromised) {
  const Need need{Bytes(60), "given"};
  EXPECT_EQ(admit(need, Room{Bytes(100), Bytes(100)}), Admission{});
  EXPECT_EQ(admit(need, Room{Bytes(100), Bytes(100), Bytes(41)}).answer, wait);
  EXPECT_EQ(admit(need, Room{Bytes(59), Bytes(100)}).answer, wait);
  EXPECT_EQ(admit(need, Room{Bytes(50), Bytes(50)}).answer, never);
  EXPECT_EQ(admit(std::nullopt, Room{Bytes(0), Bytes(50)}).answer, start);
  EXPECT_EQ(admit(need, std::nullopt).answer, start);
}

TEST(Admission, SaysWhy) {
  const Need need{60 * kGiB, "its last run"};
  EXPECT_EQ(admit(need, Room{.free = 50 * kGiB, .total = 141 * kGiB, .device = "GPU 0"}).why,
            "needs 60.0 GiB (its last run), and 50.0 GiB of 141 GiB on GPU 0 are free");
  EXPECT_EQ(admit(need, Room{.free = 100 * kGiB, .total = 141 * kGiB, .promised = 120 * kGiB}).why,
            "needs 60.0 GiB (its last run), and 0 B of 141 GiB are free, with 120 GiB promised to others");
  EXPECT_THAT(
      admit(need,
            Room{.free = 100 * kGiB, .total = 141 * kGiB, .promised = 120 * kGiB, .use_is_known = false})
          .why,
      HasSubstr("nobody here can tell"));
  EXPECT_EQ(admit(need, Room{.free = 1 * kGiB, .total = 18 * kGiB, .device = "MIG slice 0:1 (1g.18gb)"}).why,
            "needs 60.0 GiB (its last run), and 18.0 GiB on MIG slice 0:1 (1g.18gb) is all there is");
}

TEST(Admission, WhatARunHasTakenIsPromisedNoLonger) {
  Host there = host();
  const std::vector<Promise> promises{promise("r1", "GPU-a", 50), promise("r2", "GPU-a", 5),
                                      promise("elsewhere", "GPU-z", 99)};
  EXPECT_EQ(room_on({.uuid = "GPU-a"}, there, promises),
            (Room{.free = Bytes(60), .total = Bytes(100), .promised = Bytes(55), .device = "GPU 0"}));
  // Its worker, not its first process, has the memory; r2 took more than it was promised.
  there.gpus[0].occupants = {
      {21, Bytes(30), "r1"}, {22, Bytes(10), "r1"}, {30, Bytes(8), "r2"}, {9, Bytes(7)}};
  EXPECT_EQ(room_on({.uuid = "GPU-a"}, there, promises)->promised, Bytes(10));
}

TEST(Admission, WhereUseIsUnknownAllIsPromised) {
  Host there = host();
  there.gpus[0].occupants = {{21, std::nullopt, "r1"}};
  const std::vector<Promise> promises{promise("r1", "GPU-a", 50)};
  const auto untold = room_on({.uuid = "GPU-a"}, there, promises);
  EXPECT_EQ(untold->promised, Bytes(50));
  EXPECT_FALSE(untold->use_is_known);
  there.gpus[0].occupants = {{21, Bytes(50), "r1"}};
  there.pids_are_known = false;
  EXPECT_EQ(room_on({.uuid = "GPU-a"}, there, promises)->promised, Bytes(50));
}

TEST(Admission, ASliceIsAskedItself) {
  Host there = host();
  const std::vector<Promise> promises{promise("r1", "MIG-b11", 25), promise("r2", "MIG-b20", 3)};
  EXPECT_EQ(room_on({.uuid = "MIG-b10"}, there, promises), (Room{.free = Bytes(30),
                                                                 .total = Bytes(40),
                                                                 .promised = Bytes(25),
                                                                 .device = "MIG slice 1:0 (1c.2g.35gb)"}))
      << "compute instances of one GPU instance share its memory";
  EXPECT_EQ(room_on({.uuid = "MIG-b20"}, there, promises)->promised, Bytes(3));
  there.gpus[1].slices[1].occupants = {{21, Bytes(20), "r1"}};
  EXPECT_EQ(room_on({.uuid = "MIG-b10"}, there, promises)->promised, Bytes(5));
  EXPECT_EQ(room_on({.uuid = "GPU-b"}, there, {})->device, "MIG slice 1:0 (1c.2g.35gb)")
      << "as CUDA takes a GPU that is cut";
  const std::vector<Promise> of_parent{promise("r1", "GPU-b", 25)};
  EXPECT_EQ(room_on({.uuid = "MIG-b10"}, there, of_parent)->promised, Bytes(5));
  EXPECT_EQ(admit(Need{Bytes(21), "given"}, std::vector<ChosenDevice>{{.uuid = "MIG-b20"}}, there, {}).answer,
            never);
}

TEST(Admission, WhatNobodyKnowsIsNoReason) {
  Host there = host();
  EXPECT_FALSE(room_on({.uuid = "GPU-z"}, there, {}));
  there.gpus[0].memory = {};
  EXPECT_FALSE(room_on({.uuid = "GPU-a"}, there, {}));
  there.gpus[1].slices.clear();
  EXPECT_FALSE(room_on({.uuid = "GPU-b"}, there, {}));
  EXPECT_EQ(room_on({.uuid = "GPU-a"}, Host{}, {}), std::nullopt);
}

TEST(Admission, TheReservedPartIsNobodys) {
  Host there = host();
  there.gpus[0].memory->reserved = Bytes(7);
  EXPECT_EQ(room_on({.uuid = "GPU-a"}, there, {})->total, Bytes(93));
}

TEST(Admission, OnSeveralDevicesTheStrictestAnswers) {
  const Host there = host();
  const std::vector<ChosenDevice> both{{.uuid = "GPU-a"}, {.uuid = "MIG-b20"}, {.uuid = "MIG-b10"}};
  EXPECT_EQ(admit(Need{Bytes(20), "given"}, both, there, {}).answer, start);
  const std::vector<Promise> promises{promise("r1", "GPU-a", 50)};
  EXPECT_EQ(admit(Need{Bytes(20), "given"}, both, there, promises).answer, wait);
  const Admission refused = admit(Need{Bytes(35), "given"}, both, there, promises);
  EXPECT_EQ(refused.answer, never);
  EXPECT_THAT(refused.why, HasSubstr("MIG slice 1:2"));
  EXPECT_EQ(admit(std::nullopt, both, there, promises).answer, start);
}

}  // namespace
}  // namespace plimsoll::running
