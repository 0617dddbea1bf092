#include "published_accuracy.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "hardware/published.hpp"
#include "json_output.hpp"
#include "report/paragraph.hpp"

namespace plimsoll {
namespace {

using hardware::PublishedAccuracy;
using Json = nlohmann::ordered_json;

/// "MobileNet-V1" and "mobilenet_v1_0.5" are found by "mobilenet_v1".
std::string letters_and_digits(std::string_view name) {
  std::string out;
  for (const char c : lower_case(name.substr(0, name.find(':'))))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  return out;
}

std::vector<PublishedAccuracy> published_of(const std::vector<PublishedAccuracy>& all,
                                            const std::string& model) {
  const std::string wanted = letters_and_digits(model);
  std::vector<PublishedAccuracy> out;
  for (const PublishedAccuracy& row : all)
    if (letters_and_digits(row.network).starts_with(wanted)) out.push_back(row);
  return out;
}

const PublishedAccuracy* in_fp32(const std::vector<PublishedAccuracy>& rows, const PublishedAccuracy& of) {
  for (const PublishedAccuracy& row : rows)
    if (row.collection == of.collection && row.pair == of.pair && row.precision == "fp32") return &row;
  return nullptr;
}

report::Table table_of(const std::vector<PublishedAccuracy>& rows) {
  using enum report::Importance;
  using enum report::Align;
  report::Table table{{{"Network", left, true, always},
                       {"Format", left, false, always},
                       {"Input", right, false, ordinary},
                       {"Top 1", right, false, always},
                       {"Points", right, false, always},
                       {"Top 5", right, false, detail},
                       {"Size", right, false, ordinary},
                       {"Pixel 3", right, false, telling},
                       {"Published by", left, false, telling}},
                      {}};
  for (const PublishedAccuracy& row : rows) {
    const PublishedAccuracy* whole = row.precision == "fp32" ? nullptr : in_fp32(rows, row);
    table.rows.push_back({row.pair, row.precision, row.input ? fmt::format("{}", *row.input) : "",
                          fmt::format("{:.2f} %", 100 * row.top1),
                          whole != nullptr ? fmt::format("{:+.2f}", 100 * (row.top1 - whole->top1)) : "",
                          fmt::format("{:.2f} %", 100 * row.top5),
                          row.bytes ? fmt::format("{:.3g} MB", *row.bytes / 1e6) : "-",
                          row.seconds ? text(Seconds(*row.seconds)) : "-", row.collection});
  }
  return table;
}

Json json_of_rows(const std::vector<PublishedAccuracy>& rows) {
  Json list = Json::array();
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  for (const PublishedAccuracy& row : rows)
    list.push_back({{"collection", row.collection},
                    {"network", row.network},
                    {"pair", row.pair},
                    {"precision", row.precision},
                    {"quantized", row.how.empty() ? Json(nullptr) : Json(row.how)},
                    {"input", number(row.input)},
                    {"top1", row.top1},
                    {"top5", row.top5},
                    {"bytes", number(row.bytes)},
                    {"seconds", number(row.seconds)},
                    {"on", row.on.empty() ? Json(nullptr) : Json(row.on)},
                    {"provenance", "published"},
                    {"source", row.source}});
  return {{"published", std::move(list)}};
}

std::string csv_of(const std::vector<PublishedAccuracy>& rows) {
  report::Table table;
  for (const char* title : {"collection", "network", "pair", "precision", "quantized", "input", "top1",
                            "top5", "bytes", "seconds", "on", "source"})
    table.columns.push_back({title});
  const auto number = [](const auto& value) { return value ? fmt::format("{}", *value) : std::string(); };
  for (const PublishedAccuracy& row : rows)
    table.rows.push_back({row.collection, row.network, row.pair, row.precision, row.how, number(row.input),
                          fmt::format("{}", row.top1), fmt::format("{}", row.top5), number(row.bytes),
                          number(row.seconds), row.on, row.source});
  return report::to_csv(table);
}

}  // namespace

Result<int> print_published(const std::string& model, bool json, bool csv, const report::TextStyle& style) {
  const auto& all = hardware::built_in_published();
  PLIMSOLL_TRY(all);
  const std::vector<PublishedAccuracy> rows = published_of(*all, model);
  if (rows.empty()) {
    std::set<std::string_view> names;
    for (const PublishedAccuracy& row : *all) names.insert(row.network);
    const std::vector<std::string_view> known(names.begin(), names.end());
    return std::unexpected(Error{fmt::format("no published accuracy of {} is known here", quote(model)),
                                 {},
                                 did_you_mean(model, known) + " --published alone lists them all."});
  }
  if (json) {
    print_json(json_of_rows(rows));
    return 0;
  }
  if (csv) {
    fmt::print("{}", csv_of(rows));
    return 0;
  }
  fmt::print("{}\n", report::to_text(table_of(rows), style));
  fmt::print("{}", report::hanging(
                       "published ",
                       "by others, on ImageNet-1K; nothing here was measured by Plimsoll. Points: int8 "
                       "less fp32. Size in millions of bytes. Pixel 3: one image on 4 threads of its CPU. "
                       "--json has the source of every row",
                       style));
  return 0;
}

}  // namespace plimsoll
