#include "report/calibration.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::report {
namespace {

using hardware::CeilingDifference;
using hardware::ClassDifference;
using hardware::ClassFit;
using Json = nlohmann::ordered_json;

std::string percent_tenths(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}
std::string change(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}
std::string at_text(const hardware::Ceiling& ceiling) {
  return ceiling.at ? text(Bytes::rounded(*ceiling.at)) : "";
}
std::string value_text(const hardware::Ceiling& ceiling) {
  return ceiling.unit == "s" ? text(Seconds(ceiling.figure.value))
                             : si_text(ceiling.figure.value, printable(ceiling.unit, 20));
}

template <class Group>
std::vector<std::string> words(const Group& group) {
  return {std::string(hardware::name(group.operator_class)), std::string(hardware::name(group.direction)),
          std::string(hardware::name(group.arithmetic))};
}
template <class Group>
Json group_json(const Group& group) {
  return {{"class", hardware::name(group.operator_class)},
          {"direction", hardware::name(group.direction)},
          {"arithmetic", hardware::name(group.arithmetic)},
          {"points", group.points}};
}

}  // namespace

Table ceiling_table(const hardware::Calibration& calibration) {
  Table table{{{"Ceiling", Align::left, true},
               {"Size", Align::right},
               {"Measured", Align::right, false, Importance::always},
               {"Spread", Align::right, false, Importance::detail},
               {"Of peak", Align::right}},
              {}};
  for (const hardware::Ceiling& ceiling : calibration.ceilings)
    table.rows.push_back({printable(ceiling.name, 60), at_text(ceiling), value_text(ceiling),
                          percent_tenths(ceiling.spread),
                          ceiling.share_of_peak ? percent_tenths(*ceiling.share_of_peak) : "-"});
  return table;
}

Table class_table(const hardware::Calibration& calibration) {
  using enum Importance;
  Table table{{{"Operators"},
               {"Direction", Align::left, false, telling},
               {"Arithmetic", Align::left, false, telling},
               {"Points", Align::right, false, detail},
               {"Efficiency", Align::right, false, telling},
               {"Residual", Align::right},
               {"of 90 %", Align::right, false, detail}},
              {}};
  for (const ClassFit& fit : calibration.fits) {
    std::vector<std::string> row = words(fit);
    row.insert(row.end(), {fmt::format("{}", fit.points), percent_tenths(fit.efficiency),
                           percent_tenths(fit.residual), percent_tenths(fit.residual_90)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json calibration_json(const hardware::Calibration& calibration) {
  Json out = {{"date", calibration.date},
              {"versions", calibration.versions},
              {"remarks", calibration.remarks},
              {"points", calibration.points.size()}};
  if (calibration.eager_launch) out["eager_launch_seconds"] = calibration.eager_launch->value;
  out["ceilings"] = Json::array();
  for (const hardware::Ceiling& ceiling : calibration.ceilings) {
    Json row = {{"name", ceiling.name},
                {"value", ceiling.figure.value},
                {"unit", ceiling.unit},
                {"spread", ceiling.spread}};
    if (ceiling.at) row["at_bytes"] = *ceiling.at;
    if (ceiling.share_of_peak) row["share_of_peak"] = *ceiling.share_of_peak;
    out["ceilings"].push_back(std::move(row));
  }
  out["classes"] = Json::array();
  for (const ClassFit& fit : calibration.fits) {
    Json row = group_json(fit);
    row["efficiency"] = fit.efficiency;
    row["residual"] = fit.residual;
    row["residual_90"] = fit.residual_90;
    out["classes"].push_back(std::move(row));
  }
  return out;
}

Table ceiling_differences(const hardware::CalibrationDifference& difference) {
  Table table{{{"Ceiling", Align::left, true},
               {"Size", Align::right},
               {"First", Align::right, false, Importance::telling},
               {"Second", Align::right, false, Importance::telling},
               {"Change", Align::right, false, Importance::always}},
              {}};
  for (const CeilingDifference& d : difference.ceilings)
    table.rows.push_back({printable(d.first->name, 60), at_text(*d.first), value_text(*d.first),
                          value_text(*d.second), change(d.change())});
  return table;
}

Table class_differences(const hardware::CalibrationDifference& difference) {
  using enum Importance;
  Table table{{{"Operators"},
               {"Direction", Align::left, false, telling},
               {"Arithmetic", Align::left, false, telling},
               {"Points", Align::right, false, detail},
               {"First", Align::right},
               {"Second", Align::right},
               {"Change", Align::right, false, always}},
              {}};
  for (const ClassDifference& d : difference.classes) {
    std::vector<std::string> row = words(d);
    row.insert(row.end(), {fmt::format("{}", d.points), percent_tenths(d.first), percent_tenths(d.second),
                           change(d.change())});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json differences_json(const hardware::CalibrationDifference& difference) {
  Json out = {{"ceilings", Json::array()}, {"classes", Json::array()}};
  for (const CeilingDifference& d : difference.ceilings) {
    Json row = {{"name", d.first->name},
                {"unit", d.first->unit},
                {"first", d.first->figure.value},
                {"second", d.second->figure.value},
                {"change", d.change()}};
    if (d.first->at) row["at_bytes"] = *d.first->at;
    out["ceilings"].push_back(std::move(row));
  }
  for (const ClassDifference& d : difference.classes) {
    Json row = group_json(d);
    row["first"] = d.first;
    row["second"] = d.second;
    row["change"] = d.change();
    out["classes"].push_back(std::move(row));
  }
  return out;
}

}  // namespace plimsoll::report
