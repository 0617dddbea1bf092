#include "serve/dashboard/orders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve::dashboard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Orders : testing::Test {
  UploadedModels models;
};

TEST_F(Orders, AreWordsOfACommandLine) {
  const auto order = network_order(
      "estimate",
      R"({"model": "resnet50", "batch": 32, "mode": "train", "kernels": true, "layers": false, "device": "h200,t4"})",
      models);
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_THAT(order->words, ElementsAre("estimate", "resnet50", "--batch=32", "--mode=train",
                                        "--device=h200,t4", "--kernels"));
  const auto page = network_order("timeline", R"({"model": "gpt2", "seq": 128})", models);
  ASSERT_TRUE(page);
  EXPECT_THAT(page->words, ElementsAre("estimate", "gpt2", "--seq=128", "--timeline=page.html"));
  EXPECT_EQ(page->page, "page.html");
  const auto choice = network_order(
      "choose", R"({"model": "mobilenet_v1", "max_latency": 0.02, "max_mass": 0.15, "max_price": 1.5})",
      models);
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->words, ElementsAre("choose", "mobilenet_v1", "--max-latency=0.02s", "--max-mass=150g",
                                         "--max-price=1.5/h"));
}

TEST_F(Orders, OfSharingGoIntoFiles) {
  const auto order = share_order(
      "matrix",
      R"({"workloads": [{"model": "resnet50", "batch": 8}], "device": "h200", "sharing": "mps:75,25"})",
      models);
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_THAT(order->words, ElementsAre("beside", "--workloads=workloads.json", "--matrix", "--device=h200",
                                        "--sharing=mps:75,25"));
  EXPECT_THAT(order->files,
              ElementsAre(testing::Pair("workloads.json", R"([{"batch":8,"model":"resnet50"}])")));
  const auto plan = share_order(
      "plan", R"({"jobs": [{"name": "a/b", "command": ["/bin/true"], "seconds": 3}], "devices": "h200:2"})",
      models);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(plan->words, ElementsAre("plan", "jobs.json", "--devices=h200:2"));
}

class Refused : public Orders, public testing::WithParamInterface<const char*> {};
TEST_P(Refused, NamesOfFilesAndOptions) {
  EXPECT_FALSE(network_order("estimate", GetParam(), models));
}
INSTANTIATE_TEST_SUITE_P(
    Network, Refused,
    testing::Values("", "[]", "{}", "17", R"({"model": 3})", R"({"model": ""})",
                    R"({"model": "/etc/passwd"})", R"({"model": "../net.onnx"})", R"({"model": "net.onnx"})",
                    R"({"model": "net.py:make"})", R"({"model": "--help"})", R"({"model": "a b"})",
                    R"({"model": "upload:0"})", R"({"model": "upload:../x"})",
                    R"({"model": "resnet50\u0000"})", R"({"model": "resnet50", "device": "/dev/null"})",
                    R"({"model": "resnet50", "device": "-x"})", R"({"model": "resnet50", "device": "./x"})",
                    R"({"model": "resnet50", "device": ["h200"]})",
                    R"({"model": "resnet50", "batch": "1; ls"})", R"({"model": "resnet50", "batch": 1.5})",
                    R"({"model": "resnet50", "kernels": "yes"})",
                    R"({"model": "resnet50", "mode": "`ls`"})"));

class SharingRefused : public Orders, public testing::WithParamInterface<const char*> {};
TEST_P(SharingRefused, NamesOfFiles) {
  EXPECT_FALSE(share_order("beside", GetParam(), models)) << GetParam();
}
INSTANTIATE_TEST_SUITE_P(
    Share, SharingRefused,
    testing::Values("{}", R"({"workloads": {}})", R"({"workloads": [{"model": "/etc/passwd"}]})",
                    R"({"workloads": [{"model": "x.py:f"}]})",
                    R"({"workloads": [{"model": "resnet50", "calibration": "/etc/passwd"}]})",
                    R"({"workloads": [{"model": "resnet50", "estimate": "resnet50 --calibration a/b"}]})",
                    R"({"workloads": [{"model": "resnet50", "x": {"y": ["~/secret"]}}]})",
                    R"({"workloads": [{"model": "resnet50", "x": "a/../b"}]})",
                    R"({"workloads": [], "sharing": "--json"})"));

TEST_F(Orders, RatesHaveASlashToo) {
  EXPECT_TRUE(share_order("beside", R"({"workloads": [{"model": "resnet50", "link": "450GB/s"}]})", models));
}

TEST_F(Orders, OfTheQueueAreNumbers) {
  EXPECT_THAT(queue_order("cancel", R"({"jobs": [3, 4]})")->words, ElementsAre("cancel", "3", "4"));
  for (const char* body :
       {R"({"jobs": []})", R"({"jobs": [-1]})", R"({"jobs": ["3"]})", R"({"jobs": 3})", "{}"})
    EXPECT_FALSE(queue_order("cancel", body)) << body;
  const auto submitted =
      submission(R"({"jobs": [{"command": ["python", "train.py"], "seconds": 9}], "dry_run": true})");
  ASSERT_TRUE(submitted);
  EXPECT_THAT(submitted->words, ElementsAre("submit", "jobs.json", "--dry-run"));
  EXPECT_TRUE(submitted->at_home);
}

TEST_F(Orders, ADroppedModelIsFoundUnderItsName) {
  const auto place = models.fresh_place();
  ASSERT_TRUE(place) << place.error().text();
  ASSERT_TRUE(write_file(*place, "not really a model"));
  ReceivedFile file(*place);
  EXPECT_FALSE(models.keep(file, "model.py"));
  const auto id = models.keep(file, "../../My Net.ONNX");
  ASSERT_TRUE(id) << id.error().text();
  const auto order = network_order("inspect", fmt::format(R"({{"model": "{}"}})", *id), models);
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_THAT(order->words.back(), testing::EndsWith("/model.onnx"));
  EXPECT_TRUE(std::filesystem::exists(order->words.back()));
  models.remove(*id);
  EXPECT_FALSE(std::filesystem::exists(order->words.back()));
  EXPECT_FALSE(network_order("inspect", fmt::format(R"({{"model": "{}"}})", *id), models));
}

}  // namespace
}  // namespace plimsoll::serve::dashboard
