// Any bytes, taken for a submission to the queue, a job as the store keeps it, and the notes, places,
// profiles and environments that stand beside it, must be read or refused with a message; what was read comes
// back equal from what is written.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "queue/learning.hpp"
#include "queue/live_attempt.hpp"
#include "queue/next_step.hpp"
#include "queue/request.hpp"
#include "queue/submitted.hpp"
#include "run/supervision.hpp"

using namespace plimsoll;

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void read_request(const job::Json& object) {
  const auto request = queue::read_request(object);
  if (!request) return must(!request.error().text().empty());
  must(!request->job.command.empty() && request->gpus >= 1 && request->keep <= 1);
  const auto again = queue::read_request(queue::request_json(*request));
  must(again && *again == *request);
  static_cast<void>(queue::fingerprint_of(*request));
}

void read_submission(const job::Json& message) {
  const auto read = queue::read_submitted(message, 0, "", true);
  if (!read) return must(!read.error().text().empty());
  must(!read->jobs.empty() && !read->token.empty());
  for (const store::NewQueueJob& job : read->jobs) {
    must(std::isfinite(job.priority) && queue::read_environment(job.environment).has_value());
    read_request(job::Json::parse(job.request, nullptr, false));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a message holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = running::read_message(text)) {
    read_submission(*message);
    read_request(*message);
  }
  if (const auto profile = queue::read_profile(text))
    must(queue::read_profile(queue::profile_text(*profile)) == profile);
  if (const auto notes = queue::read_notes(text)) {
    const auto again = queue::read_notes(queue::notes_text(*notes));
    must(again && queue::notes_text(*again) == queue::notes_text(*notes));
  }
  const queue::AttemptPlace place = queue::read_place(text);
  must(queue::place_text(queue::read_place(queue::place_text(place))) == queue::place_text(place));
  static_cast<void>(queue::read_environment(text));
  return 0;
}
