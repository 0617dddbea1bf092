#include <array>

#include "base/named.hpp"
#include "base/printable.hpp"
#include "cuda/protocol.hpp"
#include "job/fields.hpp"

namespace plimsoll::cuda {
namespace {

using job::Fields;
using job::Json;

constexpr int kVersion = 1;
constexpr int kJobLevels = 3;
constexpr std::size_t kMostItems = 64;  // of a list of sizes

constexpr std::array<std::string_view, 5> kTasks{"vecadd", "matmul", "ceilings", "load", "share"};
constexpr std::array<std::string_view, 4> kLoads{"idle", "product-bf16", "product-fp32", "memory-triad"};
constexpr std::array<std::string_view, 3> kSharingParts{"watch", "spin", "stream"};
constexpr std::array<std::string_view, 15> kKeys{
    "version", "task",    "device",    "elements", "sizes",   "load",           "seconds", "part",
    "begin",   "kernels", "different", "blocks",   "threads", "kernel_seconds", "bytes"};

std::optional<Task> task_named(std::string_view word) {
  return named<Task>(word, kTasks);
}
std::optional<Load> load_named(std::string_view word) {
  return named<Load>(word, kLoads);
}
std::optional<Sharer> part_named(std::string_view word) {
  return named<Sharer>(word, kSharingParts);
}

void refuse_unknown_keys(const Json& document, const Fields& fields) {
  for (const auto& item : document.items())
    if (std::ranges::find(kKeys, item.key()) == kKeys.end())
      fields.complain(printable(item.key(), 40), "is not a key of a job");
}

std::vector<std::int64_t> list_of(const Fields& fields, std::string_view key, std::int64_t most) {
  std::vector<std::int64_t> list = fields.wholes(key, 1, most);
  if (list.empty()) fields.complain(key, "names no size");
  if (list.size() > kMostItems) fields.complain(key, fmt::format("names more than {} sizes", kMostItems));
  return list;
}

double seconds_within(const Fields& fields, std::string_view key, double longest) {
  const double seconds = fields.not_negative(key);
  if (seconds <= 0 || seconds > longest)
    fields.complain(key, fmt::format("is not between 0 and {}", longest));
  return seconds;
}

void write_share(Json& document, const Job& job) {
  document["part"] = kSharingParts[static_cast<std::size_t>(job.part)];
  document["seconds"] = job.seconds;
  document["begin"] = job.begin;
  if (job.part == Sharer::watch) return;
  document["kernels"] = job.step.kernels;
  document["blocks"] = job.step.blocks;
  document["threads"] = job.step.threads;
  if (job.part == Sharer::stream) {
    document["bytes"] = job.step.bytes;
  } else {
    document["different"] = job.step.different;
    document["kernel_seconds"] = job.step.kernel_seconds;
  }
}

void read_share(const Fields& fields, Job& job) {
  job.part = fields.choice<Sharer>("part", part_named);
  job.seconds = seconds_within(fields, "seconds", kLongestShare);
  job.begin = fields.not_negative("begin");
  if (job.part == Sharer::watch || !fields.good()) return;
  job.step.kernels = fields.whole("kernels", 1, kMostKernels);
  job.step.blocks = fields.whole("blocks", 1, kMostBlocks);
  job.step.threads = fields.whole("threads", 1, kMostThreads);
  if (job.part == Sharer::stream) {
    job.step.bytes = fields.whole("bytes", 1, kMostStreamedBytes);
  } else {
    job.step.different = fields.whole("different", 1, kMostDifferent);
    job.step.kernel_seconds = seconds_within(fields, "kernel_seconds", kLongestKernel);
  }
}

}  // namespace

std::string_view name(Load load) {
  return kLoads[static_cast<std::size_t>(load)];
}

std::string write(const Job& job) {
  Json document = {
      {"version", kVersion}, {"task", kTasks[static_cast<std::size_t>(job.task)]}, {"device", job.device}};
  switch (job.task) {
    case Task::vecadd: document["elements"] = job.elements; break;
    case Task::matmul: document["sizes"] = job.sizes; break;
    case Task::ceilings: break;
    case Task::load:
      document["load"] = name(job.load);
      document["seconds"] = job.seconds;
      break;
    case Task::share: write_share(document, job); break;
  }
  return job::dump(document);
}

Result<Job> read_job(std::string_view text) {
  const Result<Json> document = job::parse_within(text, kMostJobBytes, kJobLevels);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const Fields fields(*document, "", error);
  static_cast<void>(fields.whole("version", kVersion, kVersion));
  Job job;
  job.task = fields.choice<Task>("task", task_named);
  job.device = static_cast<int>(fields.whole("device", 0, kMostDevices));
  if (!error) refuse_unknown_keys(*document, fields);
  if (!error && job.task == Task::vecadd) job.elements = list_of(fields, "elements", kMostElements);
  if (!error && job.task == Task::matmul) job.sizes = list_of(fields, "sizes", kMostSize);
  if (!error && job.task == Task::load) {
    job.load = fields.choice<Load>("load", load_named);
    job.seconds = seconds_within(fields, "seconds", kLongestLoad);
  }
  if (!error && job.task == Task::share) read_share(fields, job);
  if (error) return std::unexpected(std::move(*error));
  return job;
}

}  // namespace plimsoll::cuda
