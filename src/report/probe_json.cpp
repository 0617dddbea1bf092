#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "probe/ceilings.hpp"
#include "report/probe_report.hpp"
#include "report/probe_words.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using probe::Survey;
using probe::SurveyedDevice;

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json texts(const std::vector<std::string>& lines) {
  Json out = Json::array();
  for (const std::string& line : lines) out.push_back(printable(line));
  return out;
}

/// A figure that says itself what it is.
Json metric(std::string_view name, const probe::Median& value, std::string_view unit,
            const std::vector<double>& samples) {
  return {{"name", printable(name)},  {"value", value.value},   {"unit", printable(unit)},
          {"provenance", "measured"}, {"spread", value.spread}, {"samples", samples}};
}

Json vector_add(const probe::VectorAdd& add, std::string_view kind) {
  Json metrics = Json::array();
  for (const probe::Part& part : add.parts)
    if (!part.samples.empty())
      metrics.push_back(metric(part.name, probe::time_of(part.samples), "s", part.samples));
  if (const auto bandwidth = probe::bandwidth_of(add))
    metrics.push_back(metric("bandwidth", *bandwidth, "B/s", probe::part_of(add, "kernel")->samples));
  return {{"device", kind},           {"place", name(add.place)}, {"workers", name(add.workers)},
          {"elements", add.elements}, {"right", add.right},       {"metrics", std::move(metrics)}};
}

Json product(const probe::MatrixProduct& p, std::string_view kind) {
  Json metrics = Json::array();
  if (!p.samples.empty()) metrics.push_back(metric("time", probe::time_of(p.samples), "s", p.samples));
  if (const auto rate = probe::flops_of(p)) metrics.push_back(metric("rate", *rate, "FLOP/s", p.samples));
  if (p.moved_bytes > 0)
    metrics.push_back(
        {{"name", "moved"}, {"value", p.moved_bytes}, {"unit", "B"}, {"provenance", "assumed"}});
  return {{"device", kind},
          {"method", name(p.method)},
          {"library", p.library.empty() ? Json(nullptr) : Json(printable(p.library))},
          {"size", p.size},
          {"right", p.right},
          {"largest_error", p.largest_error},
          {"metrics", std::move(metrics)}};
}

/// With its samples, where it is not of a counter.
Json ceiling(const hardware::Ceiling& c, const SurveyedDevice& device, std::string_view kind) {
  const auto rate = std::ranges::find_if(device.findings.rates, [&](const probe::Rate& r) {
    return r.name == c.name && r.at == c.at && r.unit == c.unit;
  });
  Json out = {{"device", kind}};
  out.update(metric(c.name, {c.figure.value, c.spread}, c.unit,
                    rate == device.findings.rates.end() ? std::vector<double>() : rate->samples));
  out["at_bytes"] = maybe(c.at);
  out["peak"] = maybe(probe::peak_of(device.device, c.name, c.at));
  out["share_of_peak"] = maybe(c.share_of_peak);
  out["source"] = printable(c.figure.source);
  out["date"] = printable(c.figure.date);
  return out;
}

template <class Each>
void for_each_named_device(const Survey& survey, const Each& each) {
  if (survey.cpu) each(*survey.cpu, "cpu");
  if (survey.gpu) each(*survey.gpu, "gpu");
}

std::string cell(const Json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Json to_json(const Survey& survey) {
  Json out = {{"date", survey.date},
              {"devices", Json::array()},
              {"vecadd", Json::array()},
              {"matmul", Json::array()},
              {"ceilings", Json::array()}};
  for_each_named_device(survey, [&](const SurveyedDevice& device, std::string_view kind) {
    out["devices"].push_back({{"device", kind},
                              {"id", printable(device.device.id)},
                              {"name", printable(device.device.name)},
                              {"setup", printable(device.setup)},
                              {"doubts", texts(device.doubts)},
                              {"remarks", texts(device.findings.remarks)}});
    for (const probe::VectorAdd& add : device.findings.vector_adds)
      out["vecadd"].push_back(vector_add(add, kind));
    for (const probe::MatrixProduct& p : device.findings.products) out["matmul"].push_back(product(p, kind));
    for (const hardware::Ceiling& c : device.ceilings) out["ceilings"].push_back(ceiling(c, device, kind));
  });
  out["no_gpu"] = survey.no_gpu ? Json{{"message", printable(survey.no_gpu->text())},
                                       {"hint", printable(survey.no_gpu->hint)}}
                                : Json(nullptr);
  return out;
}

Table survey_csv(const Survey& survey) {
  Table table{{}, {}};
  for (const char* title : {"study", "device", "variant", "workers", "size", "size_unit", "metric", "value",
                            "unit", "spread", "samples", "share_of_peak", "right"})
    table.columns.push_back({title});
  const Json document = to_json(survey);
  const auto metrics = [&](const Json& row, const char* study, const Json& variant, const Json& workers,
                           const Json& size, const char* unit) {
    for (const Json& m : row["metrics"])
      table.rows.push_back(
          {study, cell(row["device"]), cell(variant), cell(workers), cell(size), unit, cell(m["name"]),
           cell(m["value"]), cell(m["unit"]), cell(m.value("spread", Json())),
           m.contains("samples") ? std::to_string(m["samples"].size()) : "", "", cell(row["right"])});
  };
  for (const Json& row : document["vecadd"])
    metrics(row, "vecadd", row["place"], row["workers"], row["elements"], "elements");
  for (const Json& row : document["matmul"])
    metrics(row, "matmul", row["method"], nullptr, row["size"], "rows");
  for (const Json& row : document["ceilings"])
    table.rows.push_back({"ceilings", cell(row["device"]), "", "", cell(row["at_bytes"]),
                          row["at_bytes"].is_null() ? "" : "B", cell(row["name"]), cell(row["value"]),
                          cell(row["unit"]), cell(row["spread"]), std::to_string(row["samples"].size()),
                          cell(row["share_of_peak"]), ""});
  return table;
}

}  // namespace plimsoll::report
