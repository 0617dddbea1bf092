#include "report/schedule_exports.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "report/schedule_groups.hpp"
#include "report/schedule_lanes.hpp"

namespace plimsoll::report {
namespace {

using plan::schedule::Plan;
using plan::schedule::Ran;
using plan::schedule::Setup;

const Setup& setup_at(const Plan& plan, std::size_t place) {
  return plan.instance.setups[plan.instance.places[place].setup];
}

/// A text of TOML, on one line.
std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string toml_texts(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + toml_text(text);
  return out + "]";
}

/// What the jobs are called in the file: each otherwise, since they wait for each other by name.
std::vector<std::string> names_in_file(const Plan& plan) {
  std::set<std::string> taken;
  std::vector<std::string> out;
  for (std::size_t job = 0; job < plan.instance.jobs.size(); ++job) {
    const std::string& given = plan.instance.jobs[job].name;
    const std::string name = given.empty() ? fmt::format("job-{}", job + 1) : printable(given);
    std::string unique = name;
    for (std::size_t number = 2; !taken.insert(unique).second; ++number)
      unique = fmt::format("{}-{}", name, number);
    out.push_back(std::move(unique));
  }
  return out;
}

Status check_commands(const Plan& plan, std::span<const ExportedJob> jobs) {
  std::string wrong;
  for (std::size_t i = 0; i < plan.instance.jobs.size(); ++i) {
    const auto complain = [&](std::string_view why) {
      wrong += fmt::format("{}{} {}", wrong.empty() ? "" : "; ", quote(plan.instance.jobs[i].name), why);
    };
    const auto has_no_text = [](const std::string& word) { return !is_utf8(word) || word.contains('\0'); };
    if (i >= jobs.size() || jobs[i].command.empty())
      complain("has no command");
    else if (std::ranges::any_of(jobs[i].command, has_no_text) ||
             std::ranges::any_of(jobs[i].estimate, has_no_text) ||
             has_no_text(jobs[i].directory.value_or("")))
      complain("has words that are no UTF-8");
  }
  if (wrong.empty()) return {};
  return std::unexpected(Error{"the plan cannot be run from a file: " + wrong});
}

std::string devices_toml(const Plan& plan, const Ran& ran) {
  std::vector<std::string> out;
  for (const std::size_t place : ran.places) {
    const PartOfGpu part = part_of_gpu(plan, place);
    const std::size_t gpu = plan.instance.places[place].device;
    out.push_back(part.parts > 1 ? fmt::format("{}:{}", gpu, part.part) : fmt::format("{}", gpu));
  }
  return toml_texts(out);
}

/// What slices a group's GPUs have to be cut into before.
std::string slices_comment(const Plan& plan, const GpuGroup& group) {
  std::string out;
  for (std::size_t place = 0; place < plan.instance.places.size(); ++place) {
    const std::size_t gpu = plan.instance.places[place].device;
    if (setup_at(plan, place).way != share::Way::mig ||
        std::ranges::find(group.gpus, gpu) == group.gpus.end())
      continue;
    out +=
        fmt::format("{}{}:{} is a {}", out.empty() ? "# Slices, as `nvidia-smi -L` must count them: " : ", ",
                    gpu, part_of_gpu(plan, place).part, printable(setup_at(plan, place).profile));
  }
  return out.empty() ? out : out + "\n";
}

bool under_mps(const Plan& plan, const GpuGroup& group) {
  return std::ranges::any_of(group.jobs, [&](std::size_t job) {
    return std::ranges::any_of(plan.outcome.jobs[job].places, [&](std::size_t place) {
      return setup_at(plan, place).way == share::Way::mps;
    });
  });
}

/// The most that are on one of the places of that way at once.
std::size_t most_at_once(const Plan& plan, share::Way way) {
  std::size_t most = 0;
  for (const Lane& lane : lanes_of(plan))
    if (setup_at(plan, lane.place).way == way && !lane.bars.empty()) most = std::max(most, lane.rows);
  return most;
}

}  // namespace

Result<std::string> run_jobs_toml(const Plan& plan, std::span<const ExportedJob> jobs,
                                  std::string_view experiment) {
  PLIMSOLL_TRY(check_commands(plan, jobs));
  const std::vector<std::string> names = names_in_file(plan);
  std::string out = fmt::format("# A plan of {} jobs, for `plimsoll run`: {} in all.\nexperiment = {}\n",
                                plan.instance.jobs.size(), text(Seconds(plan.outcome.makespan)),
                                toml_text(printable(experiment)));
  for (const GpuGroup& group : gpu_groups(plan)) {
    const bool mps = under_mps(plan, group);
    out += fmt::format("\n{}[[workload]]\nname = {}\nmode = \"{}\"\n", slices_comment(plan, group),
                       toml_text(group_name(group)), mps ? "mps" : "naive");
    const auto starters = started_by(plan, group);
    for (const std::size_t job : group.jobs) {
      const Ran& ran = plan.outcome.jobs[job];
      const Setup& setup = setup_at(plan, ran.places.front());
      const std::string starting =
          ran.computes_from() > ran.start
              ? fmt::format(", its first step at {}", text(Seconds(ran.computes_from())))
              : "";
      out += fmt::format("\n  [[workload.job]]  # {} to {}{}\n  name = {}\n  command = {}\n  devices = {}\n",
                         text(Seconds(ran.start)), text(Seconds(ran.end)), starting, toml_text(names[job]),
                         toml_texts(jobs[job].command), devices_toml(plan, ran));
      if (jobs[job].directory) out += fmt::format("  directory = {}\n", toml_text(*jobs[job].directory));
      if (setup.way == share::Way::mps && setup.cap < 1)
        out += fmt::format("  mps_percentage = {:g}\n", 100 * setup.cap);
      if (!jobs[job].estimate.empty())
        out += fmt::format("  estimate = {}\n", toml_texts(jobs[job].estimate));
      std::vector<std::string> after;
      for (const std::size_t before : starters[job]) after.push_back(names[before]);
      if (!after.empty()) out += fmt::format("  after = {}\n", toml_texts(after));
      if (const double start = starts_at(plan, job, !after.empty()); start > 0)
        out += fmt::format("  start = {}\n", start);
    }
  }
  return out;
}

std::string kubernetes_sharing(const Plan& plan) {
  const std::size_t mps = most_at_once(plan, share::Way::mps), turns = most_at_once(plan, share::Way::naive);
  const bool slices = std::ranges::any_of(plan.instance.places, [&](const auto& place) {
    return plan.instance.setups[place.setup].way == share::Way::mig;
  });
  const bool alike =
      std::ranges::adjacent_find(plan.layouts, std::ranges::not_equal_to()) == plan.layouts.end();
  std::string out = "# A configuration of NVIDIA's device plugin for Kubernetes.\n";
  if (!alike)
    out +=
        "# The plan sets its GPUs up differently, but the plugin all of a node alike: this is for those that "
        "are shared.\n";
  if (mps > 1)
    out += "# Under MPS the plugin gives each replica an equal part of the SMs and of the memory.\n";
  if (slices) out += "# The slices themselves are made by mig-parted; pods ask for nvidia.com/mig-PROFILE.\n";
  out += fmt::format("version: v1\nflags:\n  migStrategy: {}\n", slices ? "mixed" : "none");
  if (std::max(mps, turns) < 2) return out + "# One job at a time on each: nothing is shared.\n";
  return out +
         fmt::format("sharing:\n  {}:\n    resources:\n      - name: nvidia.com/gpu\n        replicas: {}\n",
                     mps > 1 ? "mps" : "timeSlicing", mps > 1 ? mps : turns);
}

std::optional<MigConfiguration> mig_configuration(const Plan& plan, const hardware::MigTable& table,
                                                  std::string name) {
  MigConfiguration out{.name = std::move(name)};
  bool slices = false;
  for (std::size_t place = 0; place < plan.instance.places.size(); ++place) {
    const std::size_t gpu = plan.instance.places[place].device;
    if (gpu >= out.gpus.size()) out.gpus.resize(gpu + 1, plan::ProfileCounts(table.profiles.size()));
    if (setup_at(plan, place).way != share::Way::mig) continue;
    const auto profile =
        std::ranges::find(table.profiles, setup_at(plan, place).profile, &hardware::MigProfile::name);
    if (profile == table.profiles.end()) return {};
    ++out.gpus[gpu][static_cast<std::size_t>(profile - table.profiles.begin())];
    slices = true;
  }
  if (!slices) return {};
  return out;
}

}  // namespace plimsoll::report
