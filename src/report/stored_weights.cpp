#include "report/stored_weights.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "network/saturating.hpp"

namespace plimsoll::report {
namespace {

std::string format_of_weight(const Inspection& i, network::TensorId id) {
  const network::StoredWeight* const stored = i.network.stored_of(id);
  return printable(stored == nullptr ? network::name(i.shapes.type(id)) : i.network.view(stored->format));
}

std::int64_t values_of(const Inspection& i, network::TensorId id) {
  std::int64_t values = 1;
  for (const network::Dim d : i.shapes.dims(id))
    values = network::product(values, i.shapes.symbols().bounds(d).high);
  return values;
}

std::int64_t bytes_of_weight(const Inspection& i, network::TensorId id) {
  if (const network::StoredWeight* const stored = i.network.stored_of(id)) return stored->bytes;
  return network::packed_bytes(i.shapes.type(id), values_of(i, id)).value_or(network::kUnbounded);
}

/// Parts of a name that are numbers, which tell layers apart, as "*".
std::string name_in_every_layer(std::string_view name) {
  std::string out;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    const bool number =
        !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    out += number ? std::string_view("*") : part;
    if (dot == std::string_view::npos) return printable(out);
    out += '.';
    name.remove_prefix(dot + 1);
  }
}

std::vector<StoredGroup> grouped_by(const Inspection& i,
                                    const std::function<std::string(network::TensorId)>& name_of) {
  std::vector<StoredGroup> groups;
  if (i.network.stored.empty()) return groups;
  std::unordered_map<std::string, std::size_t> index;
  for (const network::TensorId id : i.network.main().weights) {
    if (i.network.tensor(id).role != network::Role::parameter) continue;
    const auto [at, fresh] = index.try_emplace(name_of(id), groups.size());
    if (fresh) groups.emplace_back().name = at->first;
    StoredGroup& group = groups[at->second];
    ++group.tensors;
    group.values = network::sum(group.values, values_of(i, id));
    group.bytes = network::sum(group.bytes, bytes_of_weight(i, id));
    ++group.formats[format_of_weight(i, id)];
  }
  return groups;
}

double bits_a_value(const StoredGroup& group) {
  return group.values == 0 ? 0 : 8 * static_cast<double>(group.bytes) / static_cast<double>(group.values);
}

/// "Q4_K", or "21 Q4_K, 11 Q6_K".
std::string formats_text(const StoredGroup& group) {
  if (group.formats.size() == 1) return group.formats.begin()->first;
  std::string out;
  for (const auto& [format, tensors] : group.formats)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", tensors, format);
  return out;
}

}  // namespace

std::vector<StoredGroup> stored_formats(const Inspection& inspection) {
  std::vector<StoredGroup> formats =
      grouped_by(inspection, [&](network::TensorId id) { return format_of_weight(inspection, id); });
  std::ranges::stable_sort(formats, std::ranges::greater(), &StoredGroup::bytes);
  return formats;
}

std::vector<StoredGroup> stored_groups(const Inspection& inspection) {
  return grouped_by(
      inspection, [&](network::TensorId id) { return name_in_every_layer(inspection.network.name_of(id)); });
}

std::string stored_text(const std::vector<StoredGroup>& formats) {
  std::string out;
  for (const StoredGroup& format : formats)
    out += fmt::format("{}{} {} ({:.2f} bits a value)", out.empty() ? "" : ", ", format.name,
                       text(Bytes(format.bytes)), bits_a_value(format));
  return out;
}

std::string stored_time_text(const std::vector<std::string>& formats) {
  std::vector<std::string> names;
  for (const std::string& format : formats) names.push_back(printable(format, 40));
  return fmt::format(
      "products with weights in {}: the bytes that they read at the memory's bandwidth, or their "
      "multiply-adds "
      "at the peak of half precision, whichever takes longer; nobody has timed such kernels, and a runtime "
      "is "
      "slower",
      fmt::join(names, ", "));
}

Table stored_table(const std::vector<StoredGroup>& groups) {
  using enum Importance;
  Table t{{{"Weights", Align::left, true},
           {"Tensors", Align::right, false, telling},
           {"Values", Align::right},
           {"Stored as", Align::left, true},
           {"Bytes", Align::right},
           {"Bits a value", Align::right, false, detail}},
          {}};
  for (const StoredGroup& group : groups)
    t.rows.push_back({group.name, grouped(group.tensors), count_text(group.values), formats_text(group),
                      text(Bytes(group.bytes)), fmt::format("{:.2f}", bits_a_value(group))});
  return t;
}

nlohmann::ordered_json stored_json(const Inspection& inspection) {
  using Json = nlohmann::ordered_json;
  const auto list = [](const std::vector<StoredGroup>& groups, std::string_view key, bool with_formats) {
    Json out = Json::array();
    for (const StoredGroup& group : groups) {
      Json& row = out.emplace_back(Json{
          {key, group.name}, {"tensors", group.tensors}, {"values", group.values}, {"bytes", group.bytes}});
      if (with_formats)
        for (const auto& [format, tensors] : group.formats) row["formats"][format] = tensors;
    }
    return out;
  };
  return {{"formats", list(stored_formats(inspection), "format", false)},
          {"groups", list(stored_groups(inspection), "weights", true)}};
}

}  // namespace plimsoll::report
