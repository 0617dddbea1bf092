#include "queue/submitted.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "queue/request.hpp"

namespace plimsoll::queue {
namespace {

using job::Json;
using testing::HasSubstr;

JobRequest example() {
  JobRequest out;
  out.job.command = {"python", "train.py", "\xff"};
  out.job.name = "name";
  out.job.need = 3 * kGiB;
  out.known = R"({"batch":64,"model":"resnet50"})";
  out.gpus = 2;
  out.alone = out.rerun = out.runs_on = true;
  out.keep = 0.8;
  out.deadline = 2e9;
  out.save = 10;
  out.save_patience = Seconds(5);
  out.most_moves = 1;
  out.umask = 077;
  return out;
}

TEST(Request, ComesBackFromItsJson) {
  for (const JobRequest& request : {example(), JobRequest{.job = {.command = {"true"}}}}) {
    const auto read = read_request(request_json(request));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, request);
  }
}

TEST(Request, WhatIsNotKnownOrCannotBeIsRefused) {
  const auto refused = [](const char* key, const Json& value) {
    Json object = request_json(example());
    object[key] = value;
    const auto read = read_request(object);
    return read ? std::string() : read.error().text();
  };
  EXPECT_THAT(refused("prioriti", 1), HasSubstr("no key 'prioriti'"));
  EXPECT_THAT(refused("keep", 1.5), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refused("save", "SIGKILL"), HasSubstr("no signal to save on"));
  EXPECT_THAT(refused("save", "SIGTERM"), HasSubstr("SIGUSR1 or SIGUSR2"));  // it would end the job
  EXPECT_THAT(refused("gpus", 0), HasSubstr("gpus"));
  EXPECT_THAT(refused("gpus", 1e9), HasSubstr("gpus"));
  EXPECT_THAT(refused("deadline", -1), HasSubstr("deadline"));
  EXPECT_THAT(refused("umask", 07777), HasSubstr("umask"));
  EXPECT_THAT(refused("known", Json::array()), HasSubstr("known"));
  EXPECT_THAT(refused("job", 3), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(refused("job", Json{{"command", Json::array()}}), HasSubstr("is empty"));
  EXPECT_THAT(refused("job", Json{{"command", {"true"}}, {"devices", {"0"}}}),
              HasSubstr("the queue's to choose"));
}

TEST(Request, ItsFingerprintIsOfWhatItDoes) {
  JobRequest one = example(), other = example();
  other.job.name = "another";
  other.alone = false;
  EXPECT_EQ(fingerprint_of(one), fingerprint_of(other));
  other.job.command.emplace_back("--more");
  EXPECT_NE(fingerprint_of(one), fingerprint_of(other));
}

Json submission() {
  return {{"type", "submit"},
          {"token", "abc"},
          {"environment", Json::array({Json::array({"PATH", "/bin"})})},
          {"jobs", Json::array({{{"request", request_json(example())}, {"priority", 2.5}, {"after", {-2, 7}}},
                                {{"request", request_json(example())}, {"held", true}}})}};
}

TEST(Submitted, IsReadWhole) {
  const auto read = read_submitted(submission(), 42, "pool", true);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->jobs.size(), 2);
  EXPECT_EQ(read->token, "abc");
  EXPECT_EQ(read->jobs[0].user, "42");
  EXPECT_EQ(read->jobs[0].pool, "pool");
  EXPECT_EQ(read->jobs[0].name, "name");
  EXPECT_EQ(read->jobs[0].priority, 2.5);
  EXPECT_THAT(read->jobs[0].after, testing::ElementsAre(-2, 7));
  EXPECT_EQ(read->jobs[1].state, store::QueueState::held);
  const auto variables = read_environment(read->jobs[0].environment);
  ASSERT_TRUE(variables);
  EXPECT_EQ(*variables, (running::Variables{{"PATH", "/bin"}}));
}

TEST(Submitted, NonsenseIsRefused) {
  const auto refused = [](const std::function<void(Json&)>& spoil) {
    Json message = submission();
    spoil(message);
    const auto read = read_submitted(message, 0, "", true);
    return read ? std::string() : read.error().text();
  };
  EXPECT_THAT(refused([](Json& m) { m.erase("token"); }), HasSubstr("token"));
  EXPECT_THAT(refused([](Json& m) { m["token"] = std::string(101, 'x'); }), HasSubstr("token"));
  EXPECT_THAT(refused([](Json& m) { m["jobs"] = Json::array(); }), HasSubstr("without jobs"));
  EXPECT_THAT(refused([](Json& m) { m["jobs"] = "x"; }), HasSubstr("jobs"));
  EXPECT_THAT(refused([](Json& m) { m["jobs"][0] = 3; }), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(refused([](Json& m) { m["jobs"][0]["priority"] = "NaN"; }), HasSubstr("priority"));
  EXPECT_THAT(refused([](Json& m) { m["jobs"][0]["priority"] = 1e300; }), HasSubstr("priority"));
  EXPECT_THAT(refused([](Json& m) { m["jobs"][0]["after"] = {1.5}; }), HasSubstr("after"));
  EXPECT_THAT(refused([](Json& m) { m.erase("environment"); }), HasSubstr("environment"));
  EXPECT_THAT(refused([](Json& m) { m["environment"] = {{"A", "B", "C"}}; }), HasSubstr("no pair"));
  EXPECT_THAT(refused([](Json& m) { m["environment"] = Json::array({Json::array({"A=B", "C"})}); }),
              HasSubstr("none can have"));
  EXPECT_THAT(refused([](Json& m) { m["environment"] = Json::array({Json::array({"", "C"})}); }),
              HasSubstr("none can have"));
}

TEST(Submitted, AnEnvironmentIsNotCopiedWithoutEnd) {
  Json message{{"token", "t"},
               {"environment", Json::array({Json::array({"A", std::string(std::size_t{3} << 20, 'x')})})},
               {"jobs", Json::array()}};
  for (int i = 0; i < 200; ++i) message["jobs"].push_back({{"request", {{"job", {{"command", {"true"}}}}}}});
  const auto refused = read_submitted(message, 1, "", true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, HasSubstr("at most 85 at a time"));
}

}  // namespace
}  // namespace plimsoll::queue
