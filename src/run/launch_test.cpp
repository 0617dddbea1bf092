#include "run/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "run/process_identity.hpp"
#include "store/store.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_);
    auto opened = store::open((directory_->path() / "runs.db").string());
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = *std::move(opened);
  }
  store::Run recorded(const JobSpec& job, const Launch& launch, const std::string& driver = {}) {
    const auto record = create_record(job, launch, *store_, options_, driver);
    EXPECT_TRUE(record) << record.error().text();
    if (!record) return {};
    record_ = *record;
    return store_->find(record->id).value_or(store::Run{});
  }
  fs::path script(std::string_view text) {
    const fs::path path = directory_->path() / "plimsoll";
    EXPECT_TRUE(write_file(path, text));
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make();
  std::unique_ptr<store::Store> store_;
  SessionOptions options_;
  Record record_;
};

TEST_F(LaunchTest, ARecordSaysWhatWasAskedForAndWhoWatches) {
  JobSpec job{.command = {"/usr/bin/python3", "train.py"},
              .experiment = "study",
              .workload = "four",
              .sharing = Sharing::mps,
              .mps_percentage = 25,
              .mps_memory = kGiB,
              .time_limit = Seconds(90),
              .epoch_limit = 3,
              .params = {{"lr", "0.1"}},
              .tags = {{"team", "blue"}, {"plimsoll.mode", "as the user says"}}};
  Launch launch{.devices = {{.uuid = "GPU-a", .number = 2, .name = "H200", .total = Bytes(141)}},
                .need = Need{Bytes(60), "given"},
                .tags = {{"plimsoll.mps.effective", "{}"}},
                .mode = "mps",
                .retry = true};
  const store::Run run = recorded(job, launch, "580.65.06");
  EXPECT_EQ(run.name, "python3") << "without a name, the program's";
  EXPECT_EQ(run.params.at("lr"), "0.1");
  EXPECT_EQ(run.status, store::RunStatus::running);
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"plimsoll.workload", "four"},
                                          {"plimsoll.limit.seconds", "90"},
                                          {"plimsoll.limit.epochs", "3"},
                                          {"plimsoll.mps.percentage", "25"},
                                          {"plimsoll.mps.memory_bytes", "1073741824"},
                                          {"plimsoll.mps.effective", "{}"},
                                          {"plimsoll.need.bytes", "60"},
                                          {"plimsoll.need.source", "given"},
                                          {"plimsoll.retry", "true"},
                                          {"plimsoll.devices", "GPU-a"},
                                          {"plimsoll.device.2.name", "H200"},
                                          {"plimsoll.device.0.name", "H200"},
                                          {"plimsoll.device.2.memory_bytes", "141"},
                                          {"plimsoll.driver", "580.65.06"},
                                          {"team", "blue"},
                                          {"plimsoll.mode", "as the user says"}})
    EXPECT_THAT(run.tags, Contains(Pair(name, value)));
  EXPECT_EQ(ProcessIdentity::parse(run.tags.at("plimsoll.supervisor")), ProcessIdentity::of(::getpid()));
  EXPECT_TRUE(fs::exists(record_.artifacts / "environment.json"));
}

TEST_F(LaunchTest, WhatNobodyKnowsIsSaidToBeUnknown) {
  const store::Run on_gpu = recorded({.command = {"true"}}, {.devices = {{.uuid = "GPU-a"}}});
  EXPECT_EQ(on_gpu.tags.at("plimsoll.need.source"), "unknown");
  EXPECT_EQ(on_gpu.tags.at("plimsoll.mode"), "alone");
  const store::Run without = recorded({.command = {"true"}}, {});
  EXPECT_THAT(without.tags, Not(Contains(Key("plimsoll.need.source"))));
  EXPECT_THAT(without.tags, Not(Contains(Key("plimsoll.driver"))));
  EXPECT_THAT(without.tags, Not(Contains(Key("plimsoll.if_killed"))));
  options_.watch.if_killed = IfKilled::leave;
  EXPECT_EQ(recorded({.command = {"true"}}, {}).tags.at("plimsoll.if_killed"), "leave");
}

TEST_F(LaunchTest, SecretsDoNotGetIntoARecord) {
  const store::Run run = recorded({.command = {"train", "--api-key=hunter2hunter2hunter2"},
                                   .environment = {{"AWS_SECRET_ACCESS_KEY", "hunter2hunter2hunter2"}}},
                                  {});
  EXPECT_THAT(run.tags.at("plimsoll.command"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(read_file(record_.artifacts / "environment.json", 100'000).value_or(""),
              Not(HasSubstr("hunter2")));
}

TEST_F(LaunchTest, WhatIsFoundLaterIsAdded) {
  recorded({.command = {"true"}}, {});
  ASSERT_TRUE(add_to_record(
      record_, {.tags = {{"plimsoll.git.revision", "c0ffee"}}, .files = {{"git.diff", "+x\n"}}}, *store_));
  EXPECT_EQ(store_->find(record_.id)->tags.at("plimsoll.git.revision"), "c0ffee");
  EXPECT_EQ(read_file(record_.artifacts / "git.diff", 100), "+x\n");
  EXPECT_TRUE(add_to_record(record_, {}, *store_));
}

TEST_F(LaunchTest, TheNeedIsWhatPlimsollEstimateSays) {
  const JobSpec job{.command = {"true"}, .estimate = {"resnet50", "--batch", "8"}};
  const fs::path good = script(
      "#!/bin/sh\n[ \"$*\" = 'estimate resnet50 --batch 8 --json' ] && echo "
      "'{\"memory\": {\"device_used_bytes\": 4096}}'\n");
  EXPECT_EQ(estimated_need(job, good.string()), Bytes(4096));
  for (const char* bad :
       {"#!/bin/sh\necho '{}'\n", "#!/bin/sh\necho '{\"memory\": {\"device_used_bytes\": 1.5}}'\n",
        "#!/bin/sh\necho no network >&2\nexit 2\n"})
    EXPECT_FALSE(estimated_need(job, script(bad).string())) << bad;
  EXPECT_FALSE(estimated_need(job, "/nonexistent"));
}

}  // namespace
}  // namespace plimsoll::running
