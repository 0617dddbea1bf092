#include "queue/live_attempt.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "job/fields.hpp"

namespace plimsoll::queue {

std::string kept_words(std::string_view text) {
  constexpr std::size_t kMostCharacters = 4000;
  return std::string(is_utf8(text) ? first_characters(text, kMostCharacters)
                                   : text.substr(0, kMostCharacters));
}

std::string kept_run(std::string_view id) {
  constexpr std::size_t kLongestId = 100;
  return is_plain(id) && id.size() <= kLongestId ? std::string(id) : std::string();
}

running::Ended kept_end(running::Ended ended) {
  constexpr Bytes kMostMemory = std::int64_t{1024} * 1024 * kGiB;  // beyond any GPU's
  ended.run = kept_run(ended.run);
  ended.reason = kept_words(ended.reason);
  if (ended.peak_gpu_bytes) ended.peak_gpu_bytes = std::min(*ended.peak_gpu_bytes, kMostMemory);
  return ended;
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string place_text(const AttemptPlace& place) {
  return job::dump({{"devices", job::texts_json(place.devices)},
                    {"sharing", place.sharing},
                    {"given_bytes", place.given.count()},
                    {"speed", place.speed},
                    {"low_speed", place.low},
                    {"home", job::text_json(place.home)},
                    {"lease_seconds", place.lease.value()}});
}

AttemptPlace read_place(std::string_view text) {
  AttemptPlace out;
  const auto document = job::parse_within(text, std::size_t{64} << 10, 4);
  if (!document || !document->is_object()) return out;
  std::optional<Error> error;
  const job::Fields fields(*document, "place", error);
  out.devices = fields.texts("devices");
  out.sharing = fields.text("sharing");
  out.given = Bytes(fields.whole("given_bytes"));
  out.speed = fields.not_negative("speed");
  out.low = fields.not_negative("low_speed");
  out.home = fields.text("home");
  out.lease = Seconds(fields.not_negative("lease_seconds"));
  return error ? AttemptPlace() : out;
}

}  // namespace plimsoll::queue
