#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "run/jobs_file.hpp"
#include "run/toml_document.hpp"
#include "run/toml_library.hpp"
#include "run/turns.hpp"

namespace plimsoll::running {
namespace {

constexpr std::int64_t kMostOfOne = 1000;

/// One table of the file being read; what is wrong is collected with its line.
class Reader {
 public:
  Reader(const toml::table& table, std::vector<Error>& errors) : table_(table), errors_(errors) {}

  void wrong(const toml::node& node, std::string message, std::string hint = {}) const {
    errors_.push_back(
        {std::move(message), fmt::format("line {}", node.source().begin.line), std::move(hint)});
  }
  void wrong(std::string message) const { wrong(table_, std::move(message)); }

  void text(std::string_view key, std::string& target) const {
    if (const toml::node* node = table_.get(key)) {
      if (const auto value = node->value_exact<std::string>())
        target = *value;
      else
        wrong(*node, fmt::format("'{}' wants a text", key));
    }
  }
  /// A text, or a list of texts.
  void words(std::string_view key, std::vector<std::string>& target, bool split) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    target.clear();
    if (const auto value = node->value_exact<std::string>()) {
      if (!split) {
        target.push_back(*value);
        return;
      }
      if (auto parts = split_words(*value))
        target = *std::move(parts);
      else
        wrong(*node, parts.error().message);
      return;
    }
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& entry : *list) {
        if (const auto value = entry.value_exact<std::string>())
          target.push_back(*value);
        else if (const auto number = entry.value_exact<std::int64_t>())
          target.push_back(fmt::format("{}", *number));
        else
          wrong(entry, fmt::format("'{}' wants a list of texts", key));
      }
      return;
    }
    if (const auto number = node->value_exact<std::int64_t>())
      target.push_back(fmt::format("{}", *number));
    else
      wrong(*node, fmt::format("'{}' wants a text or a list of texts", key));
  }
  /// A text with a unit, or a plain number, given to `parse` as text.
  template <class T, class Parse>
  void parsed(std::string_view key, T& target, Parse parse) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    std::string given;
    if (const auto value = node->value_exact<std::string>())
      given = *value;
    else if (const auto number = node->value<double>(); number && node->is_number())
      given = fmt::format("{}", *number);
    else
      return wrong(*node, fmt::format("'{}' wants a text or a number", key));
    if (auto result = parse(given))
      target = *std::move(result);
    else
      wrong(*node, fmt::format("{}: {}", key, result.error().message), result.error().hint);
  }
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view key, std::int64_t most) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > most) {
      wrong(*node, fmt::format("'{}' wants a whole number from 1 to {}", key, most));
      return {};
    }
    return value;
  }
  void pairs(std::string_view key, std::vector<std::pair<std::string, std::string>>& target) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const toml::table* entries = node->as_table();
    if (entries == nullptr) return wrong(*node, fmt::format("'{}' wants a table of texts", key));
    for (const auto& [name, value] : *entries) {
      std::ostringstream out;
      if (const auto text = value.value_exact<std::string>())
        out << *text;
      else
        value.visit([&](const auto& any) { out << any; });
      target.emplace_back(std::string(name.str()), out.str());
    }
  }
  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table_)
      if (std::ranges::find(known, key.str()) == known.end())
        wrong(node, fmt::format("there is no setting '{}'", printable(key.str())),
              did_you_mean(key.str(), std::vector<std::string_view>(known)));
  }

 private:
  const toml::table& table_;
  std::vector<Error>& errors_;
};

Result<double> parse_percentage(const std::string& text) {
  double value = 0;
  std::istringstream in(text);
  if (!(in >> value) || !(value > 0 && value <= 100))
    return fail("'{}' is not a percentage", printable(text));
  return value;
}

/// Settings that a workload may give for all its jobs, and a job for itself.
void read_settings(const Reader& reader, JobSpec& job) {
  reader.text("experiment", job.experiment);
  reader.words("devices", job.devices, false);
  reader.parsed("mode", job.sharing, [](const std::string& text) { return parse_sharing(text); });
  std::string directory = job.directory.string();
  reader.text("directory", directory);
  job.directory = directory;
  reader.parsed("time_limit", job.time_limit, [](const std::string& text) { return parse_duration(text); });
  if (const auto epochs = reader.count("epoch_limit", INT64_MAX)) job.epoch_limit = epochs;
  reader.parsed("mps_percentage", job.mps_percentage, parse_percentage);
  reader.parsed("mps_memory", job.mps_memory, [](const std::string& text) { return parse_size(text); });
  reader.parsed("need", job.need, [](const std::string& text) { return parse_size(text); });
  reader.words("estimate", job.estimate, true);
  reader.words("metric_patterns", job.metric_patterns, false);
  reader.pairs("environment", job.environment);
  reader.pairs("params", job.params);
  reader.pairs("tags", job.tags);
}

/// `awaited`: names that the jobs so far wait for.
void read_job(const toml::table& table, JobSpec job, JobsFile& file, std::vector<Error>& errors,
              std::size_t& awaited) {
  const Reader reader(table, errors);
  reader.only({"command", "name", "count", "experiment", "devices", "directory", "time_limit", "epoch_limit",
               "mps_percentage", "mps_memory", "need", "estimate", "metric_patterns", "environment", "params",
               "tags", "artifacts", "after", "start"});
  read_settings(reader, job);
  reader.words("command", job.command, true);
  reader.text("name", job.name);
  reader.words("after", job.after, false);
  reader.parsed("start", job.start, [](const std::string& text) { return parse_start(text); });
  std::vector<std::string> artifacts;
  reader.words("artifacts", artifacts, false);
  job.artifacts.assign(artifacts.begin(), artifacts.end());
  if (job.command.empty()) reader.wrong("this job has no command");
  if (job.sharing != Sharing::mps && (job.mps_percentage || job.mps_memory))
    reader.wrong("an MPS limit is given, but the workload's mode is not mps");
  const std::int64_t count = reader.count("count", kMostOfOne).value_or(1);
  if (file.jobs.size() + static_cast<std::size_t>(count) > kMostJobs)
    return reader.wrong("there are more than 10,000 jobs");
  if (awaited > kMostAwaited) return;  // told of already
  awaited += static_cast<std::size_t>(count) * job.after.size();
  if (awaited > kMostAwaited) return reader.wrong(std::string(kTooManyAwaited));
  const std::string name = job.name;
  for (std::int64_t i = 1; i <= count; ++i) {
    if (count > 1) job.name = fmt::format("{}-{}", name.empty() ? "job" : name, i);
    file.jobs.push_back({.spec = job, .place = file.jobs.size() + 1, .line = table.source().begin.line});
  }
}

}  // namespace

AllErrors<JobsFile> parse_toml_jobs(std::string_view text) {
  if (const Status letters = check_toml_letters(text); !letters)
    return std::unexpected(std::vector{letters.error()});
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return std::unexpected(std::vector{Error{std::string(parsed.error().description()),
                                             fmt::format("line {}", parsed.error().source().begin.line)}});
  const toml::table& root = parsed.table();
  std::vector<Error> errors;
  JobsFile file;
  const Reader reader(root, errors);
  reader.only({"experiment", "devices", "directory", "time_limit", "epoch_limit", "mode", "environment",
               "tags", "params", "metric_patterns", "workload"});
  JobSpec defaults;
  read_settings(reader, defaults);
  const toml::array* workloads = root.get_as<toml::array>("workload");
  if (workloads == nullptr || !workloads->is_homogeneous(toml::node_type::table))
    return std::unexpected(
        std::vector{Error{"there is no workload in it",
                          {},
                          "Begin one with [[workload]] and its jobs with [[workload.job]]."}});
  std::size_t number = 0;
  std::size_t awaited = 0;
  for (const toml::node& node : *workloads) {
    const toml::table& table = *node.as_table();
    const Reader workload(table, errors);
    workload.only({"name", "experiment", "devices", "directory", "time_limit", "epoch_limit", "mode",
                   "mps_percentage", "mps_memory", "need", "estimate", "metric_patterns", "environment",
                   "params", "tags", "job"});
    JobSpec job = defaults;
    job.workload = fmt::format("workload-{}", ++number);
    workload.text("name", job.workload);
    read_settings(workload, job);
    const toml::array* jobs = table.get_as<toml::array>("job");
    if (jobs == nullptr || jobs->empty() || !jobs->is_homogeneous(toml::node_type::table)) {
      workload.wrong(fmt::format("workload '{}' has no [[workload.job]]", printable(job.workload)));
      continue;
    }
    for (const toml::node& entry : *jobs) read_job(*entry.as_table(), job, file, errors, awaited);
  }
  if (awaited <= kMostAwaited) std::ranges::move(turn_mistakes(file.jobs), std::back_inserter(errors));
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return file;
}

}  // namespace plimsoll::running
