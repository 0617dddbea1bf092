#include "queue/submitted.hpp"

#include <cmath>

#include <fmt/format.h>

#include "queue/request.hpp"

namespace plimsoll::queue {
namespace {

using job::Json;

constexpr std::size_t kMostJobs = 100'000;
constexpr std::size_t kLongestToken = 100;
constexpr std::size_t kMostEnvironment = std::size_t{4} << 20;
constexpr double kHighestPriority = 1e6;

Result<running::Variables> variables_of(const Json& list) {
  if (!list.is_array()) return fail("its environment is no list");
  running::Variables out;
  for (const Json& pair : list) {
    auto name = pair.is_array() && pair.size() == 2 ? job::text_of(pair[0]) : std::nullopt;
    auto value = name ? job::text_of(pair[1]) : std::nullopt;
    if (!value) return fail("its environment has something that is no pair");
    if (name->empty() || name->find('=') != std::string::npos || name->find('\0') != std::string::npos ||
        value->find('\0') != std::string::npos)
      return fail("its environment has a name or a value that none can have");
    out.emplace_back(*std::move(name), *std::move(value));
  }
  return out;
}

Result<store::NewQueueJob> read_one(const Json& item) {
  std::optional<Error> error;
  const job::Fields fields(item, "submission", error);
  const Json& object = fields.value("request");
  if (error) return std::unexpected(*std::move(error));
  auto request = read_request(object);
  PLIMSOLL_TRY(request);
  store::NewQueueJob out{.user = {}, .name = request->job.name, .request = job::dump(request_json(*request))};
  if (fields.has("priority")) out.priority = fields.real("priority");
  if (!std::isfinite(out.priority) || std::abs(out.priority) > kHighestPriority)
    fields.complain("priority", "is from -1e6 to 1e6");
  if (fields.has("after")) out.after = fields.wholes("after");
  if (fields.has("held") && fields.flag("held")) out.state = store::QueueState::held;
  if (error) return std::unexpected(*std::move(error));
  return out;
}

}  // namespace

Result<Submitted> read_submitted(const Json& message, uid_t user, const std::string& pool, bool kept) {
  std::optional<Error> error;
  const job::Fields fields(message, "submission", error);
  const std::string environment = job::dump(fields.value("environment"));
  if (!error && environment.size() > kMostEnvironment)
    fields.complain("environment", "is too large");
  else if (const auto variables = error ? running::Variables() : variables_of(fields.value("environment"));
           !variables)
    return std::unexpected(variables.error());
  Submitted out;
  if (kept) out.token = fields.text("token");
  if (kept && (out.token.empty() || out.token.size() > kLongestToken))
    fields.complain("token", "has 1 to 100 characters");
  const Json::array_t& items = fields.list("jobs");
  if (items.size() > kMostJobs) fields.complain("jobs", "are too many at once");
  if (error) return std::unexpected(*std::move(error));
  if (items.empty()) return fail("a submission without jobs");
  // Each job keeps it: before it is copied for the first.
  if (environment.size() * items.size() > store::kMostQueueBytes)
    return std::unexpected(
        Error{fmt::format("{} jobs with an environment of {} bytes each are too much at once", items.size(),
                          environment.size()),
              {},
              fmt::format("Submit at most {} at a time.", store::kMostQueueBytes / environment.size())});
  for (const Json& item : items) {
    auto one = read_one(item);
    PLIMSOLL_TRY(one);
    one->user = fmt::format("{}", user);
    one->pool = pool;
    one->environment = environment;
    out.jobs.push_back(*std::move(one));
  }
  return out;
}

std::size_t Submitted::bytes() const {
  std::size_t out = 0;
  for (const store::NewQueueJob& job : jobs) out += job.request.size() + job.environment.size();
  return out;
}

Result<running::Variables> read_environment(std::string_view text) {
  const auto document = job::parse_within(text, kMostEnvironment, 4);
  PLIMSOLL_TRY(document);
  return variables_of(*document);
}

}  // namespace plimsoll::queue
