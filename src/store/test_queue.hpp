#pragma once
#include <string>
#include <utility>
#include <vector>

#include "store/test_store.hpp"

namespace plimsoll::store::test {

using Numbers = std::vector<std::int64_t>;

/// For a lock that others pass on: they may be slow to.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(5);
inline constexpr std::chrono::milliseconds kLong = std::chrono::hours(24);

inline NewQueueJob job(const std::string& name, Numbers after = {}) {
  return {.user = "ada", .name = name, .after = std::move(after), .request = "{\"command\":[\"true\"]}"};
}

/// A store's queue, with what fails told at once.
class QueueTest : public EveryStore {
 protected:
  Queue& queue() { return store_->queue(); }

  Numbers submit(const std::vector<NewQueueJob>& jobs, const std::string& token) {
    const Result<Numbers> numbers = queue().submit(jobs, token);
    if (!numbers) ADD_FAILURE() << numbers.error().text();
    return numbers.value_or(Numbers());
  }
  std::vector<QueueJob> jobs(const QueueSearch& search = {}) {
    Result<std::vector<QueueJob>> found = queue().jobs(search);
    if (!found) ADD_FAILURE() << found.error().text();
    return std::move(found).value_or(std::vector<QueueJob>());
  }
  Numbers numbers(const QueueSearch& search) {
    Numbers out;
    for (const QueueJob& found : jobs(search)) out.push_back(found.number);
    return out;
  }
  QueueJob one(std::int64_t number) {
    std::vector<QueueJob> found = jobs({.numbers = {number}});
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? QueueJob() : std::move(found.front());
  }
  bool change(const std::vector<QueueChange>& changes, const std::vector<QueueDecision>& decisions = {},
              const std::optional<Claim>& held = {}) {
    const Result<bool> done = queue().change(changes, decisions, held);
    if (!done) ADD_FAILURE() << done.error().text();
    return done.value_or(false);
  }
  bool set_state(std::int64_t number, QueueState state) {
    return change({{.number = number, .version = one(number).version, .state = state}});
  }
  std::vector<QueueDecision> decisions(std::optional<std::int64_t> about = {}, std::int64_t newer_than = 0) {
    Result<std::vector<QueueDecision>> found = queue().decisions(about, newer_than, 1000);
    if (!found) ADD_FAILURE() << found.error().text();
    return std::move(found).value_or(std::vector<QueueDecision>());
  }
  void expect_refused(const NewQueueJob& wrong, Error::Kind kind = Error::Kind::bad_input) {
    const Result<Numbers> refused = queue().submit({{job("good"), wrong}}, "refused");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, kind) << refused.error().text();
  }
  void expect_refused(const QueueChange& wrong) {
    const Result<bool> refused = queue().change({{wrong}}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Error::Kind::bad_input) << refused.error().text();
  }
};

}  // namespace plimsoll::store::test
