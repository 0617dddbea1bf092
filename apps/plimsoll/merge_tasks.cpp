#include "merge_tasks.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "run/toml_document.hpp"

namespace plimsoll {
namespace {

using Document = nlohmann::json;

constexpr std::size_t kMostTasks = 1000;
constexpr std::array<std::string_view, 12> kKeys = {"model",       "data",      "labels",   "test",
                                                    "test-labels", "hold-out",  "examples", "image-size",
                                                    "channels",    "normalize", "flip",     "weights"};

/// A table's values; the first that is wrong is kept.
class Table {
 public:
  Table(const Document& table, std::filesystem::path folder) : table_(table), folder_(std::move(folder)) {}

  [[nodiscard]] std::string text(std::string_view key) {
    const auto found = table_.find(key);
    if (found == table_.end()) return {};
    if (found->is_string() && !found->get_ref<const std::string&>().empty()) return found->get<std::string>();
    complain(fmt::format("its {} is no text", key));
    return {};
  }
  [[nodiscard]] std::filesystem::path path(std::string_view key) {
    const std::string named = text(key);
    if (named.find('\0') != std::string::npos) complain(fmt::format("its {} is no path", key));
    return named.empty() || !wrong_.empty() ? std::filesystem::path() : folder_ / named;
  }
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view key, std::int64_t least,
                                                  std::int64_t most) {
    const auto found = table_.find(key);
    if (found == table_.end()) return std::nullopt;
    if (found->is_number_integer())
      if (const auto value = found->get<std::int64_t>(); value >= least && value <= most) return value;
    complain(fmt::format("its {} is no whole number from {} to {}", key, least, most));
    return std::nullopt;
  }
  [[nodiscard]] bool flag(std::string_view key) {
    const auto found = table_.find(key);
    if (found == table_.end()) return false;
    if (!found->is_boolean()) complain(fmt::format("its {} is neither true nor false", key));
    return found->is_boolean() && found->get<bool>();
  }
  [[nodiscard]] std::string share(std::string_view key) {
    const auto found = table_.find(key);
    if (found == table_.end()) return {};
    if (found->is_number()) return fmt::format("{}", found->get<double>());
    complain(fmt::format("its {} is no share", key));
    return {};
  }
  void check_keys() {
    for (const auto& [key, value] : table_.items())
      if (std::ranges::find(kKeys, key) == kKeys.end())
        complain(fmt::format("there is no key '{}', only {}", printable(key, 40), fmt::join(kKeys, ", ")));
  }
  void complain(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  const Document& table_;
  std::filesystem::path folder_;
  std::string wrong_;
};

TrainOptions read_task(Table& table, const TrainOptions& common) {
  TrainOptions task = common;
  table.check_keys();
  task.model = table.text("model");
  task.data = {.path = table.path("data"),
               .labels = table.path("labels"),
               .test = table.path("test"),
               .test_labels = table.path("test-labels"),
               .images = {}};
  if (task.data.path.empty()) table.complain("names no data");
  task.hold_out = table.share("hold-out");
  task.learned.examples = table.whole("examples", 1, INT64_MAX).value_or(0);
  task.image_size = table.text("image-size");
  task.data.images.channels = table.whole("channels", 1, 3);
  if (task.data.images.channels == 2) table.complain("its channels are neither 1 nor 3");
  task.normalize = table.flag("normalize");
  task.learning.augmentation.flip = table.flag("flip");
  task.weights.file = table.path("weights");
  return task;
}

Error no_task(std::string_view model) {
  return {"has no task", printable(model), "[[task]] without a model is of all that have none of their own."};
}

}  // namespace

AllErrors<std::vector<TrainOptions>> read_merge_tasks(std::string_view text,
                                                      const std::filesystem::path& folder,
                                                      const std::vector<std::string>& models,
                                                      const TrainOptions& common) {
  const Result<std::string> json = running::toml_as_json(text);
  if (!json) return std::unexpected(std::vector{json.error()});
  const Document document = Document::parse(*json, nullptr, false);
  if (!document.is_object() || !document.contains("task") || !document["task"].is_array())
    return std::unexpected(
        std::vector{Error{"has no [[task]]", {}, R"(for example [[task]] and below it data = "photos")"}});
  std::vector<Error> wrong;
  for (const auto& [key, value] : document.items())
    if (key != "task")
      wrong.push_back({fmt::format("there is no key '{}', only [[task]]", printable(key, 40))});
  const Document& list = document["task"];
  if (list.size() > kMostTasks) wrong.push_back({fmt::format("has more than {} of [[task]]", kMostTasks)});
  std::vector<TrainOptions> tasks;
  for (std::size_t i = 0; i < list.size() && wrong.empty(); ++i) {
    if (!list[i].is_object()) {
      wrong.push_back({"is no table", fmt::format("task {}", i + 1)});
      break;
    }
    Table table(list[i], folder);
    tasks.push_back(read_task(table, common));
    const std::string& named = tasks.back().model;
    if (!named.empty() && std::ranges::find(models, named) == models.end())
      table.complain(fmt::format("none of the models is '{}'", printable(named)));
    if (!table.wrong().empty()) wrong.push_back({table.wrong(), fmt::format("task {}", i + 1)});
  }
  std::vector<TrainOptions> out;
  for (const std::string& model : models) {
    if (!wrong.empty() && tasks.size() < list.size()) break;
    auto found = std::ranges::find(tasks, model, &TrainOptions::model);
    if (found == tasks.end()) found = std::ranges::find(tasks, std::string(), &TrainOptions::model);
    if (found == tasks.end()) {
      wrong.push_back(no_task(model));
      continue;
    }
    out.push_back(*found);
    out.back().model = model;
  }
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return out;
}

}  // namespace plimsoll
