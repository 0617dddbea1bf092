#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/precision_report.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(printable(text));
}

Json quantile_json(const std::optional<Quantile>& q) {
  if (!q) return nullptr;
  return {{"median", q->value}, {"low", value_or_null(q->low)}, {"high", value_or_null(q->high)}};
}

Json accuracy_share_json(const std::optional<learn::Share>& share) {
  if (!share) return nullptr;
  return {{"value", share->value()},
          {"low", share->low},
          {"high", share->high},
          {"right", share->right},
          {"examples", share->examples}};
}

Json lost_json(const std::optional<learn::PairedLoss>& lost) {
  if (!lost) return nullptr;
  return {{"value", lost->value},       {"low", lost->low},   {"high", lost->high}, {"most", lost->most},
          {"examples", lost->examples}, {"lost", lost->lost}, {"won", lost->won}};
}

Json form_json(const PrecisionForm& f) {
  Json seconds = quantile_json(f.seconds);
  if (!seconds.is_null()) seconds["samples"] = f.samples;
  return {{"depth", value_or_null(f.depth)},
          {"format", f.format},
          {"supported", !f.missing.has_value()},
          {"reason", f.missing ? Json(printable(*f.missing)) : Json(nullptr)},
          {"file", text_or_null(f.file)},
          {"bytes", value_or_null(f.bytes)},
          {"parameters", f.parameters},
          {"peak_allocated_bytes", value_or_null(f.peak_bytes)},
          {"seconds", std::move(seconds)},
          {"speed", quantile_json(f.speed)},
          {"joules", value_or_null(f.joules)},
          {"energy_source", text_or_null(f.energy_source)},
          {"accuracy", accuracy_share_json(f.accuracy)},
          {"lost", lost_json(f.lost)},
          {"lost_selecting", lost_json(f.lost_selecting)},
          {"library", text_or_null(f.library)},
          {"range", text_or_null(f.range)},
          {"kept_promise", value_or_null(f.kept_promise)},
          {"layers",
           {{"int8", f.eight_bit_layers}, {"all", f.layers}, {"int8_parameters", f.eight_bit_parameters}}},
          {"front", {{"time", f.front_time}, {"size", f.front_size}, {"energy", f.front_energy}}}};
}

std::string number_text(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

Json precision_json(const PrecisionStudy& s) {
  Json forms = Json::array(), layers = Json::array(), trainings = Json::array();
  for (const PrecisionForm& form : s.forms) forms.push_back(form_json(form));
  for (const PrecisionLayer& l : s.layers)
    layers.push_back({{"depth", value_or_null(l.depth)},
                      {"name", printable(l.name)},
                      {"kind", l.kind},
                      {"parameters", l.parameters},
                      {"cross_entropy_rise", l.loss_rise},
                      {"lost", lost_json(l.lost)},
                      {"kept", l.kept}});
  for (const PrecisionTraining& t : s.trainings)
    trainings.push_back({{"depth", t.depth},
                         {"epochs", t.epochs},
                         {"examples", t.examples},
                         {"accuracy", value_or_null(t.accuracy)},
                         {"seconds", t.seconds},
                         {"found", t.found}});
  Json notes = Json::array();
  for (const std::string& note : s.notes) notes.push_back(printable(note));
  return {{"version", 1},
          {"model", printable(s.model)},
          {"data",
           {{"path", printable(s.data)},
            {"calibration_examples", s.calibration},
            {"selection_examples", s.selecting},
            {"held_out_examples", s.held_out}}},
          {"device", s.device},
          {"processor", text_or_null(s.processor)},
          {"engine", text_or_null(s.engine)},
          {"batch", s.batch},
          {"threads", s.threads},
          {"loss_limit", value_or_null(s.limit)},
          {"forms", std::move(forms)},
          {"layers", std::move(layers)},
          {"trained", std::move(trainings)},
          {"notes", std::move(notes)}};
}

std::string precision_csv(const PrecisionStudy& study) {
  Table table;
  for (const char* title : {"depth",   "format",      "bytes",        "peak_allocated_bytes",
                            "seconds", "low_seconds", "high_seconds", "speed",
                            "joules",  "accuracy",    "low_accuracy", "high_accuracy",
                            "lost",    "low_lost",    "high_lost",    "int8_layers",
                            "layers",  "front_time",  "front_size",   "front_energy",
                            "reason"})
    table.columns.push_back({title});
  for (const PrecisionForm& f : study.forms) {
    const auto whole = [](const std::optional<std::int64_t>& v) { return v ? fmt::format("{}", *v) : ""; };
    const auto truth = [](bool v) { return std::string(v ? "true" : "false"); };
    using Real = std::optional<double>;
    table.rows.push_back({number_text(f.depth),
                          f.format,
                          whole(f.bytes),
                          whole(f.peak_bytes),
                          number_text(f.seconds ? Real(f.seconds->value) : Real()),
                          number_text(f.seconds ? f.seconds->low : Real()),
                          number_text(f.seconds ? f.seconds->high : Real()),
                          number_text(f.speed ? Real(f.speed->value) : Real()),
                          number_text(f.joules),
                          number_text(f.accuracy ? Real(f.accuracy->value()) : Real()),
                          number_text(f.accuracy ? Real(f.accuracy->low) : Real()),
                          number_text(f.accuracy ? Real(f.accuracy->high) : Real()),
                          number_text(f.lost ? Real(f.lost->value) : Real()),
                          number_text(f.lost ? Real(f.lost->low) : Real()),
                          number_text(f.lost ? Real(f.lost->high) : Real()),
                          fmt::format("{}", f.eight_bit_layers),
                          fmt::format("{}", f.layers),
                          truth(f.front_time),
                          truth(f.front_size),
                          truth(f.front_energy),
                          f.missing ? printable(*f.missing) : ""});
  }
  return to_csv(table);
}

}  // namespace plimsoll::report
