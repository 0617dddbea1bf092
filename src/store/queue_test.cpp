// Jobs of a queue in every database: what they keep, and who may change them.
#include <cmath>
#include <limits>
#include <thread>

#include "store/test_queue.hpp"

namespace plimsoll::store {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::job;
using test::Numbers;

class QueueContract : public test::QueueTest {};

TEST_P(QueueContract, KeepsWhatIsSubmittedUnderNumbersInOrder) {
  const NewQueueJob first{.user = "ada",
                          .name = "training",
                          .pool = "night",
                          .priority = 2.5,
                          .request = R"({"command":["python3","train.py"]})",
                          .environment = R"({"HOME":"/home/ada"})"};
  NewQueueJob second = job("second");
  second.state = QueueState::held;
  EXPECT_EQ(submit({first, second}, "a"), (Numbers{1, 2}));
  EXPECT_EQ(submit({job("third")}, "b"), (Numbers{3}));
  const QueueJob found = one(1);
  EXPECT_GT(found.submitted, 1'700'000'000'000'000);
  const QueueJob expected{.number = 1,
                          .user = "ada",
                          .name = "training",
                          .pool = "night",
                          .priority = 2.5,
                          .submitted = found.submitted,
                          .request = first.request,
                          .version = 1};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(one(2).state, QueueState::held);
  EXPECT_EQ(queue().environment(1), first.environment);
  EXPECT_EQ(queue().environment(2), "");
  EXPECT_EQ(queue().environment(4).error().kind, Error::Kind::not_found);
  EXPECT_EQ(queue().version(), 3);
  store_ = reopened();
  EXPECT_EQ(one(1), expected);
}

TEST_P(QueueContract, AnEnvironmentIsKeptUntilTheEnd) {
  NewQueueJob one = job("one");
  one.environment = R"([["TOKEN","secret"]])";
  submit({one, one}, "a");
  ASSERT_TRUE(set_state(1, QueueState::starting));
  EXPECT_EQ(queue().environment(1), one.environment);
  ASSERT_TRUE(set_state(1, QueueState::ended));
  EXPECT_EQ(queue().environment(1), "");
  EXPECT_EQ(queue().environment(2), one.environment);
}

TEST_P(QueueContract, GivesTheSameNumbersForTheSameToken) {
  EXPECT_EQ(submit({job("x")}, "other"), (Numbers{1}));
  EXPECT_EQ(submit({job("a"), job("b")}, "mine"), (Numbers{2, 3}));
  EXPECT_EQ(submit({job("a"), job("b")}, "mine"), (Numbers{2, 3}));
  EXPECT_EQ(jobs().size(), 3U);
  EXPECT_EQ(queue().version(), 3);
  EXPECT_FALSE(queue().submit({{job("a")}}, "mine")) << "another submission";
  EXPECT_FALSE(queue().submit({{job("a")}}, ""));
  EXPECT_FALSE(queue().submit({{job("a")}}, std::string(251, 't')));
  EXPECT_FALSE(queue().submit({}, "none"));
}

TEST_P(QueueContract, TakesSeveralSubmissionsEachForItself) {
  submit({job("earlier")}, "t0");
  const std::vector<NewQueueJob> one = {job("a")}, two = {job("b"), job("c", {-1})}, wrong = {job("", {-7})},
                                 missing = {job("d"), job("e", {99})};
  const std::vector<QueueSubmission> all = {{one, "t1"}, {wrong, "t2"}, {missing, "t3"}, {two, "t4"},
                                            {one, "t1"}, {{}, "t5"},    {one, "t4"},     {one, "t6"}};
  for (int time = 0; time < 2; ++time) {
    const Result<std::vector<Result<Numbers>>> answers = queue().submit_all(all);
    ASSERT_TRUE(answers) << answers.error().text();
    ASSERT_EQ(answers->size(), all.size());
    EXPECT_EQ(answers->at(0), (Numbers{2}));
    EXPECT_EQ(answers->at(1).error().kind, Error::Kind::bad_input);
    EXPECT_EQ(answers->at(2).error().kind, Error::Kind::not_found);
    EXPECT_EQ(answers->at(3), (Numbers{3, 4}));
    EXPECT_EQ(answers->at(4), (Numbers{2})) << "repeated at once";
    EXPECT_FALSE(answers->at(5));
    EXPECT_FALSE(answers->at(6)) << "another's token";
    EXPECT_EQ(answers->at(7), (Numbers{5}));
    EXPECT_EQ(jobs().size(), 5U);
    EXPECT_EQ(queue().version(), 5);
  }
  EXPECT_EQ(QueueTest::one(4).after, (Numbers{3}));
}

TEST_P(QueueContract, NamesJobsOfTheSameSubmissionByTheirPlace) {
  submit({job("earlier")}, "a");
  const Numbers made = submit({job("first", {-3}), job("second", {1, -1}), job("third")}, "b");
  ASSERT_EQ(made, (Numbers{2, 3, 4}));
  EXPECT_EQ(one(2).after, (Numbers{4})) << "a later one";
  EXPECT_EQ(one(3).after, (Numbers{1, 2}));
  EXPECT_EQ(one(4).after, Numbers());
  for (const Numbers& after : {Numbers{0}, Numbers{-3}, Numbers{-2}, Numbers(10'001, 1),
                               Numbers{std::numeric_limits<std::int64_t>::min()}})
    expect_refused(job("wrong", after));
  for (const Numbers& after : {Numbers{5}, Numbers{std::numeric_limits<std::int64_t>::max()}})
    expect_refused(job("wrong", after), Error::Kind::not_found);
  EXPECT_FALSE(queue().submit({{job("a", {-2}), job("b", {-3}), job("c", {-1})}}, "circle"));
  EXPECT_EQ(jobs().size(), 4U);
}

TEST_P(QueueContract, ChangesAllThatIsSaidAndNothingElse) {
  submit({job("a"), job("b")}, "t");
  const QueueJob before = one(1), other = one(2);
  const QueueDecision why{
      .at = 5, .job = 1, .host = "node7", .kind = "start", .reason = "room", .expected = "{}"};
  ASSERT_TRUE(change({{.number = 1,
                       .version = before.version,
                       .state = QueueState::starting,
                       .attempt = 1,
                       .host = "node7",
                       .place = "{\"gpu\":0}",
                       .started = 77}},
                     {why}));
  QueueJob expected = before;
  expected.state = QueueState::starting;
  expected.attempt = 1;
  expected.host = "node7";
  expected.place = "{\"gpu\":0}";
  expected.started = 77;
  expected.version = 3;
  EXPECT_EQ(one(1), expected);
  EXPECT_EQ(one(2), other);
  ASSERT_TRUE(change({{.number = 1,
                       .version = 3,
                       .state = QueueState::ended,
                       .run = "r",
                       .outcome = "finished",
                       .reason = "done",
                       .notes = "{}",
                       .priority = -1.5,
                       .ended = 99,
                       .after = Numbers{2}}}));
  expected.state = QueueState::ended;
  expected.run = "r";
  expected.outcome = "finished";
  expected.reason = "done";
  expected.notes = "{}";
  expected.priority = -1.5;
  expected.ended = 99;
  expected.after = {2};
  expected.version = 4;
  EXPECT_EQ(one(1), expected);
  ASSERT_EQ(decisions().size(), 1U);
  QueueDecision kept = why;
  kept.id = 1;
  EXPECT_EQ(decisions().front(), kept);
}

TEST_P(QueueContract, ChangesNothingWhereAJobHasAnotherVersion) {
  submit({job("a"), job("b")}, "t");
  ASSERT_TRUE(change({{.number = 2, .version = 2, .reason = "seen"}}));
  const QueueJob first = one(1), second = one(2);
  EXPECT_FALSE(
      change({{.number = 1, .version = 1, .state = QueueState::starting}, {.number = 2, .version = 2}},
             {{.job = 1, .kind = "start"}}));
  EXPECT_EQ(one(1), first);
  EXPECT_EQ(one(2), second);
  EXPECT_EQ(decisions().size(), 0U);
  EXPECT_EQ(queue().version(), 3);
  EXPECT_TRUE(
      change({{.number = 1, .version = 1, .state = QueueState::starting}, {.number = 2, .version = 3}}));
  EXPECT_EQ(one(1).version, 4);
  EXPECT_EQ(one(2).version, 5) << "each has its own, also one that says nothing";
  const Result<bool> missing = queue().change({{{.number = 9, .version = 1}}}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Error::Kind::not_found);
  EXPECT_FALSE(queue().change({{{.number = 1, .version = 4}, {.number = 1, .version = 4}}}, {}));
}

TEST_P(QueueContract, GoesFromStateToStateAsAJobCan) {
  using enum QueueState;
  submit({job("a")}, "t");
  for (const QueueState state : {held, waiting, starting, waiting, starting, running, waiting, starting,
                                 running, held, waiting, starting, running, running, ended}) {
    ASSERT_TRUE(set_state(1, state)) << queue_state_name(state);
    EXPECT_EQ(one(1).state, state);
  }
  for (const QueueState state : {waiting, held, starting, running, ended})
    expect_refused({.number = 1, .version = one(1).version, .state = state});
  EXPECT_TRUE(change({{.number = 1, .version = one(1).version, .notes = "read by its user"}}));
  submit({job("b"), job("c")}, "u");
  expect_refused({.number = 2, .version = one(2).version, .state = running});
  ASSERT_TRUE(set_state(2, held));
  expect_refused({.number = 2, .version = one(2).version, .state = starting});
  expect_refused({.number = 2, .version = one(2).version, .state = running});
  EXPECT_TRUE(set_state(2, ended)) << "cancelled";
  for (const QueueState state : {waiting, held, starting, running, ended})
    EXPECT_EQ(parse_queue_state(queue_state_name(state)), state);
  EXPECT_EQ(parse_queue_state("Waiting"), std::nullopt);
}

TEST_P(QueueContract, IsChangedByAClaimsHolderOnlyWhileItHoldsIt) {
  submit({job("a")}, "t");
  const auto touch = [&](const Claim& held) {
    return change({{.number = 1, .version = one(1).version, .reason = "touched"}},
                  {{.job = 1, .kind = "touch"}}, held);
  };
  const Claim mine = store_->claims().take({"queue/node7", "me", test::kLong})->claim;
  EXPECT_TRUE(touch(mine));
  Claim wrong = mine;
  wrong.holder = "you";
  EXPECT_FALSE(touch(wrong));
  wrong = mine;
  ++wrong.term;
  EXPECT_FALSE(touch(wrong));
  wrong = mine;
  wrong.name = "queue/node8";
  EXPECT_FALSE(touch(wrong));
  // Expired, though nobody has asked for it since.
  ASSERT_TRUE(store_->claims().renew(mine, 1ms)->held);
  const auto end = std::chrono::steady_clock::now() + test::kPatience;
  while (!(*store_->claims().held(mine.name))->expired && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(touch(mine));
  ASSERT_TRUE(store_->claims().renew(mine, test::kLong)->held);
  EXPECT_TRUE(touch(mine));
  // Given back, free, and then another's.
  ASSERT_EQ(store_->claims().release(mine), true);
  EXPECT_FALSE(touch(mine));
  wrong = mine;
  wrong.holder = "";
  EXPECT_FALSE(touch(wrong));
  const Claim others = store_->claims().take({"queue/node7", "next", test::kLong})->claim;
  EXPECT_FALSE(touch(mine));
  EXPECT_TRUE(touch(others));
  EXPECT_EQ(decisions().size(), 3U) << "none of what was refused";
}

TEST_P(QueueContract, FindsJobsByAllThatIsSaid) {
  std::vector<NewQueueJob> some;
  for (int i = 0; i < 6; ++i) {
    some.push_back(job(std::to_string(i)));
    some.back().user = i % 2 == 0 ? "ada" : "bob";
    some.back().pool = i < 3 ? "day" : "night";
  }
  submit(some, "t");
  ASSERT_TRUE(change({{.number = 2, .version = 2, .state = QueueState::starting, .host = "node7"},
                      {.number = 5, .version = 5, .state = QueueState::held}}));
  EXPECT_EQ(numbers({}), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers({.states = {QueueState::held, QueueState::starting}}), (Numbers{2, 5}));
  EXPECT_EQ(numbers({.states = {QueueState::waiting}, .user = "ada"}), (Numbers{1, 3}));
  EXPECT_EQ(numbers({.pool = "night"}), (Numbers{4, 5, 6}));
  EXPECT_EQ(numbers({.host = "node7"}), (Numbers{2}));
  EXPECT_EQ(numbers({.numbers = {6, 1, 99}}), (Numbers{1, 6}));
  EXPECT_EQ(numbers({.limit = 2, .last = true}), (Numbers{6, 5}));
  EXPECT_EQ(numbers({.limit = 2, .above = 2}), (Numbers{3, 4}));
  EXPECT_EQ(numbers({.newer_than = 5}), (Numbers{6, 2, 5})) << "in the order of changes";
  EXPECT_EQ(numbers({.newer_than = 5, .limit = 1}), (Numbers{6}));
  EXPECT_EQ(numbers({.states = {QueueState::held}, .newer_than = 7}), (Numbers{5}));
  EXPECT_EQ(numbers({.newer_than = 8}), Numbers());
  EXPECT_EQ(numbers({.limit = 0}), Numbers());
  for (const QueueJob& found : jobs({.with_request = false})) EXPECT_EQ(found.request, "");
  for (const QueueJob& found : jobs()) EXPECT_EQ(found.request, some[0].request);
}

TEST_P(QueueContract, RefusesWhatIsTooLong) {
  const auto wrong = [&](const auto& spoil) {
    NewQueueJob spoilt = job("wrong");
    spoil(spoilt);
    expect_refused(spoilt);
  };
  wrong([](NewQueueJob& j) { j.user = ""; });
  wrong([](NewQueueJob& j) { j.user = std::string(251, 'u'); });
  wrong([](NewQueueJob& j) { j.name = std::string(251, 'n'); });
  wrong([](NewQueueJob& j) { j.pool = std::string(251, 'p'); });
  wrong([](NewQueueJob& j) { j.priority = std::nan(""); });
  wrong([](NewQueueJob& j) { j.priority = INFINITY; });
  wrong([](NewQueueJob& j) { j.request = std::string((16U << 20U) + 1, 'r'); });
  wrong([](NewQueueJob& j) { j.environment = std::string((4U << 20U) + 1, 'e'); });
  wrong([](NewQueueJob& j) { j.state = QueueState::running; });
  NewQueueJob long_one = job("long");
  long_one.request = std::string(16U << 20U, 'r');
  EXPECT_FALSE(queue().submit(std::vector<NewQueueJob>(17, long_one), "bytes"));
  EXPECT_FALSE(queue().submit(std::vector<NewQueueJob>(kMostQueueJobs + 1, job("")), "many"));
  EXPECT_EQ(jobs().size(), 0U);
  submit({job("a")}, "t");
  const std::string remark((64U << 10U) + 1, 'x');
  expect_refused({.number = 1, .version = 1, .host = std::string(251, 'h')});
  expect_refused({.number = 1, .version = 1, .place = remark});
  expect_refused({.number = 1, .version = 1, .run = std::string(251, 'r')});
  expect_refused({.number = 1, .version = 1, .outcome = remark});
  expect_refused({.number = 1, .version = 1, .reason = remark});
  expect_refused({.number = 1, .version = 1, .notes = std::string((1U << 20U) + 1, 'n')});
  expect_refused({.number = 1, .version = 1, .priority = std::nan("")});
  expect_refused({.number = 1, .version = 1, .after = Numbers{1}});
  for (const QueueDecision& bad :
       {QueueDecision{.job = 1}, QueueDecision{.kind = std::string(251, 'k')},
        QueueDecision{.host = std::string(251, 'h'), .kind = "k"},
        QueueDecision{.kind = "k", .reason = remark}, QueueDecision{.kind = "k", .expected = remark}})
    EXPECT_FALSE(queue().change({}, {{bad}}));
  EXPECT_FALSE(queue().keep_profile("", "{}"));
  EXPECT_FALSE(queue().keep_profile(std::string(251, 'f'), "{}"));
  EXPECT_FALSE(queue().keep_profile("f", std::string((1U << 20U) + 1, 'p')));
  EXPECT_EQ(queue().version(), 1);
}

TEST_P(QueueContract, KeepsAnyTextAsItIs) {
  const std::string hostile = "'; DROP TABLE queue_job; --\0\xFF\xF4\x8F\xBC\x80 \" ? $1 % \n\xC3\xA4"s;
  NewQueueJob strange{
      .user = hostile, .name = hostile, .pool = hostile, .request = hostile, .environment = hostile};
  submit({strange}, hostile);
  EXPECT_EQ(submit({strange}, hostile), (Numbers{1}));
  ASSERT_TRUE(change(
      {{.number = 1,
        .version = 1,
        .host = hostile,
        .place = hostile,
        .run = hostile,
        .outcome = hostile,
        .reason = hostile,
        .notes = hostile}},
      {{.at = 1, .job = 1, .host = hostile, .kind = hostile, .reason = hostile, .expected = hostile}}));
  const QueueJob found = one(1);
  for (const std::string& text :
       {found.user, found.name, found.pool, found.request, found.host, found.place, found.run, found.outcome,
        found.reason, found.notes, *queue().environment(1)})
    EXPECT_EQ(text, hostile);
  EXPECT_EQ(numbers({.user = hostile, .pool = hostile, .host = hostile}), (Numbers{1}));
  EXPECT_EQ(numbers({.user = "' OR 1 = 1 --"}), Numbers());
  const QueueDecision expected{1, 1, 1, hostile, hostile, hostile, hostile};
  EXPECT_EQ(decisions(), std::vector<QueueDecision>{expected});
  ASSERT_TRUE(queue().keep_profile(hostile, hostile));
  EXPECT_EQ(queue().profiles({{hostile}})->at(hostile), hostile);
}

TEST_P(QueueContract, KeepsTheLastDecisions) {
  submit({job("a"), job("b")}, "t");
  ASSERT_TRUE(change({}, {{.job = 1, .kind = "wait"}, {.job = 2, .kind = "wait"}}));
  ASSERT_TRUE(change({}, {{.job = 1, .kind = "start"}}));
  const std::vector<QueueDecision> about = decisions(1);
  ASSERT_EQ(about.size(), 2U);
  EXPECT_EQ(about[1].kind, "start");
  EXPECT_GT(about[1].at, 1'700'000'000'000'000) << "by the store's clock";
  EXPECT_EQ(decisions({}, about[0].id).size(), 2U);
  EXPECT_EQ(queue().decisions({}, 0, 1)->size(), 1U);
  // As if so many had been made since.
  execute("UPDATE queue_counter SET decision = 100001");
  ASSERT_TRUE(change({}, {{.job = 2, .kind = "start"}}));
  const std::vector<QueueDecision> left = decisions();
  ASSERT_EQ(left.size(), 2U) << "the third and the newest";
  EXPECT_EQ(left[0].id, 3);
  EXPECT_EQ(left[1].id, 100'002);
}

TEST_P(QueueContract, KeepsTheLastProfiles) {
  ASSERT_TRUE(queue().keep_profile("a", "{\"one\":1}"));
  ASSERT_TRUE(queue().keep_profile("b", "{}"));
  ASSERT_TRUE(queue().keep_profile("a", "{\"two\":2}"));
  using Profiles = std::map<std::string, std::string>;
  EXPECT_EQ(queue().profiles({{"a", "b", "c"}}), (Profiles{{"a", "{\"two\":2}"}, {"b", "{}"}}));
  EXPECT_EQ(queue().profiles({}), Profiles());
  EXPECT_FALSE(queue().profiles({{""}}));
  execute(
      "INSERT INTO queue_profile(fingerprint, profile, kept) WITH RECURSIVE n(i) AS "
      "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9998) SELECT 'old' || i, '', i FROM n");
  EXPECT_EQ(queue().profiles({{"old1"}})->size(), 1U);
  ASSERT_TRUE(queue().keep_profile("c", "{}"));
  EXPECT_EQ(queue().profiles({{"a", "b", "c", "old1", "old2"}})->size(), 4U) << "the oldest has left";
}

TEST_P(QueueContract, TakesTenThousandJobsAtOnceAndGivesThemPageByPage) {
  constexpr std::int64_t kJobs = 10'000;
  std::vector<NewQueueJob> many(kJobs, job("sweep"));
  many.back().after.assign(kJobs - 1, 0);
  for (std::int64_t i = 1; i < kJobs; ++i) many.back().after[static_cast<std::size_t>(i - 1)] = -i;
  ASSERT_EQ(submit(many, "t").size(), static_cast<std::size_t>(kJobs));
  std::int64_t last = 0, seen = 0;
  for (std::vector<QueueJob> page = jobs(); !page.empty(); page = jobs({.above = last}))
    for (const QueueJob& found : page) {
      EXPECT_EQ(found.number, ++seen);
      last = found.number;
    }
  EXPECT_EQ(seen, kJobs);
  EXPECT_EQ(one(kJobs).after.size(), static_cast<std::size_t>(kJobs - 1));
  std::vector<QueueChange> all;
  for (const QueueJob& found : jobs({.limit = 100'000, .with_request = false}))
    all.push_back({.number = found.number, .version = found.version, .state = QueueState::held});
  EXPECT_TRUE(change(all));
  EXPECT_EQ(jobs({.states = {QueueState::waiting}}).size(), 0U);
}

TEST_P(QueueContract, GivesLongRequestsAFewAtATime) {
  std::vector<NewQueueJob> many(6, job("long"));
  for (NewQueueJob& each : many) each.request = std::string(16U << 20U, 'r');
  submit(many, "t");
  const std::vector<QueueJob> first = jobs();
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(first.back().request, many.back().request);
  EXPECT_EQ(numbers({.above = 4}), (Numbers{5, 6}));
  EXPECT_EQ(jobs({.with_request = false}).size(), 6U);
}

PLIMSOLL_IN_EVERY_STORE(QueueContract);

}  // namespace
}  // namespace plimsoll::store
