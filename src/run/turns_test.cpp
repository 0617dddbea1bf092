#include "run/turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobRow row(std::size_t line, const std::string& name, std::vector<std::string> after,
           const std::string& workload = "w") {
  JobRow out;
  out.spec.command = {"true"};
  out.spec.workload = workload;
  out.spec.name = name;
  out.spec.after = std::move(after);
  out.line = line;
  return out;
}

std::vector<std::string> told(const std::vector<JobRow>& rows) {
  std::vector<std::string> out;
  for (const Error& error : turn_mistakes(rows))
    out.push_back(error.text() + (error.hint.empty() ? "" : " | " + error.hint));
  return out;
}

TEST(Turns, WhatCanBeFollowedIsTaken) {
  EXPECT_THAT(told({row(1, "", {}), row(2, "", {})}), IsEmpty());
  EXPECT_THAT(
      told({row(1, "c", {"a", "b"}), row(2, "a", {}), row(3, "b", {"a", "a"}), row(4, "d", {"c", "a"})}),
      IsEmpty());
  EXPECT_THAT(told({row(1, "twice", {}), row(2, "twice", {"a"}), row(3, "a", {})}), IsEmpty())
      << "nobody waits for them";
  EXPECT_THAT(told({row(1, "a", {}, "v"), row(2, "a", {}), row(3, "b", {"a"})}), IsEmpty());
}

TEST(Turns, AllMistakesAreTold) {
  EXPECT_THAT(
      told({row(2, "train", {}), row(3, "train-2", {"trian"}), row(4, "x", {"elsewhere", ""}), row(5, "", {}),
            row(6, "y", {"train"}, ""), row(7, "elsewhere", {}, "v"), row(8, "z", {"z"}), row(9, "twin", {}),
            row(10, "twin", {"twin"})}),
      ElementsAre(
          "line 3: it waits for 'trian', but no job of workload 'w' has that name | Did you mean train?",
          "line 4: it waits for 'elsewhere', but no job of workload 'w' has that name",
          HasSubstr("line 4: it waits for '', but no job of workload 'w' has that name"),
          "line 6: it waits for 'train', but is in no workload", "line 8: it waits for itself",
          "line 10: it waits for 'twin', but 2 jobs of workload 'w' have that name"));
}

TEST(Turns, EachCircleIsToldOnce) {
  EXPECT_THAT(
      told({row(1, "before", {"b"}), row(2, "a", {"c", "free"}), row(3, "b", {"a"}), row(4, "c", {"b"}),
            row(5, "free", {}), row(6, "p", {"q"}), row(7, "q", {"free", "p"}), row(8, "end", {"p"})}),
      ElementsAre("line 2: 'a' waits for 'c', which waits for 'b', which waits for 'a'",
                  "line 6: 'p' waits for 'q', which waits for 'p'"));
}

TEST(Turns, ALargeCircleIsToldInShort) {
  constexpr std::size_t kCount = 10'000;
  std::vector<JobRow> rows;
  for (std::size_t i = 0; i < kCount; ++i)
    rows.push_back(row(i + 1, fmt::format("j{}", i), {fmt::format("j{}", (i + 1) % kCount)}));
  EXPECT_THAT(told(rows),
              ElementsAre(HasSubstr("which waits for 'j7', which waits for 9992 more, the last of "
                                    "which waits for 'j0'")));
}

TEST(Turns, ThereIsALimit) {
  const std::vector<std::string> many(kMostAwaited + 1, "a");
  EXPECT_THAT(told({row(1, "a", {}), row(2, "b", many)}), ElementsAre(std::string(kTooManyAwaited)));
}

TEST(Turns, NamesThatAreNotThereHaveEnded) {
  const std::vector<JobSpec> jobs{row(1, "b", {"a", "gone"}).spec, row(2, "a", {}).spec,
                                  row(3, "c", {"b", "a"}).spec, row(4, "a", {}, "v").spec};
  EXPECT_THAT(awaited_by(jobs), ElementsAre(ElementsAre(1U), IsEmpty(), ElementsAre(0U, 1U), IsEmpty()));
}

TEST(Turns, AMarkTellsDirectoriesAndStoresApart) {
  JobSpec job = row(1, "b", {"a"}).spec;
  const std::string mark = turn_mark(job, "one.db");
  EXPECT_EQ(turn_mark(job, "one.db"), mark);
  EXPECT_NE(turn_mark(job, "two.db"), mark);
  job.directory = "/elsewhere";
  EXPECT_NE(turn_mark(job, "one.db"), mark);
}

}  // namespace
}  // namespace plimsoll::running
