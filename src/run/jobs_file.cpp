#include "run/jobs_file.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "run/job_json.hpp"
#include "run/turns.hpp"

namespace plimsoll::running {
namespace {

/// What a column does with a cell that is not empty.
struct ColumnRule {
  std::string_view name;  // as people write it; compared without case, spaces, '_' and '-'
  Status (*take)(JobRow& row, const std::string& cell);
};

Status take_devices(JobRow& row, const std::string& cell) {
  std::string_view rest = cell;
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of("+;, "), rest.size());
    if (end > 0) row.spec.devices.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

Status take_count(std::optional<std::int64_t>& target, std::string_view cell) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || value < 1)
    return fail("'{}' is not a whole number", printable(cell.substr(0, 40)));
  target = value;
  return {};
}

Status take_percentage(JobRow& row, const std::string& cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(cell.data() + cell.size() - end));
  if (error != std::errc() || (!rest.empty() && rest != "%") || !(value > 0 && value <= 100))
    return fail("'{}' is not a percentage between 0 and 100", printable(cell.substr(0, 40)));
  row.spec.mps_percentage = value;
  return {};
}

template <class T, class Parsed>
Status set(T& target, Result<Parsed> parsed) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  target = *std::move(parsed);
  return {};
}

/// radT's file and its parameters are a Python program and its arguments.
Status take_file(JobRow& row, const std::string& cell) {
  row.spec.command.insert(row.spec.command.begin(), {"python3", cell});
  return {};
}
Status take_params(JobRow& row, const std::string& cell) {
  Result<std::vector<std::string>> words = split_words(cell);
  if (!words) return std::unexpected(std::move(words).error());
  row.spec.command.insert(row.spec.command.end(), words->begin(), words->end());
  return {};
}

Status take_command(JobRow& row, const std::string& cell) {
  row.spec.command = {cell};  // so that a command that cannot be split is not said to be missing as well
  return set(row.spec.command, split_words(cell));
}

/// radT's listeners: what they read is sampled in any case.
Status take_listeners(JobRow&, const std::string& cell) {
  constexpr std::string_view kKnown[] = {"smi", "dcgmi", "top", "iostat", "ps", "free"};
  std::string_view rest = cell;
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of("+;, "), rest.size());
    const std::string word = lower_case(rest.substr(0, end));
    if (!word.empty() && std::ranges::find(kKnown, word) == std::end(kKnown))
      return fail(
          "there is no listener '{}': smi, dcgmi, top, iostat, ps and free are sampled in any case; "
          "profilers are chosen by --with",
          printable(word));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

const ColumnRule kColumns[] = {
    {"Experiment",
     [](JobRow& row, const std::string& cell) {
       return set<std::string, std::string>(row.spec.experiment, cell);
     }},
    {"Workload",
     [](JobRow& row, const std::string& cell) {
       return set<std::string, std::string>(row.spec.workload, cell);
     }},
    {"Name",
     [](JobRow& row, const std::string& cell) { return set<std::string, std::string>(row.spec.name, cell); }},
    {"Status",
     [](JobRow& row, const std::string& cell) { return set<std::string, std::string>(row.status, cell); }},
    {"Run",
     [](JobRow& row, const std::string& cell) { return set<std::string, std::string>(row.run, cell); }},
    {"Devices", take_devices},
    {"Collocation",
     [](JobRow& row, const std::string& cell) { return set(row.spec.sharing, parse_sharing(cell)); }},
    {"Mode", [](JobRow& row, const std::string& cell) { return set(row.spec.sharing, parse_sharing(cell)); }},
    {"File", take_file},
    {"Listeners", take_listeners},
    {"Params", take_params},
    {"Command", take_command},
    {"Directory",
     [](JobRow& row, const std::string& cell) {
       row.spec.directory = cell;
       return Status{};
     }},
    {"MPS percentage", take_percentage},
    {"MPS memory",
     [](JobRow& row, const std::string& cell) { return set(row.spec.mps_memory, parse_size(cell)); }},
    {"Need", [](JobRow& row, const std::string& cell) { return set(row.spec.need, parse_size(cell)); }},
    {"Estimate",
     [](JobRow& row, const std::string& cell) { return set(row.spec.estimate, split_words(cell)); }},
    {"After",
     [](JobRow& row, const std::string& cell) { return set(row.spec.after, split_words(cell, " \t\n;")); }},
    {"Start", [](JobRow& row, const std::string& cell) { return set(row.spec.start, parse_start(cell)); }},
    {"Time limit",
     [](JobRow& row, const std::string& cell) { return set(row.spec.time_limit, parse_duration(cell)); }},
    {"Epoch limit",
     [](JobRow& row, const std::string& cell) { return take_count(row.spec.epoch_limit, cell); }},
};

const ColumnRule* rule_named(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kColumns, [&](const ColumnRule& rule) { return plain_title(rule.name) == plain_title(name); });
  return found == std::end(kColumns) ? nullptr : found;
}

std::vector<std::string_view> column_names() {
  std::vector<std::string_view> names;
  for (const ColumnRule& rule : kColumns) names.push_back(rule.name);
  return names;
}

/// What must hold between the columns of one job.
std::optional<Error> contradiction(const JobSpec& job) {
  if (job.command.empty())
    return Error{"there is no command", {}, "Give it in a column Command, or File and Params."};
  if (job.sharing != Sharing::mps && (job.mps_percentage || job.mps_memory))
    return Error{"an MPS limit is given, but the mode is not mps"};
  return {};
}

/// What must hold between the jobs of one workload: they share a device in one way.
void check_workloads(const std::vector<JobRow>& rows, std::vector<Error>& errors) {
  std::map<std::pair<std::string, std::string>, const JobSpec*> first;
  for (const JobRow& row : rows) {
    const JobSpec& job = row.spec;
    if (job.workload.empty()) continue;
    const auto [it, added] = first.try_emplace({job.experiment, job.workload}, &job);
    if (!added && it->second->sharing != job.sharing)
      errors.push_back({fmt::format("workload '{}' is {} in one row and {} in another",
                                    printable(job.workload), name(it->second->sharing), name(job.sharing)),
                        fmt::format("row {}", row.place)});
  }
}

}  // namespace

std::string plain_title(std::string_view title) {
  std::string out;
  for (const char c : lower_case(title))
    if (c != ' ' && c != '_' && c != '-') out += c;
  return out;
}

AllErrors<JobsFile> parse_csv_jobs(std::string_view text) {
  auto rows = read_csv(text);
  if (!rows) return std::unexpected(std::vector{std::move(rows).error()});
  std::vector<Error> errors;
  if (rows->size() < 2) return std::unexpected(std::vector{Error{"there is no job in it"}});
  if (rows->size() > kMostJobs)
    return std::unexpected(std::vector{Error{"there are more than 10,000 jobs in it"}});
  std::vector<const ColumnRule*> columns;
  for (const std::string& title : rows->front().cells) {
    columns.push_back(rule_named(title));
    if (columns.back() == nullptr)
      errors.push_back({fmt::format("there is no column '{}'", printable(title)), "the header",
                        did_you_mean(title, column_names())});
  }
  JobsFile file;
  for (std::size_t i = 1; i < rows->size(); ++i) {
    const CsvRow& row = (*rows)[i];
    const std::string where = fmt::format("line {}", row.line);
    JobRow job;
    job.place = i;
    job.line = row.line;
    if (row.cells.size() > columns.size())
      errors.push_back(
          {fmt::format("has {} cells, but there are {} columns", row.cells.size(), columns.size()), where});
    for (std::size_t c = 0; c < std::min(columns.size(), row.cells.size()); ++c) {
      if (columns[c] == nullptr || row.cells[c].empty()) continue;
      if (Status taken = columns[c]->take(job, row.cells[c]); !taken)
        errors.push_back(std::move(taken).error().within(fmt::format("{}: {}", where, columns[c]->name)));
    }
    if (auto wrong = contradiction(job.spec)) errors.push_back(std::move(*wrong).within(where));
    file.jobs.push_back(std::move(job));
  }
  check_workloads(file.jobs, errors);
  std::ranges::move(turn_mistakes(file.jobs), std::back_inserter(errors));
  if (!errors.empty()) return std::unexpected(std::move(errors));
  file.rows = *std::move(rows);
  return file;
}

AllErrors<JobsFile> read_jobs(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path, kLargestJobsFile);
  if (!text) return std::unexpected(std::vector{text.error()});
  const bool toml = lower_case(path.extension().string()) == ".toml";
  auto file = toml ? parse_toml_jobs(*text) : parse_csv_jobs(*text);
  if (!file) {
    for (Error& error : file.error()) error = std::move(error).within(path.string());
    return file;
  }
  file->path = path;
  for (JobRow& job : file->jobs) job.digest = digest_of(job.spec);
  if (toml) read_status_beside(*file);
  return file;
}

}  // namespace plimsoll::running
