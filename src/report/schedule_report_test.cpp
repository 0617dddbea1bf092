#include "report/schedule_report.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "plan/schedule/test_instances.hpp"
#include "report/schedule_exports.hpp"
#include "report/schedule_lanes.hpp"
#include "report/schedule_words.hpp"
#include "report/test_schedules.hpp"
#include "run/jobs_file.hpp"

namespace plimsoll::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using plan::schedule::Plan;

ScheduleReport report_of(const Plan& plan) {
  return {.plan = &plan, .device = "a GPU"};
}

std::vector<std::string> tick_texts(double span, std::size_t most) {
  std::vector<std::string> out;
  for (const TimeTick& tick : time_ticks(span, most)) out.push_back(tick.text);
  return out;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

/// To be looked at, where a folder for that is named.
void keep(const std::string& name, const std::string& page) {
  if (const char* folder = std::getenv("PLIMSOLL_KEEP_PAGES"))
    (void)write_file(std::filesystem::path(folder) / name, page);
}

TEST(ScheduleLanes, WhoRunsAtOnceHasARowOfItsOwn) {
  const Plan plan = made_up_plan();
  const std::vector<Lane> lanes = lanes_of(plan);
  ASSERT_EQ(lanes.size(), 2U);
  EXPECT_EQ(lanes[0].rows, 2U);
  ASSERT_EQ(lanes[0].bars.size(), 3U);
  EXPECT_EQ(lanes[0].bars[0].row, 0U);
  EXPECT_EQ(lanes[0].bars[1].row, 1U);
  EXPECT_EQ(lanes[0].bars[2].row, 1U) << "the row of the second is free when the third starts";
  EXPECT_EQ(lanes[1].rows, 1U);
}

TEST(ScheduleLanes, BesideIsWhoSharesThePlaceAtSomeTime) {
  const auto besides = besides_of(made_up_plan());
  EXPECT_THAT(besides[0], ElementsAre(1, 2));
  EXPECT_THAT(besides[1], ElementsAre(0)) << "the third starts when the second ends";
  EXPECT_THAT(besides[2], ElementsAre(0));
  EXPECT_THAT(besides[3], IsEmpty());
}

TEST(ScheduleLanes, WhatIsTakenChangesWithWhoRuns) {
  const Plan plan = made_up_plan();
  const auto over = occupied_over_time(plan, lanes_of(plan)[0]);
  ASSERT_EQ(over.size(), 3U);
  EXPECT_EQ(over[0].memory, 48 * kGiB);
  EXPECT_EQ(over[2].memory, 8 * kGiB);
  EXPECT_EQ(over[0].activity, 1) << "0.9 × 0.8 + 0.5 × 0.8 is more than there is";
  EXPECT_DOUBLE_EQ(over[2].activity, 0.5 * 0.9);
  const auto other = occupied_over_time(plan, lanes_of(plan)[1]);
  ASSERT_EQ(other.size(), 3U);
  EXPECT_FALSE(other[0].unknown);
  EXPECT_TRUE(other[1].unknown);
}

TEST(ScheduleLanes, TicksAreWhatPeopleCountIn) {
  EXPECT_THAT(tick_texts(120, 5), ElementsAre("0", "30 s", "60 s", "90 s", "120 s"));
  EXPECT_THAT(tick_texts(7200, 5), ElementsAre("0", "30 min", "60 min", "90 min", "120 min"));
  EXPECT_THAT(tick_texts(50'000, 5), ElementsAre("0", "4 h", "8 h", "12 h"));
  EXPECT_THAT(tick_texts(1e8, 4), ElementsAre("0", "500 d", "1000 d"));
  EXPECT_THAT(tick_texts(0.02, 5), ElementsAre("0", "5.00 ms", "10.0 ms", "15.0 ms", "20.0 ms"));
  EXPECT_THAT(tick_texts(0, 5), ElementsAre("0"));
}

TEST(ScheduleText, TellsEachJobAndWhatAllComesTo) {
  const Plan plan = made_up_plan();
  ScheduleReport report = report_of(plan);
  report.why = {"It is the longest.", "", "", "Its memory is unknown, so it runs alone."};
  const std::string text = schedule_text(report, {.width = 120});
  EXPECT_THAT(text, HasSubstr("4 jobs on 2 × a GPU, mps 50 – 2.00 min"));
  EXPECT_THAT(text, HasSubstr("0.80  two, three")) << "80 s alone, 100 s beside others";
  EXPECT_THAT(text, HasSubstr("1.00  nobody"));
  EXPECT_THAT(text, HasSubstr("[1 one ="));
  EXPECT_THAT(
      text,
      HasSubstr("100 s, since that is all the work over what the GPUs do at best; the plan takes 20.0"));
  EXPECT_THAT(text, Not(HasSubstr("proven")));
  EXPECT_THAT(text, HasSubstr("$0.24"));
  EXPECT_THAT(text, HasSubstr("1.52")) << "183 s over 120 s";
  EXPECT_THAT(text, HasSubstr("  4  four: Its memory is unknown"));
}

TEST(ScheduleText, ATitleSaysHowEachGpuIsSetUp) {
  Plan plan = plan_in_slices();
  EXPECT_EQ(schedule_title(report_of(plan)),
            "3 jobs on 2 × a GPU, GPU 0: 3g.71gb, 4g.71gb; GPU 1: exclusive – 70 s");
  plan.layouts.insert(plan.layouts.end(), 4, "mps");
  EXPECT_EQ(schedule_title(report_of(plan)), "3 jobs on 6 × a GPU, set up differently – 70 s");
}

TEST(ScheduleText, SaysWhatIsProvenAndOfWhatRatiosAre) {
  Plan plan = made_up_plan();
  plan.optimal = true;
  plan.alternatives[0].outcome.joules = 1.08e5;
  ScheduleReport report = report_of(plan);
  report.aim = "energy";
  const std::string text = schedule_text(report, {});
  EXPECT_THAT(text, HasSubstr("proven best for these layouts"));
  EXPECT_THAT(text, AllOf(HasSubstr("Ratio of energy"), HasSubstr("1.50")));
  plan.alternatives[0].outcome.unplaced = {0};
  EXPECT_THAT(schedule_text(report, {}), HasSubstr("1 never start"));
}

TEST(ScheduleText, NoLineIsWiderThanTheTerminal) {
  const Plan plan = made_up_plan();
  for (const int width : {60, 80, 120, 200}) {
    const std::string text = schedule_text(report_of(plan), {.width = width});
    EXPECT_LE(widest_line(text), static_cast<std::size_t>(width)) << text;
  }
  EXPECT_EQ(widest_line(schedule_text(report_of(plan), {.width = 200})), 200U) << "the chart takes all of it";
}

TEST(ScheduleText, JobsTooShortForAColumnAreMarked) {
  Plan plan = made_up_plan();
  plan.instance.jobs.clear();
  plan.outcome.jobs.clear();
  for (int i = 0; i < 1000; ++i) {
    plan.instance.jobs.push_back({.name = "short", .kind = 0, .seconds = 0.1});
    plan.outcome.jobs.push_back({.start = 0.1 * i, .end = 0.1 * (i + 1), .places = {0}});
  }
  const std::string text = schedule_text(report_of(plan), {.width = 80});
  EXPECT_THAT(text, HasSubstr("+: several, too short to be drawn"));
  EXPECT_LE(widest_line(text), 80U);
}

TEST(ScheduleText, NamesBringNoCommandsToTheTerminal) {
  Plan plan = made_up_plan();
  plan.instance.jobs[0].name = "\x1b[31mred\nline";
  plan.layouts[0] = plan.alternatives[0].name = "\x1b[2J";
  const std::string text = schedule_text(report_of(plan), {});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ScheduleText, AServiceHasNoEnd) {
  const Plan plan = plan_in_slices();
  EXPECT_THAT(schedule_text(report_of(plan), {}), HasSubstr("serves on"));
  EXPECT_EQ(mean_speed(plan, 0), std::nullopt);
}

TEST(ScheduleJson, HasAllInBaseUnits) {
  Plan plan = made_up_plan();
  const nlohmann::ordered_json json = schedule_json(report_of(plan));
  EXPECT_EQ(json["jobs"][0]["end_seconds"], 100);
  EXPECT_EQ(json["jobs"][0]["mean_speed"], 0.8);
  EXPECT_EQ(json["jobs"][0]["beside"], nlohmann::json::array({"two", "three"}));
  EXPECT_TRUE(json["jobs"][3]["memory_bytes"].is_null());
  EXPECT_EQ(json["places"][1]["memory_bytes"], (80 * kGiB).count());
  EXPECT_EQ(json["makespan_seconds"], 120);
  EXPECT_EQ(json["money"], 0.24);
  EXPECT_EQ(json["lower_bound"]["seconds"], 100);
  EXPECT_NEAR(json["gap"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(json["alternatives"][0]["ratio"], 183.0 / 120);
  for (auto& place : plan.instance.places) place.price = 0;
  EXPECT_TRUE(schedule_json(report_of(plan))["money"].is_null());
  plan.instance.jobs[0].name = "\xFF";
  EXPECT_NO_THROW((void)schedule_json(report_of(plan)).dump());
}

TEST(SchedulePage, HasABarForEachJobAndSaysWhatItIs) {
  const Plan plan = made_up_plan();
  const std::string page = schedule_page(report_of(plan));
  EXPECT_THAT(
      page,
      HasSubstr("<title>one: from 0 s to 100 s, mean speed 0.80 of that alone, beside two, three</title>"));
  EXPECT_THAT(page, HasSubstr("memory: 48.0 GiB of 80.0 GiB at most"));
  EXPECT_THAT(page, HasSubstr("memory: nobody knows how much"));
  EXPECT_THAT(page, HasSubstr("class=\"activity\""));
  EXPECT_THAT(page, Not(HasSubstr("http://"))) << "it needs no network";
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  keep("schedule.html", page);
  keep("schedule-80.txt", schedule_text(report_of(plan), {.width = 80}));
}

TEST(SchedulePage, NothingEscapesIt) {
  Plan plan = made_up_plan();
  const std::string evil = "\"><script>alert(1)</script>";
  for (auto& job : plan.instance.jobs) job.name = evil;
  for (auto& place : plan.instance.places) place.name = evil;
  plan.instance.setups[0] = {.way = share::Way::mig, .profile = evil};
  plan.layouts = {evil, "other"};
  plan.alternatives[0].name = evil;
  ScheduleReport report = report_of(plan);
  report.device = report.aim = report.currency = evil;
  report.why = {evil};
  EXPECT_THAT(schedule_page(report), Not(HasSubstr("<script")));
}

TEST(ScheduleReport, TellsPlansOfThePlanner) {
  int waits = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const plan::schedule::TestWorld world = plan::schedule::random_world(seed, 30, 3);
    plan::schedule::Rates rates = world.known();
    const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {}, {.looks = 0});
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_LE(widest_line(schedule_text(report_of(*plan), {.width = 80})), 80U);
    EXPECT_EQ(schedule_json(report_of(*plan))["jobs"].size(), world.jobs.size());
    const std::string page = schedule_page(report_of(*plan));
    std::size_t bars = 0;
    for (std::size_t at = page.find("class=\"bar\""); at != std::string::npos;
         at = page.find("class=\"bar\"", at + 1))
      ++bars;
    EXPECT_EQ(bars, world.jobs.size());
    keep(fmt::format("planned-{}.html", seed), page);
    keep(fmt::format("planned-{}.txt", seed), schedule_text(report_of(*plan), {.width = 80, .color = true}));
    keep(fmt::format("planned-{}-200.txt", seed), schedule_text(report_of(*plan), {.width = 200}));
    const auto parsed = running::parse_toml_jobs(
        run_jobs_toml(*plan, std::vector(world.jobs.size(), ExportedJob{.command = {"true"}}), "x").value());
    ASSERT_TRUE(parsed) << parsed.error().front().text();
    for (const auto& row : parsed->jobs)
      if (row.spec.start || !row.spec.after.empty()) ++waits;
    keep(fmt::format("planned-{}.toml", seed),
         run_jobs_toml(*plan, std::vector(world.jobs.size(), ExportedJob{.command = {"true"}}), "x").value());
  }
  EXPECT_GT(waits, 10);
}

TEST(SchedulePage, SlicesHaveLanesOfTheirOwn) {
  const Plan plan = plan_in_slices();
  const std::string page = schedule_page(report_of(plan));
  EXPECT_THAT(page, HasSubstr("GPU 0:0, 3g.71gb"));
  EXPECT_THAT(page, HasSubstr("GPU 0:1, 4g.71gb"));
  keep("slices.html", page);
}

}  // namespace
}  // namespace plimsoll::report
