#include "hardware/network_facts.hpp"

#include <cmath>
#include <map>
#include <set>

#include "base/printable.hpp"
#include "hardware/json_section.hpp"
#include "hardware/sources.hpp"

namespace plimsoll::hardware {
namespace {

using Json = nlohmann::json;

double within(JsonSection& section, const std::string& key, double most) {
  const Json* value = section.take(key);
  const double number = value != nullptr && value->is_number() ? value->get<double>() : std::nan("");
  if (number > 0 && number <= most) return number;
  section.complain(key, fmt::format("is not a number above 0, at most {:g}", most));
  return 0;
}

DeviceFigure sourced(JsonSection& section, const Sources& sources, double value) {
  const std::string source = section.required_text("source");
  const auto found = sources.find(source);
  if (found == sources.end()) return section.complain("source", "is not declared"), DeviceFigure();
  DeviceFigure figure = found->second;
  figure.value = value;
  return figure;
}

Arithmetic read_arithmetic(JsonSection& section) {
  return section.choice("precision", section.required_text("precision"), &arithmetic_named, Arithmetic::fp32);
}

void read_accuracies(JsonSection& variant, const Sources& sources, NetworkFacts& facts) {
  const Json* list = variant.list("accuracies");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    JsonSection section((*list)[i], fmt::format("{}[{}]", variant.place("accuracies"), i), variant.error());
    Accuracy accuracy;
    accuracy.arithmetic = read_arithmetic(section);
    accuracy.data = section.required_text("data");
    accuracy.share = sourced(section, sources, within(section, "percent", 100) / 100);
    section.done();
    facts.accuracies.push_back(std::move(accuracy));
  }
}

void read_memories(JsonSection& variant, const Sources& sources, NetworkFacts& facts) {
  constexpr double kMost = 1e12;
  const Json* list = variant.list("memories");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    JsonSection section((*list)[i], fmt::format("{}[{}]", variant.place("memories"), i), variant.error());
    MemoryNeed need;
    need.arithmetic = read_arithmetic(section);
    // Kept in the file for who reads it; what must fit is the sum that the runtime needs.
    (void)within(section, "weights_kib", kMost);
    (void)within(section, "activations_kib", kMost);
    need.ram = sourced(section, sources, within(section, "ram_kib", kMost) * 1024);
    section.done();
    facts.memories.push_back(std::move(need));
  }
}

std::vector<NetworkFacts> read_all(JsonSection& top) {
  if (const Json* version = top.take("version"); version == nullptr || *version != 1)
    top.complain("version", "is not 1");
  (void)top.required_text("id");
  const Sources sources = read_sources(top, Declared::always);
  const Json* list = top.list("variants");
  if (list == nullptr) top.complain("variants", "is missing");
  std::vector<NetworkFacts> all;
  std::set<std::string> names;
  for (std::size_t i = 0; list != nullptr && i < list->size() && !top.error(); ++i) {
    JsonSection section((*list)[i], fmt::format("variants[{}]", i), top.error());
    NetworkFacts facts;
    facts.network = section.required_text("network");
    if (!names.insert(facts.network).second) section.complain("network", "stands twice");
    facts.depth = within(section, "depth", 16);
    read_accuracies(section, sources, facts);
    read_memories(section, sources, facts);
    section.done();
    all.push_back(std::move(facts));
  }
  top.done();
  return all;
}

}  // namespace

Result<std::vector<NetworkFacts>> parse_network_facts(std::string_view text, std::string_view where) {
  const auto json = parse_strictly(text);
  if (!json) return std::unexpected(Error(json.error()).within(where));
  std::optional<Error> error;
  JsonSection top(*json, "", error);
  std::vector<NetworkFacts> facts = read_all(top);
  if (error) return std::unexpected(std::move(*error).within(where));
  return facts;
}

const Result<std::vector<NetworkFacts>>& built_in_network_facts() {
  // A static because the files are part of the program: there is one answer, and it never changes.
  static const Result<std::vector<NetworkFacts>> facts = []() -> Result<std::vector<NetworkFacts>> {
    std::vector<NetworkFacts> all;
    for (const EmbeddedFile& file : embedded_networks()) {
      auto read = parse_network_facts(file.contents, file.name);
      if (!read) {
        read.error().kind = Error::Kind::internal;
        return read;
      }
      all.insert(all.end(), read->begin(), read->end());
    }
    return all;
  }();
  return facts;
}

}  // namespace plimsoll::hardware
