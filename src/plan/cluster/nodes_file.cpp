// Nodes and pods as Alibaba's openb trace gives them, from anybody.
#include <algorithm>
#include <charconv>
#include <map>

#include "base/csv.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "plan/cluster/nodes.hpp"

namespace plimsoll::plan::cluster {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::size_t kMostRows = 1'000'000;
constexpr std::size_t kMostModels = 64;
constexpr std::size_t kMostToldRows = 20;
constexpr std::int64_t kMostOfAny = 1'000'000'000'000;  // sums of a million stay far below 2^63

/// What is wrong with the rows, told together at the end.
class RowProblems {
 public:
  void add(std::size_t line, const std::string& what) {
    if (++count_ <= kMostToldRows)
      told_ += fmt::format("{}line {}: {}", told_.empty() ? "" : "; ", line, what);
  }
  [[nodiscard]] Status status(std::string_view columns) const {
    if (count_ == 0) return {};
    const std::string more =
        count_ > kMostToldRows ? fmt::format("; and {} more rows", count_ - kMostToldRows) : "";
    return std::unexpected(Error{told_ + more, {}, fmt::format("Columns are {}.", columns)});
  }

 private:
  std::size_t count_ = 0;
  std::string told_;
};

/// A table whose columns are found by name.
struct NamedRows {
  std::vector<CsvRow> rows;
  std::map<std::string, std::size_t, std::less<>> columns;

  [[nodiscard]] std::string_view cell(const CsvRow& row, std::string_view column) const {
    const auto found = columns.find(column);
    return found == columns.end() || found->second >= row.cells.size()
               ? std::string_view()
               : std::string_view(row.cells[found->second]);
  }
  /// A whole number within bounds; else 0, and why in `problem`.
  [[nodiscard]] std::int64_t number(const CsvRow& row, std::string_view column, std::int64_t most,
                                    std::string& problem) const {
    const std::string_view text = cell(row, column);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most) return value;
    if (problem.empty())
      problem = text.empty() ? fmt::format("{} is missing", column)
                             : fmt::format("{} '{}' is no whole number from 0 to {}", column,
                                           printable(text, 40), most);
    return 0;
  }
};

Result<NamedRows> named_rows(std::string_view csv, std::initializer_list<std::string_view> needed,
                             std::string_view known) {
  auto rows = read_csv(csv);
  PLIMSOLL_TRY(rows);
  if (rows->empty()) return std::unexpected(Error{"it is empty", {}, fmt::format("Columns are {}.", known)});
  if (rows->size() > kMostRows + 1) return fail("there are more than {} rows", kMostRows);
  NamedRows table;
  for (std::size_t i = 0; i < rows->front().cells.size(); ++i)
    table.columns.emplace(rows->front().cells[i], i);
  std::string missing;
  for (const std::string_view column : needed)
    if (!table.columns.contains(column)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", column);
  if (!missing.empty())
    return std::unexpected(
        Error{fmt::format("there is no column {}", missing), {}, fmt::format("Columns are {}.", known)});
  rows->erase(rows->begin());
  table.rows = *std::move(rows);
  return table;
}

/// The model's place among those known; added where it is new.
std::optional<std::size_t> model_index(std::vector<std::string>& models, std::string_view name) {
  const auto found = std::ranges::find(models, name);
  if (found != models.end()) return static_cast<std::size_t>(found - models.begin());
  if (models.size() == kMostModels) return std::nullopt;
  models.emplace_back(name);
  return models.size() - 1;
}

/// "V100M16|V100M32": one bit each.
std::uint64_t models_of(std::string_view text, std::vector<std::string>& models, std::string& problem) {
  std::uint64_t out = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('|'), text.size());
    if (end > 0) {
      const auto index = model_index(models, text.substr(0, end));
      if (index) out |= std::uint64_t{1} << *index;
      if (!index && problem.empty()) problem = fmt::format("more than {} models of GPUs", kMostModels);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

constexpr std::string_view kNodeColumns = "sn, cpu_milli, memory_mib, gpu, model";
constexpr std::string_view kPodColumns = "name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec";

Pod pod_of(const NamedRows& table, const CsvRow& row, std::vector<std::string>& models,
           std::string& problem) {
  Pod pod;
  pod.cpu = table.number(row, "cpu_milli", kMostOfAny, problem);
  pod.memory = table.number(row, "memory_mib", kMostOfAny, problem);
  pod.gpus = static_cast<int>(table.number(row, "num_gpu", kMostGpus, problem));
  pod.milli = static_cast<int>(table.number(row, "gpu_milli", kWholeGpu, problem));
  pod.models = models_of(table.cell(row, "gpu_spec"), models, problem);
  if (!problem.empty()) return pod;
  if (pod.gpus == 0) pod.milli = 0;
  if (pod.gpus == 1 && pod.milli == 0) problem = "a GPU is asked for, and nothing of it (gpu_milli 0)";
  if (pod.gpus > 1 && pod.milli != kWholeGpu)
    problem = fmt::format("parts of {} GPUs (gpu_milli {}): only one GPU can be shared", pod.gpus, pod.milli);
  return pod;
}

template <class Read>
auto read_cluster_file(const std::filesystem::path& path, const Read& read)
    -> decltype(read(std::string_view())) {
  const Result<std::string> text = read_file(path, kMostBytes);
  PLIMSOLL_TRY(text);
  auto out = read(*text);
  if (!out) return std::unexpected(std::move(out).error().within(printable(path.string())));
  return out;
}

}  // namespace

Result<Cluster> read_nodes(std::string_view csv) {
  const auto table = named_rows(csv, {"cpu_milli", "memory_mib", "gpu"}, kNodeColumns);
  PLIMSOLL_TRY(table);
  Cluster cluster;
  RowProblems problems;
  for (const CsvRow& row : table->rows) {
    std::string problem;
    Node node;
    node.cpu = table->number(row, "cpu_milli", kMostOfAny, problem);
    node.memory = table->number(row, "memory_mib", kMostOfAny, problem);
    node.gpu_count = static_cast<std::uint8_t>(table->number(row, "gpu", kMostGpus, problem));
    std::fill_n(node.milli.begin(), node.gpu_count, static_cast<std::int16_t>(kWholeGpu));
    if (node.gpu_count > 0) {
      const auto model = model_index(cluster.models, table->cell(row, "model"));
      if (!model && problem.empty()) problem = fmt::format("more than {} models of GPUs", kMostModels);
      node.model = static_cast<std::uint8_t>(model.value_or(0));
    }
    if (!problem.empty()) problems.add(row.line, problem);
    if (!problem.empty() || node.gpu_count == 0) continue;
    cluster.nodes.push_back(node);
    cluster.names.emplace_back(table->cell(row, "sn"));
  }
  PLIMSOLL_TRY(problems.status(kNodeColumns));
  if (cluster.nodes.empty()) return fail("no node has a GPU");
  return cluster;
}

Result<Workload> read_pods(std::string_view csv, Cluster& cluster) {
  const auto table = named_rows(csv, {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, kPodColumns);
  PLIMSOLL_TRY(table);
  Workload workload;
  std::map<Pod, std::uint32_t> known;
  RowProblems problems;
  for (const CsvRow& row : table->rows) {
    std::string problem;
    const Pod pod = pod_of(*table, row, cluster.models, problem);
    if (!problem.empty()) {
      problems.add(row.line, problem);
      continue;
    }
    const auto [found, is_new] = known.emplace(pod, static_cast<std::uint32_t>(workload.kinds.size()));
    if (is_new) workload.kinds.push_back(pod);
    workload.pods.push_back(found->second);
  }
  PLIMSOLL_TRY(problems.status(kPodColumns));
  if (workload.pods.empty()) return fail("there is no pod");
  return workload;
}

Result<Cluster> read_nodes_file(const std::filesystem::path& path) {
  return read_cluster_file(path, [](std::string_view csv) { return read_nodes(csv); });
}

Result<Workload> read_pods_file(const std::filesystem::path& path, Cluster& cluster) {
  return read_cluster_file(path, [&](std::string_view csv) { return read_pods(csv, cluster); });
}

}  // namespace plimsoll::plan::cluster
