#include <array>
#include <cmath>

#include "base/named.hpp"
#include "base/printable.hpp"
#include "cuda/protocol.hpp"
#include "job/fields.hpp"

namespace plimsoll::cuda {
namespace {

using job::Fields;
using job::Json;
using job::real_json;
using job::reals_json;
using job::text_json;

constexpr int kAnswerLevels = 4;  // answer, parts, part, samples
constexpr std::size_t kMostParts = 16;

constexpr std::array<std::string_view, 3> kPlaces{"gpu-copies", "gpu-managed", "gpu-managed-prefetch"};
constexpr std::array<std::string_view, 3> kWorkers{"one-thread", "one-block", "many-blocks"};
constexpr std::array<std::string_view, 3> kMethods{"naive", "blocked", "library"};

std::optional<Place> place_named(std::string_view word) {
  return named<Place>(word, kPlaces);
}
std::optional<Workers> workers_named(std::string_view word) {
  return named<Workers>(word, kWorkers);
}
std::optional<Method> method_named(std::string_view word) {
  return named<Method>(word, kMethods);
}
template <class Enum>
std::string_view word(Enum value, const std::array<std::string_view, 3>& words) {
  return words[static_cast<std::size_t>(value)];
}
void add(Json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = real_json(*value);
}

/// Times of something that was done: there is at least one.
std::vector<double> samples(const Fields& f) {
  std::vector<double> found = f.not_negatives("samples");
  if (found.empty()) f.complain("samples", "is empty");
  return found;
}
double share(const Fields& f, std::string_view key) {
  const double found = f.not_negative(key);
  if (found > 1) f.complain(key, "is more than 1");
  return found;
}

Json json(const Device& a) {
  Json object = {{"type", "device"},
                 {"name", text_json(a.name)},
                 {"uuid", text_json(a.uuid)},
                 {"memory", a.memory},
                 {"free", a.free},
                 {"sms", a.multiprocessors},
                 {"l2", a.l2},
                 {"capability", text_json(a.capability)},
                 {"driver", text_json(a.driver)},
                 {"runtime", text_json(a.runtime)},
                 {"library", text_json(a.library)}};
  add(object, "sm_clock", a.sm_clock);
  add(object, "memory_clock", a.memory_clock);
  return object;
}
Device read_device(const Fields& f) {
  return {.name = f.text("name"),
          .uuid = f.text("uuid"),
          .memory = f.whole("memory"),
          .free = f.whole("free"),
          .multiprocessors = f.whole("sms"),
          .l2 = f.whole("l2"),
          .capability = f.text("capability"),
          .driver = f.text("driver"),
          .runtime = f.text("runtime"),
          .library = f.text("library"),
          .sm_clock = f.not_negative_if_any("sm_clock"),
          .memory_clock = f.not_negative_if_any("memory_clock")};
}

Json json(const Progress& a) {
  return {{"type", "progress"}, {"phase", text_json(a.phase)}, {"done", real_json(a.done)}};
}
Progress read_progress(const Fields& f) {
  return {f.text("phase"), share(f, "done")};
}

Json json(const VectorAdd& a) {
  Json parts = Json::array();
  for (const Part& part : a.parts)
    parts.push_back({{"name", text_json(part.name)}, {"samples", reals_json(part.samples)}});
  return {{"type", "vecadd"},       {"place", word(a.place, kPlaces)}, {"workers", word(a.workers, kWorkers)},
          {"elements", a.elements}, {"parts", std::move(parts)},       {"right", a.right}};
}
VectorAdd read_vector_add(const Fields& f) {
  VectorAdd a{.place = f.choice<Place>("place", place_named),
              .workers = f.choice<Workers>("workers", workers_named),
              .elements = f.whole("elements", 1, kMostElements),
              .parts = {},
              .right = f.flag("right")};
  f.each("parts", [&](const Fields& part) {
    a.parts.push_back({part.text("name"), samples(part)});
    if (a.parts.size() > kMostParts) f.complain("parts", "are too many");
  });
  if (a.parts.empty()) f.complain("parts", "are none");
  return a;
}

Json json(const MatrixProduct& a) {
  return {{"type", "matmul"},
          {"method", word(a.method, kMethods)},
          {"size", a.size},
          {"samples", reals_json(a.samples)},
          {"moved_bytes", real_json(a.moved_bytes)},
          {"largest_error", real_json(a.largest_error)},
          {"right", a.right},
          {"library", text_json(a.library)}};
}
MatrixProduct read_product(const Fields& f) {
  return {.method = f.choice<Method>("method", method_named),
          .size = f.whole("size", 1, kMostSize),
          .samples = samples(f),
          .moved_bytes = f.not_negative("moved_bytes"),
          .largest_error = f.real("largest_error"),
          .right = f.flag("right"),
          .library = f.text("library")};
}

Json json(const Rate& a) {
  Json object = {{"type", "rate"},
                 {"name", text_json(a.name)},
                 {"unit", text_json(a.unit)},
                 {"amount", real_json(a.amount)},
                 {"samples", reals_json(a.samples)}};
  add(object, "at", a.at);
  return object;
}
Rate read_rate(const Fields& f) {
  return {.name = f.text("name"),
          .unit = f.text("unit"),
          .amount = f.not_negative("amount"),
          .at = f.not_negative_if_any("at"),
          .samples = samples(f)};
}

Json json(const Turns& a) {
  Json gaps = Json::array();
  for (const Gap& gap : a.gaps) gaps.push_back({real_json(gap.begin), real_json(gap.end)});
  return {{"type", "turns"}, {"gaps", std::move(gaps)}};
}
Turns read_turns(const Fields& f) {
  Turns a;
  double before = 0;
  for (const Json& item : f.list("gaps")) {
    const auto begin = item.is_array() && item.size() == 2 ? job::real_of(item[0]) : std::nullopt;
    const auto end = begin ? job::real_of(item[1]) : std::nullopt;
    // As such that NaN is refused, too.
    if (!end || !(*begin >= before) || !(*end >= *begin) || !std::isfinite(*end)) {
      f.complain("gaps", "are not pairs of seconds in order");
      break;
    }
    if (a.gaps.size() == kMostGaps) {
      f.complain("gaps", "are too many");
      break;
    }
    a.gaps.push_back({*begin, *end});
    before = *end;
  }
  return a;
}

Json json(const Remark& a) {
  return {{"type", "remark"}, {"text", text_json(a.text)}};
}
Remark read_remark(const Fields& f) {
  return {f.text("text")};
}

Json json(const Window& a) {
  Json object = {{"type", "window"}, {"begin", a.begin}, {"seconds", real_json(a.seconds)}};
  add(object, "flops", a.flops);
  add(object, "bytes", a.bytes);
  return object;
}
Window read_window(const Fields& f) {
  return {f.flag("begin"), f.not_negative("seconds"), f.not_negative_if_any("flops"),
          f.not_negative_if_any("bytes")};
}

Json json(const Failure& a) {
  return {{"type", "failure"},
          {"message", text_json(a.message)},
          {"hint", text_json(a.hint)},
          {"kind", text_json(a.kind)}};
}
Failure read_failure(const Fields& f) {
  return {f.text("message"), f.text("hint"), f.text("kind")};
}

Json json(const Done&) {
  return {{"type", "done"}};
}
Done read_done(const Fields&) {
  return {};
}

struct Kind {
  std::string_view type;
  Answer (*read)(const Fields&);
};
template <auto read>
Answer answer(const Fields& fields) {
  return read(fields);
}
constexpr std::array kKinds = {
    Kind{"device", answer<read_device>},     Kind{"progress", answer<read_progress>},
    Kind{"vecadd", answer<read_vector_add>}, Kind{"matmul", answer<read_product>},
    Kind{"rate", answer<read_rate>},         Kind{"turns", answer<read_turns>},
    Kind{"remark", answer<read_remark>},     Kind{"window", answer<read_window>},
    Kind{"failure", answer<read_failure>},   Kind{"done", answer<read_done>}};
static_assert(kKinds.size() == std::variant_size_v<Answer>);

}  // namespace

std::string write(const Answer& answer) {
  return job::dump(std::visit([](const auto& a) { return json(a); }, answer));
}

Result<Answer> read_answer(std::string_view line) {
  const Result<Json> document = job::parse_within(line, kMostLineBytes, kAnswerLevels);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const Fields fields(*document, "", error);
  const std::string type = fields.text("type");
  for (const Kind& kind : kKinds) {
    if (error || kind.type != type) continue;
    Answer found = kind.read(fields);
    if (error) return std::unexpected(std::move(*error).within(kind.type));
    return found;
  }
  if (error) return std::unexpected(std::move(*error));
  return fail("no answer has the type {}", quote(type));
}

}  // namespace plimsoll::cuda
