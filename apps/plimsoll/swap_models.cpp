#include "swap_models.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "base/csv.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "run/toml_document.hpp"

namespace plimsoll {
namespace {

using Document = nlohmann::json;

constexpr double kMostFrameRate = 1e4, kLeastFrameRate = 1e-3, kMostLimit = 1e7;  // per s, ms
constexpr double kMostFrameSeconds = 1e7;
constexpr std::size_t kMostSwapGroups = 100'000, kMostSwapRows = 100'000, kMostWrong = 1'000;

constexpr std::string_view kExample =
    R"(for example [[model]] and below it name = "front", model = "resnet50", rate = 30)";

std::optional<double> number_in(const Document& table, const char* key, double least, double most,
                                std::string& wrong) {
  const auto found = table.find(key);
  if (found == table.end() || found->is_null()) return std::nullopt;
  const double out = found->is_number() ? found->get<double>() : std::nan("");
  if (out >= least && out <= most) return out;
  if (wrong.empty()) wrong = fmt::format("its {} is no number from {:g} to {:g}", key, least, most);
  return std::nullopt;
}

/// What is not of swapping is the workload's, as `plimsoll beside --workloads` takes it.
SwapModelRequest read_model(const Document& table, std::string& wrong) {
  constexpr std::array kOwn = {"rate", "deadline_ms", "accuracy"};
  constexpr std::array kForeign = {"arrivals", "alone", "mode", "optimizer", "loss"};
  SwapModelRequest out;
  out.rate = number_in(table, "rate", kLeastFrameRate, kMostFrameRate, wrong);
  if (const auto limit = number_in(table, "deadline_ms", 1e-3, kMostLimit, wrong))
    out.limit = Seconds(*limit * 1e-3);
  out.accuracy = number_in(table, "accuracy", 0, 1, wrong);
  Document workload = Document::object();
  for (const auto& [key, value] : table.items()) {
    if (std::ranges::find(kForeign, key) != kForeign.end() && wrong.empty())
      wrong = fmt::format("a model that is swapped has no key '{}'", key);
    if (std::ranges::find(kOwn, key) == kOwn.end()) workload[key] = value;
  }
  if (!wrong.empty()) return out;
  auto read = read_workloads("[" + workload.dump() + "]", "");
  if (!read)
    wrong = read.error().hint.empty() ? read.error().message
                                      : fmt::format("{} ({})", read.error().message, read.error().hint);
  else
    out.workload = std::move(read->front());
  if (wrong.empty() && out.workload.name.find(':') != std::string::npos)
    wrong = fmt::format("its name {} has a colon: give it another", quote(out.workload.name));
  return out;
}

std::vector<std::string> names_in(const Document& table, const char* key, std::string& wrong) {
  std::vector<std::string> out;
  const auto found = table.find(key);
  if (found == table.end()) return out;
  const bool is_list =
      found->is_array() && std::ranges::all_of(*found, [](const Document& name) { return name.is_string(); });
  if (is_list)
    for (const Document& name : *found) out.push_back(name.get<std::string>());
  else if (wrong.empty())
    wrong = fmt::format("its {} is no list of names", key);
  return out;
}

swapping::SharedGroup read_group(const Document& table, std::string& wrong) {
  swapping::SharedGroup out{names_in(table, "models", wrong), names_in(table, "tensors", wrong)};
  for (const auto& [key, value] : table.items())
    if (key != "models" && key != "tensors" && wrong.empty())
      wrong = fmt::format("there is no key '{}', only models and tensors", printable(key, 40));
  if (wrong.empty() && out.tensors.empty()) wrong = "names no tensors";
  if (wrong.empty() && (out.models.empty() ? out.tensors : out.models).size() < 2)
    wrong = "one alone shares with nobody: name two models, or two tensors as MODEL:TENSOR";
  return out;
}

/// Each table of a list.
template <class Read>
void read_tables(const Document& document, const char* key, std::size_t most, std::vector<Error>& wrong,
                 Read read) {
  const auto list = document.find(key);
  if (list == document.end()) return;
  if (!list->is_array()) return wrong.push_back({fmt::format("{} is no list of tables", key)});
  if (list->size() > most)
    return wrong.push_back(
        {fmt::format("has {} of [[{}]]", list->size(), key), "", fmt::format("{} are the most", most)});
  for (std::size_t i = 0; i < list->size() && wrong.size() < kMostWrong; ++i) {
    std::string problem;
    if (!(*list)[i].is_object())
      problem = "is no table";
    else
      read((*list)[i], problem);
    if (!problem.empty()) wrong.push_back({std::move(problem), fmt::format("{} {}", key, i + 1)});
  }
}

Result<Document> document_of(std::string_view text, bool toml) {
  std::string json(text);
  if (toml) {
    auto converted = running::toml_as_json(text);
    PLIMSOLL_TRY(converted);
    json = *std::move(converted);
  }
  Document document = Document::parse(json, nullptr, false);
  if (!document.is_object() || !document.contains("model"))
    return std::unexpected(Error{toml ? "has no [[model]]" : "is no JSON object with a list \"model\"", "",
                                 std::string(kExample)});
  return document;
}

std::optional<double> seconds_in(const std::string& cell) {
  double out = 0;
  const char* const end = cell.data() + cell.size();
  const auto [at, error] = std::from_chars(cell.data(), end, out);
  if (error != std::errc() || at != end || !(out >= 0 && out <= kMostFrameSeconds)) return std::nullopt;
  return out;
}

}  // namespace

AllErrors<SwapModels> read_swap_models(std::string_view text, const std::string& name) {
  const auto document = document_of(text, lower_case(name).ends_with(".toml"));
  if (!document) return std::unexpected(std::vector{document.error()});
  SwapModels out;
  std::vector<Error> wrong;
  for (const auto& [key, value] : document->items())
    if (key != "model" && key != "shared" && wrong.size() < kMostWrong)
      wrong.push_back({fmt::format("there is no [[{}]], only [[model]] and [[shared]]", printable(key, 40))});
  read_tables(*document, "model", kMostSwapModels, wrong, [&](const Document& table, std::string& problem) {
    SwapModelRequest model = read_model(table, problem);
    const auto same = [&](const SwapModelRequest& other) {
      return other.workload.name == model.workload.name;
    };
    if (problem.empty() && std::ranges::any_of(out.models, same))
      problem = fmt::format("another one has the name {}: give each its own", quote(model.workload.name));
    out.models.push_back(std::move(model));
  });
  read_tables(*document, "shared", kMostSwapGroups, wrong, [&](const Document& table, std::string& problem) {
    out.shared.push_back(read_group(table, problem));
  });
  if (out.models.empty() && wrong.empty()) wrong.push_back({"names no model", "", std::string(kExample)});
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return out;
}

AllErrors<std::vector<swapping::Request>> read_swap_requests(std::string_view text,
                                                             const std::vector<std::string>& models) {
  const auto refuse = [](Error error) { return std::unexpected(std::vector{std::move(error)}); };
  const auto rows = read_csv(text);
  if (!rows) return refuse(rows.error());
  if (rows->empty() || rows->front().cells != std::vector<std::string>{"seconds", "model"})
    return refuse({"its first line is not seconds,model", "", "then a line for each frame, as 0.033,front"});
  if (rows->size() < 2) return refuse({"has no frames"});
  if (rows->size() - 1 > kMostSwapRows)
    return refuse(
        {fmt::format("has {} frames", rows->size() - 1), "", fmt::format("{} are the most", kMostSwapRows)});
  std::vector<swapping::Request> out;
  std::vector<Error> wrong;
  for (std::size_t i = 1; i < rows->size() && wrong.size() < kMostWrong; ++i) {
    const CsvRow& row = (*rows)[i];
    const std::string where = fmt::format("line {}", row.line);
    const auto seconds = row.cells.size() == 2 ? seconds_in(row.cells[0]) : std::nullopt;
    if (!seconds) {
      wrong.push_back({"is not a time in seconds and a model", where});
      continue;
    }
    const auto model = std::ranges::find(models, row.cells[1]);
    if (model == models.end())
      wrong.push_back({fmt::format("there is no model {}", quote(row.cells[1])), where});
    else
      out.push_back({.model = static_cast<std::size_t>(model - models.begin()),
                     .arrival = Seconds(*seconds),
                     .deadline = {}});
  }
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return out;
}

}  // namespace plimsoll
