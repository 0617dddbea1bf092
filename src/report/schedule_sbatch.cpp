#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "report/schedule_exports.hpp"
#include "report/schedule_groups.hpp"
#include "report/schedule_words.hpp"

namespace plimsoll::report {
namespace {

using plan::schedule::Plan;
using plan::schedule::Ran;
using plan::schedule::Setup;

constexpr std::size_t kMostNumbersInName = 8;

/// By UUID: clients of a daemon that serves some of the GPUs count these otherwise.
constexpr std::string_view kMpsBegin = R"sh(
mapfile -t held < <(nvidia-smi --query-gpu=uuid --format=csv,noheader -i "$(IFS=,; echo "${held[*]}")")
CUDA_VISIBLE_DEVICES=$(IFS=,; echo "${held[*]}")
export CUDA_VISIBLE_DEVICES
mps=$(mktemp -d) || exit 1
export CUDA_MPS_PIPE_DIRECTORY=$mps/pipe CUDA_MPS_LOG_DIRECTORY=$mps/log
mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY" || exit 1
nvidia-cuda-mps-control -d || exit 1
)sh";

/// Profiles are found by name: their order in the list is the driver's.
constexpr std::string_view kSliceFunction = R"sh(
# slice PROFILE NUMBER: the UUID of that slice among those of its profile, from 0
slice() {
  nvidia-smi -L | awk -v profile="$1" -v number="$2" \
    '$1 == "MIG" && $2 == profile && count++ == number { sub(/.*UUID: /, ""); sub(/\).*/, ""); print }'
}
)sh";

/// Each job waits in a shell of its own, so that one that takes longer than planned keeps nobody else.
constexpr std::string_view kJobFunction = R"sh(
# job NUMBER DEVICES MPS_PERCENTAGE SECONDS DIRECTORY [NUMBER OF ONE TO WAIT FOR...] -- COMMAND...
job() {
  (
    number=$1 seconds=$4 directory=$5
    trap 'touch "$ended/$number"' EXIT
    export CUDA_VISIBLE_DEVICES=$2
    [ "$3" = 100 ] || export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$3
    shift 5
    while [ "$1" != -- ]; do
      until [ -e "$ended/$1" ]; do sleep 1; done
      shift
    done
    shift
    [ "$SECONDS" -ge "$seconds" ] || sleep $((seconds - SECONDS))
    cd -- "$directory" || exit 1
    "$@"
    exit $?
  ) >"plimsoll-${SLURM_JOB_ID:-$$}-$1.log" 2>&1 &
  pids[$1]=$!
}
)sh";

bool on_mps(const Plan& plan, const Ran& ran) {
  return std::ranges::any_of(ran.places, [&](std::size_t place) {
    return plan.instance.setups[plan.instance.places[place].setup].way == share::Way::mps;
  });
}

/// What CUDA_VISIBLE_DEVICES is for a job, as a word of the script.
std::string devices_word(const Plan& plan, const GpuGroup& group, const Ran& ran) {
  std::string out;
  for (const std::size_t place : ran.places) {
    const plan::schedule::Place& where = plan.instance.places[place];
    const Setup& setup = plan.instance.setups[where.setup];
    if (!out.empty()) out += ',';
    if (setup.way == share::Way::mig) {
      std::size_t number = 0;  // among the group's of the same profile
      for (std::size_t other = 0; other < place; ++other)
        if (std::ranges::find(group.gpus, plan.instance.places[other].device) != group.gpus.end() &&
            plan.instance.setups[plan.instance.places[other].setup].profile == setup.profile)
          ++number;
      out += fmt::format("$(slice {} {})", shell_word(setup.profile), number);
    } else {
      out += fmt::format("${{held[{}]}}", std::ranges::find(group.gpus, where.device) - group.gpus.begin());
    }
  }
  return '"' + out + '"';
}

std::string job_lines(const Plan& plan, const GpuGroup& group, std::size_t job, const ExportedJob& started,
                      const std::vector<std::size_t>& starters) {
  const Ran& ran = plan.outcome.jobs[job];
  const Setup& setup = plan.instance.setups[plan.instance.places[ran.places.front()].setup];
  const double percentage = setup.way == share::Way::mps ? 100 * setup.cap : 100;
  std::string out = fmt::format(
      "\n# {}: {} to {}\njob {} {} {:g} {:.0f} {}", scheduled_name(plan, job), text(Seconds(ran.start)),
      text(Seconds(ran.end)), job + 1, devices_word(plan, group, ran), percentage,
      starts_at(plan, job, !starters.empty()), shell_word(started.directory.value_or(".")));
  for (const std::size_t before : starters) out += fmt::format(" {}", before + 1);
  out += " --";
  for (const std::string& word : started.command) out += " " + shell_word(word);
  return out + "\n";
}

std::string script_for(const Plan& plan, const GpuGroup& group, std::span<const ExportedJob> jobs,
                       std::string_view name) {
  const auto serves = [&](std::size_t job) {
    return plan.instance.kinds[plan.instance.jobs[job].kind].serves;
  };
  const bool mps =
      std::ranges::any_of(group.jobs, [&](std::size_t job) { return on_mps(plan, plan.outcome.jobs[job]); });
  const bool slices = std::ranges::any_of(group.gpus, [&](std::size_t gpu) {
    return std::ranges::any_of(plan.instance.places, [&](const plan::schedule::Place& place) {
      return place.device == gpu && plan.instance.setups[place.setup].way == share::Way::mig;
    });
  });
  double end = 0;
  for (const std::size_t job : group.jobs) end = std::max(end, plan.outcome.jobs[job].end);
  std::string out = fmt::format(
      "#!/bin/bash\n#SBATCH --job-name=plimsoll-{}\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:{}\n"
      "# {} of a plan: {} jobs, {}. What each prints is in plimsoll-JOB-NUMBER.log.\n",
      name, group.gpus.size(), group_name(group), group.jobs.size(), text(Seconds(end)));
  if (slices) out += "# The GPU must be cut into its slices, and held as a whole, before.\n";
  out +=
      "set -u\n"
      "IFS=, read -ra held <<<\"${CUDA_VISIBLE_DEVICES:-";
  for (std::size_t i = 0; i < group.gpus.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ",", i);
  out += "}\"\npids=()\nended=$(mktemp -d) || exit 1\n";
  if (mps) out += kMpsBegin;
  out += fmt::format("trap '{}rm -rf \"$ended\"{}' EXIT\n",
                     mps ? "echo quit | nvidia-cuda-mps-control; " : "", mps ? " \"$mps\"" : "");
  if (slices) out += kSliceFunction;
  out += kJobFunction;
  out += "\nSECONDS=0\n";
  const auto starters = started_by(plan, group);
  for (const std::size_t job : group.jobs) out += job_lines(plan, group, job, jobs[job], starters[job]);
  std::vector<std::size_t> awaited, services;
  for (const std::size_t job : group.jobs) (serves(job) ? services : awaited).push_back(job + 1);
  if (awaited.empty()) std::swap(awaited, services);
  out += fmt::format("\nfailed=0\nfor number in {}; do wait \"${{pids[$number]}}\" || failed=1; done\n",
                     fmt::join(awaited, " "));
  if (!services.empty())
    out += fmt::format(
        "# Services have no end of their own.\nfor number in {}; do pkill -TERM -P \"${{pids[$number]}}\"; "
        "done\n",
        fmt::join(services, " "));
  return out + "exit \"$failed\"\n";
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> sbatch_scripts(const Plan& plan,
                                                                        std::span<const ExportedJob> jobs) {
  std::string wrong;
  for (std::size_t i = 0; i < plan.instance.jobs.size(); ++i)
    if (i >= jobs.size() || jobs[i].command.empty() ||
        std::ranges::any_of(jobs[i].command, [](const std::string& word) { return word.contains('\0'); }))
      wrong += fmt::format("{}{}", wrong.empty() ? "" : ", ", quote(plan.instance.jobs[i].name));
  if (!wrong.empty())
    return std::unexpected(Error{"there is no command, or one with a zero byte, for " + wrong});
  std::vector<std::pair<std::string, std::string>> out;
  for (const GpuGroup& group : gpu_groups(plan)) {
    const std::size_t named = std::min(group.gpus.size(), kMostNumbersInName);
    std::string name = fmt::format(
        "gpu{}-{}", named > 1 ? "s" : "",
        fmt::join(group.gpus.begin(), group.gpus.begin() + static_cast<std::ptrdiff_t>(named), "-"));
    if (named < group.gpus.size()) name += fmt::format("-and-{}-more", group.gpus.size() - named);
    out.emplace_back(name + ".sbatch", script_for(plan, group, jobs, name));
  }
  return out;
}

}  // namespace plimsoll::report
