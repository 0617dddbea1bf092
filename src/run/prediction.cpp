#include "run/prediction.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/process.hpp"

namespace plimsoll::running {
namespace {

using Document = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{60};

/// The JSON that a plimsoll answers; exit code 1 is an answer, too.
Result<Document> answer_of(std::vector<std::string> argv, const fs::path& directory) {
  ProcessOptions process;
  const std::string what = argv[1];
  process.argv = std::move(argv);
  process.directory = directory;
  process.timeout = kPatience;
  const Result<ProcessOutput> answer = plimsoll::run(process);
  PLIMSOLL_TRY(answer);
  Document document = Document::parse(answer->output, nullptr, false);
  if (!document.is_object()) return fail("plimsoll {} {}: {}", what, answer->outcome(), answer->error);
  return document;
}

/// A workload as `plimsoll beside --workloads` reads it, and the device that it was estimated for.
struct Described {
  Document workload;
  std::string device;
};
Result<Described> described(const Companion& one, const std::string& program) {
  std::vector<std::string> argv = {program, "estimate"};
  argv.insert(argv.end(), one.job.estimate.begin(), one.job.estimate.end());
  argv.emplace_back("--json");
  const auto answer = answer_of(std::move(argv), one.job.directory);
  PLIMSOLL_TRY(answer);
  if (!answer->contains("setting") || !answer->contains("model") || !(*answer)["model"].is_string() ||
      !answer->contains("device") || !(*answer)["device"].is_string())
    return fail("plimsoll estimate does not say of what");
  // A file's name is the job's, whose directory is not this process's.
  std::string model = (*answer)["model"].get<std::string>();
  std::error_code failed;
  if (const fs::path file = fs::absolute(one.job.directory / model, failed);
      !failed && fs::exists(file, failed))
    model = file.string();
  Described out{.workload = {{"model", model}, {"setting", (*answer)["setting"]}},
                .device = (*answer)["device"].get<std::string>()};
  if (one.alone_run) out.workload["alone"] = "run:" + *one.alone_run;
  return out;
}

std::string sharing_of(const std::vector<Companion>& together) {
  if (together.front().job.sharing != Sharing::mps) return "naive";
  const bool capped =
      std::ranges::any_of(together, [](const Companion& one) { return one.job.mps_percentage.has_value(); });
  if (!capped) return "mps";
  std::string out;
  for (const Companion& one : together)
    out += fmt::format("{}{:g}", out.empty() ? "mps:" : ",", one.job.mps_percentage.value_or(100));
  return out;
}

Result<Document> asked(const Document& workloads, const std::string& device, const std::string& sharing,
                       const std::string& program, const std::string& store, const fs::path& directory) {
  const fs::path file = directory / "beside.json";
  PLIMSOLL_TRY(write_file(file, workloads.dump()));
  std::vector<std::string> argv = {program, "beside", "--workloads", file.string(), "--device",
                                   device,  "--json", "--sharing",   sharing};
  if (!store.empty()) argv.insert(argv.end(), {"--store", store});
  auto answer = answer_of(std::move(argv), {});
  std::error_code ignored;
  fs::remove(file, ignored);
  return answer;
}

}  // namespace

bool can_be_predicted(const std::vector<Companion>& together) {
  const bool shares =
      together.size() > 1 || (!together.empty() && together.front().job.sharing == Sharing::mps);
  return shares &&
         std::ranges::all_of(together, [](const Companion& one) { return !one.job.estimate.empty(); });
}

Result<std::vector<std::map<std::string, std::string>>> predicted_together(
    const std::vector<Companion>& together, const std::string& program, const std::string& store,
    const fs::path& directory) {
  Document workloads = Document::array();
  std::string device;
  for (const Companion& one : together) {
    const auto what = described(one, program);
    PLIMSOLL_TRY(what);
    if (!device.empty() && device != what->device)
      return fail("their estimates are for different devices, {} and {}", device, what->device);
    device = what->device;
    workloads.push_back(what->workload);
  }
  const std::string sharing = sharing_of(together);
  auto answer = asked(workloads, device, sharing, program, store, directory);
  if (!answer) {  // a run that ran alone may not tell its steps; its kernels are known without it
    for (Document& workload : workloads) workload.erase("alone");
    answer = asked(workloads, device, sharing, program, store, directory);
  }
  PLIMSOLL_TRY(answer);
  const auto members = answer->find("workloads");
  if (members == answer->end() || !members->is_array() || members->size() != together.size())
    return fail("plimsoll beside does not tell of all");
  std::vector<std::map<std::string, std::string>> out(together.size());
  for (std::size_t i = 0; i < together.size(); ++i) {
    const Document& member = (*members)[i];
    for (const char* key : {"speed", "low", "high", "alone_seconds"})
      if (!member.contains(key) || !member[key].is_number() || !(member[key].get<double>() >= 0))
        return fail("plimsoll beside tells no {}", key);
    std::map<std::string, std::string>& tags = out[i];
    tags["plimsoll.beside.sharing"] = sharing;
    tags["plimsoll.beside.device"] = device;
    for (const char* key : {"speed", "low", "high"})
      tags[fmt::format("plimsoll.beside.{}", key)] = fmt::format("{:.4g}", member[key].get<double>());
    if (const double alone = member["alone_seconds"].get<double>(); alone > 0)
      tags["plimsoll.beside.alone_steps_per_second"] = fmt::format("{:.6g}", 1 / alone);
    tags["plimsoll.beside.workload"] = workloads[i].dump();
    std::string with;
    for (std::size_t other = 0; other < together.size(); ++other)
      if (other != i) with += fmt::format("{}{}", with.empty() ? "" : " ", together[other].run);
    tags["plimsoll.beside.with"] = with;
  }
  return out;
}

}  // namespace plimsoll::running
