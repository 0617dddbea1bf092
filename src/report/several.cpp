#include "report/several.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/inspection.hpp"
#include "report/throughput.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using plan::Parallelism;
using plan::Way;

/// The name of the way alone, where it does not do.
std::string_view kind_words(Parallelism how) {
  switch (how) {
    case Parallelism::data: return "data-parallel";
    case Parallelism::zero1: return "ZeRO-1";
    case Parallelism::zero2: return "ZeRO-2";
    case Parallelism::zero3: return "ZeRO-3";
    case Parallelism::tensor: return "tensor parallel";
    case Parallelism::pipeline: return "pipeline";
    case Parallelism::tensor_pipeline: return "tensor parallel pipeline";
  }
  return "";
}

template <class T>
Json number_or_null(const std::optional<T>& value) {
  if constexpr (std::is_same_v<T, Seconds>)
    return value ? Json(value->value()) : Json(nullptr);
  else
    return value ? Json(*value) : Json(nullptr);
}

std::vector<const Way*> that_do(const plan::SeveralDevices& several) {
  std::vector<const Way*> out;
  for (const Way& way : several.ways)
    if (way.devices) out.push_back(&way);
  std::ranges::stable_sort(out, {}, [](const Way* way) { return *way->devices; });
  return out;
}

}  // namespace

std::string way_words(const Way& way) {
  std::string out(kind_words(way.how));
  if (way.how == Parallelism::pipeline) out = fmt::format("pipeline of {} stages", way.pipeline);
  if (way.how == Parallelism::tensor_pipeline)
    out = fmt::format("tensor {}, {} stages", way.tensor, way.pipeline);
  if (way.local_batch) out += fmt::format(", batch {}", grouped(*way.local_batch));
  if (way.checkpoint) out += ", checkpointed";
  return out;
}

std::string several_words(const plan::SeveralDevices& several) {
  if (!several.best) return several.why;
  const auto told = [](const Way& way) {
    return fmt::format("{} GPUs ({})", grouped(*way.devices), way_words(way));
  };
  const Way &best = several.ways[*several.best], &fewest = several.ways[*several.fewest];
  if (several.best == several.fewest) return fmt::format("{}: {}", told(best), several.why);
  return fmt::format("at least {}; best {}: {}", told(fewest), told(best), several.why);
}

Table several_table(const plan::SeveralDevices& several, bool training) {
  using enum Importance;
  Table t{{{"How", Align::left, false, always, true},
           {"GPUs", Align::right, false, always},
           {"Each needs", Align::right, false, telling},
           {"At most", Align::right},
           {training ? "Step" : "Pass", Align::right, false, telling},
           {"Samples/s", Align::right}},
          {}};
  for (const Way* way : that_do(several))
    t.rows.push_back({way_words(*way), grouped(*way->devices), text(way->minimum_device),
                      text(way->upper_device), way->seconds ? text(*way->seconds) : "unknown",
                      way->samples_per_second ? throughput_text(*way->samples_per_second) : "unknown"});
  return t;
}

std::vector<std::string> several_notes(const plan::SeveralDevices& several) {
  std::vector<std::string> out;
  const auto add = [&](std::string note) {
    if (std::ranges::find(out, note) == out.end()) out.push_back(std::move(note));
  };
  for (const Way& way : several.ways)
    if (!way.devices) add(fmt::format("{}: {}", kind_words(way.how), printable(way.reason, 200)));
  for (const Way* way : that_do(several))
    if (!way->no_time.empty()) {
      add(fmt::format("times are unknown where {}; --link gives it", printable(way->no_time, 300)));
      break;
    }
  return out;
}

Json to_json(const plan::SeveralDevices& several) {
  Json ways = Json::array();
  for (std::size_t i = 0; i < several.ways.size(); ++i) {
    const Way& way = several.ways[i];
    const bool does = way.devices.has_value();
    ways.push_back({{"how", name(way.how)},
                    {"best", several.best == i},
                    {"devices", number_or_null(way.devices)},
                    {"tensor", does ? Json(way.tensor) : Json(nullptr)},
                    {"pipeline", does ? Json(way.pipeline) : Json(nullptr)},
                    {"local_batch", number_or_null(way.local_batch)},
                    {"checkpoint", way.checkpoint},
                    {"minimum_device_bytes", does ? Json(way.minimum_device.count()) : Json(nullptr)},
                    {"high_device_bytes", does ? Json(way.upper_device.count()) : Json(nullptr)},
                    {"seconds", number_or_null(way.seconds)},
                    {"low_seconds", number_or_null(way.low)},
                    {"high_seconds", number_or_null(way.high)},
                    {"samples_per_second", number_or_null(way.samples_per_second)},
                    {"no_time", way.no_time.empty() ? Json(nullptr) : Json(printable(way.no_time, 400))},
                    {"reason", way.reason.empty() ? Json(nullptr) : Json(printable(way.reason, 400))}});
  }
  const auto devices_of = [&](const std::optional<std::size_t>& way) {
    return way ? number_or_null(several.ways[*way].devices) : Json(nullptr);
  };
  return {{"fewest_devices", devices_of(several.fewest)},
          {"best_devices", devices_of(several.best)},
          {"why", printable(several.why, 400)},
          {"ways", std::move(ways)}};
}

}  // namespace plimsoll::report
