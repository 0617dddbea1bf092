#include "plan/mig/service_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

template <class T>
std::vector<std::string> told(const AllErrors<T>& parsed) {
  std::vector<std::string> out;
  if (!parsed)
    for (const Error& error : parsed.error()) out.push_back(error.text());
  return out;
}

TEST(ServedProfiles, AreReadByGpu) {
  const auto read = parse_served_profiles(
      "gpu,model,mig_compute_slices,batch,processes,throughput_total_req_s,latency_s,remark\n"
      "A100-80GB,net,1,4,2,60.5,0.1,fine\n"
      "H200,net,7,8,1,900,0.01,\n");
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0].gpu, "A100-80GB");
  EXPECT_THAT((*read)[0].rows, ElementsAre(ServedProfile{"net", 1, 4, 2, 60.5, Seconds(0.1)}));
}

TEST(ServedProfiles, AllBadRowsAreTold) {
  EXPECT_THAT(
      told(parse_served_profiles("model,batch\nnet,1\n")),
      ElementsAre(HasSubstr("no column mig_compute_slices, processes, throughput_total_req_s, latency_s")));
  EXPECT_THAT(
      told(parse_served_profiles("model,mig_compute_slices,batch,processes,throughput_total_req_s,latency_s\n"
                                 "net,1,0,1,60,0.1\n"
                                 "net,1,1,1,nan,0.1\n"
                                 "net,1,1,1,60,0.1\n"
                                 "net,1.5,1,1,60,inf\n")),
      ElementsAre(HasSubstr("line 2: batch"), HasSubstr("line 3: throughput_total_req_s"),
                  HasSubstr("line 5: mig_compute_slices"), HasSubstr("line 5: latency_s")));
  EXPECT_THAT(told(parse_served_profiles("")), ElementsAre(HasSubstr("no rows")));
  EXPECT_THAT(told(parse_served_profiles("model\n\"net")), ElementsAre(HasSubstr("never closed")));
}

TEST(Services, AreReadByScenario) {
  const auto read = parse_services(
      "scenario,model,request_rate_req_s,latency_slo_ms\n1,net,19,6434\n1,other,2.5,100\n2,net,30,50\n");
  EXPECT_THAT(told(read), IsEmpty());
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_THAT((*read)[0].services, ElementsAre(Service{"net", "net", 19, Seconds(6.434)},
                                               Service{"other", "other", 2.5, Seconds(0.1)}));
}

TEST(Services, OneModelServesTwiceUnderTwoNames) {
  EXPECT_THAT(told(parse_services("model,request_rate_req_s,latency_slo_ms\nnet,1,10\nnet,2,10\n")),
              ElementsAre(HasSubstr("stands twice")));
  EXPECT_TRUE(parse_services("service,model,request_rate_req_s,latency_slo_ms\na,net,1,10\nb,net,2,10\n")
                  .has_value());
}

}  // namespace
}  // namespace plimsoll::plan
