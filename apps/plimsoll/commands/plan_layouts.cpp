#include <algorithm>
#include <charconv>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "json_output.hpp"
#include "mig_device.hpp"
#include "plan/mig/layouts.hpp"
#include "plan_commands.hpp"
#include "report/plan_layouts_report.hpp"

namespace plimsoll {
namespace {

struct LayoutsOptions {
  std::string device = "this";
  bool double_memory = false;
  std::vector<std::string> have, in_use, want;
  bool tear_in_use = false, exact = false;
  std::string mig_parted;
  bool json = false;
};

Error no_such_profile(const MigDevice& on, std::string_view name, std::string_view option) {
  std::vector<std::string_view> names;
  for (const hardware::MigProfile& profile : on.table->profiles) names.emplace_back(profile.name);
  return {fmt::format("{} has no MIG profile {}", on.device.name, quote(name)), std::string(option),
          fmt::format("there are {}", fmt::join(names, ", "))};
}

/// "3g.20gb@4"
Result<hardware::MigPlacement> placement_of(const MigDevice& on, const std::string& word,
                                            std::string_view option) {
  const std::size_t at = word.find('@');
  const auto profile = on.table->find(word.substr(0, at));
  if (!profile) return std::unexpected(no_such_profile(on, word.substr(0, at), option));
  int start = -1;
  const char* const end = word.data() + word.size();
  const auto parsed = at == std::string::npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                              : std::from_chars(word.data() + at + 1, end, start);
  if (parsed.ec != std::errc{} || parsed.ptr != end)
    return std::unexpected(Error{fmt::format("{} does not say where it starts", quote(word)),
                                 std::string(option),
                                 fmt::format("for example: {}@{}", on.table->profiles[*profile].name,
                                             on.table->profiles[*profile].starts.front())});
  return hardware::MigPlacement{*profile, start};
}

Result<std::vector<plan::RunningInstance>> running_instances(const LayoutsOptions& options,
                                                             const MigDevice& on) {
  std::vector<plan::RunningInstance> out;
  for (const std::string& word : options.have) {
    const auto placement = placement_of(on, word, "--have");
    PLIMSOLL_TRY(placement);
    out.push_back({*placement});
  }
  for (const std::string& word : options.in_use) {
    const auto placement = placement_of(on, word, "--in-use");
    PLIMSOLL_TRY(placement);
    const auto found = std::ranges::find(out, *placement, &plan::RunningInstance::placement);
    if (found == out.end())
      out.push_back({*placement, true});
    else
      found->in_use = true;
  }
  return out;
}

Result<plan::LayoutChange> change_asked(const LayoutsOptions& options, const MigDevice& on) {
  const auto running = running_instances(options, on);
  PLIMSOLL_TRY(running);
  std::vector<std::size_t> wanted;
  for (const std::string& name : options.want) {
    const auto profile = on.table->find(name);
    if (!profile) return std::unexpected(no_such_profile(on, name, "--want"));
    wanted.push_back(*profile);
  }
  return plan::fewest_torn_down(*on.table, *running, wanted,
                                {.may_remove_in_use = options.tear_in_use, .exact = options.exact});
}

/// What is planned, or every way to cut a GPU.
std::vector<report::MigConfiguration> configurations(const report::LayoutsReport& report) {
  if (report.change) return {{"plimsoll", {plan::counts_of(report.table, report.change->after())}, false}};
  std::vector<report::MigConfiguration> out;
  for (const plan::ProfileCounts& counts : report.multisets)
    out.push_back({fmt::format("plimsoll-{}", out.size() + 1), {counts}, true});
  return out;
}

Result<int> run_layouts(const LayoutsOptions& options, const report::TextStyle& style) {
  const auto on = mig_device_named(options.device);
  PLIMSOLL_TRY(on);
  report::LayoutsReport report{.device = on->device, .table = *on->table};
  if (!options.want.empty()) {
    auto change = change_asked(options, *on);
    PLIMSOLL_TRY(change);
    report.change = *std::move(change);
  } else {
    report.profiles = plan::ordinary_profiles(*on->table, options.double_memory);
    report.layouts = plan::maximal_layouts(*on->table, report.profiles);
    report.multisets = plan::multisets_of(*on->table, report.layouts);
  }
  if (!options.mig_parted.empty())
    PLIMSOLL_TRY(write_file(options.mig_parted, report::mig_parted_text(*on->table, configurations(report))));
  if (options.json)
    print_json(report::layouts_json(report));
  else
    fmt::print("{}", report::layouts_text(report, style));
  return 0;
}

}  // namespace

void add_plan_layouts(CommandLine& plan, Invocation& invocation) {
  auto options = std::make_shared<LayoutsOptions>();
  CommandLine* command =
      plan.add_subcommand("layouts", "Every way to cut a GPU into MIG instances, and from one to another");
  command->add_option("--device", options->device, "Id from `plimsoll devices`, or `this` (default)")
      ->option_text("DEVICE");
  command->add_flag("--double-memory", options->double_memory,
                    "Also with the profile of one part of the compute and two of the memory");
  CommandLineOption* want =
      command->add_option("--want", options->want, "Profiles that are to be there: 2g.10gb,2g.10gb")
          ->delimiter(',')
          ->option_text("PROFILE,…");
  command
      ->add_option("--have", options->have, "Instances that are there, with their starts: 3g.20gb@4,1g.5gb@0")
      ->delimiter(',')
      ->option_text("PROFILE@START,…")
      ->needs(want);
  command->add_option("--in-use", options->in_use, "Instances that are there and in use: they stay")
      ->delimiter(',')
      ->option_text("PROFILE@START,…")
      ->needs(want);
  command->add_flag("--tear-in-use", options->tear_in_use, "Those in use may be torn down as well")
      ->needs(want);
  command->add_flag("--exact", options->exact, "Nothing but what is wanted stays")->needs(want);
  command->add_option("--mig-parted", options->mig_parted, "Write a configuration for NVIDIA's mig-parted")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll plan layouts --device a100-40\n"
      "  plimsoll plan layouts --device h200 --double-memory --json\n"
      "  plimsoll plan layouts --device a100-40 --have 3g.20gb@4,1g.5gb@0 --want 2g.10gb,2g.10gb");
  command->callback([options, &invocation] {
    invocation.run = [options, style = output_style(invocation)] { return run_layouts(*options, style); };
  });
}

}  // namespace plimsoll
