#include "plan_inventory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "hardware/mig.hpp"
#include "plan_fleet.hpp"
#include "run/toml_document.hpp"
#include "share/mig.hpp"

namespace plimsoll {
namespace {

using Document = nlohmann::json;
using plan::schedule::Fleet;
using plan::schedule::Layout;

constexpr int kMostGpusThere = 100'000, kMostCores = 100'000;
constexpr std::size_t kMostSlices = 8;
constexpr std::array<std::string_view, 4> kWays = {"exclusive", "naive", "mps", "mig"};

/// One machine of the file; the first mistake is kept.
class MachineReader {
 public:
  explicit MachineReader(const Document& object) : object_(object) {}

  PlanMachine read() {
    PlanMachine out{.name = text("name"), .device = text("device")};
    out.gpus = static_cast<std::size_t>(count("gpus", kMostGpusThere).value_or(1));
    out.cores = count("cores", kMostCores).value_or(0);
    out.sharing = texts("sharing");
    out.mig = texts("mig");
    if (out.device.empty()) complain("has no device: an id of `plimsoll devices`");
    for (const std::string& way : out.sharing)
      if (std::ranges::find(kWays, way) == kWays.end())
        complain(
            fmt::format("its sharing has '{}': there are exclusive, naive, mps, mig", printable(way, 40)));
    const auto turns = [](const std::string& way) { return way == "naive" || way == "mig"; };
    if (!out.mig.empty() && std::ranges::any_of(out.sharing, turns))
      complain("is cut by mig: in a slice one runs at a time (exclusive) or several under mps");
    if (out.mig.size() > kMostSlices) complain("has more slices than a GPU can be cut into");
    for (const auto& [key, value] : object_.items())
      if (std::ranges::find(kKeys, key) == kKeys.end())
        complain(fmt::format("a machine has no key '{}'", printable(key, 40)));
    return out;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  static constexpr std::array<std::string_view, 6> kKeys = {"name",  "device",  "gpus",
                                                            "cores", "sharing", "mig"};

  void complain(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  std::string text(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) return "";
    if (!found->is_string()) complain(fmt::format("its {} is no text", key));
    return found->is_string() ? found->get<std::string>() : "";
  }
  std::optional<int> count(const char* key, int most) {
    const auto found = object_.find(key);
    if (found == object_.end()) return std::nullopt;
    const double value = found->is_number() ? found->get<double>() : std::nan("");
    if (!(value >= 1 && value <= most) || value != std::floor(value)) {
      complain(fmt::format("its {} is no whole number from 1 to {}", key, most));
      return std::nullopt;
    }
    return static_cast<int>(value);
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    const auto found = object_.find(key);
    if (found == object_.end()) return out;
    if (!found->is_array()) complain(fmt::format("its {} is no list", key));
    for (const Document& item : *found)
      if (item.is_string())
        out.push_back(item.get<std::string>());
      else
        complain(fmt::format("its {} has something that is no text", key));
    return out;
  }

  const Document& object_;
  std::string wrong_;
};

std::string name_of(const PlanMachine& machine, std::size_t number) {
  return machine.name.empty() ? fmt::format("machine {}", number + 1) : printable(machine.name, 60);
}

/// The place of what a GPU is cut into among the fleet's layouts, which gets it where it is new.
Result<std::size_t> layout_of(const std::vector<std::string>& profiles, const hardware::Device& device,
                              Fleet& fleet) {
  PLIMSOLL_TRY(share::slices_of(profiles, device));
  const hardware::MigTable* table = hardware::mig_table(device);
  Layout layout{.name = "mig:" + fmt::format("{}", fmt::join(profiles, ",")), .parts = {}};
  const auto same = std::ranges::find(fleet.layouts, layout.name, &Layout::name);
  if (same != fleet.layouts.end()) return static_cast<std::size_t>(same - fleet.layouts.begin());
  for (const std::string& profile : profiles) {
    const auto setup = std::ranges::find_if(fleet.setups, [&](const plan::schedule::Setup& one) {
      return one.way == share::Way::mig && one.profile == profile && !one.clients;
    });
    const auto row = std::ranges::find(table->profiles, profile, &hardware::MigProfile::name);
    if (setup == fleet.setups.end() || row == table->profiles.end())
      return std::unexpected(Error{fmt::format("has no profile '{}'", printable(profile, 40))});
    layout.parts.push_back({static_cast<std::size_t>(setup - fleet.setups.begin()),
                            hardware::mig_bytes(*table, *row, device).value_or(Bytes())});
  }
  fleet.layouts.push_back(std::move(layout));
  return fleet.layouts.size() - 1;
}

std::vector<std::size_t> allowed_layouts(const std::vector<std::string>& ways, const Fleet& fleet,
                                         std::size_t ordinary) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < ordinary; ++i) {
    const plan::schedule::Setup& setup = fleet.setups[fleet.layouts[i].parts.front().setup];
    const auto allows = [&](share::Way way) {
      return std::ranges::find(ways, share::name(way)) != ways.end();
    };
    if (ways.empty() || (allows(setup.way) && (!setup.clients || allows(share::Way::mps)))) out.push_back(i);
  }
  return out;
}

/// What a machine whose GPUs are cut allows in its slices.
std::vector<std::size_t> layouts_in_slices(const PlanMachine& machine, std::size_t cut, bool clients,
                                           Fleet& fleet) {
  const auto allows = [&](std::string_view way) {
    return machine.sharing.empty() || std::ranges::find(machine.sharing, way) != machine.sharing.end();
  };
  std::vector<std::size_t> out;
  if (allows("exclusive") || !clients) out.push_back(cut);
  if (!clients || !allows("mps")) return out;
  Layout shared = with_clients(fleet.layouts[cut], fleet.setups);
  const auto same = std::ranges::find(fleet.layouts, shared.name, &Layout::name);
  out.push_back(static_cast<std::size_t>(same - fleet.layouts.begin()));
  if (same == fleet.layouts.end()) fleet.layouts.push_back(std::move(shared));
  return out;
}

}  // namespace

AllErrors<std::vector<PlanMachine>> read_plan_inventory(std::string_view text, const std::string& name) {
  const auto refuse = [](std::string what, std::string hint = {}) {
    return std::unexpected(std::vector{Error{std::move(what), "", std::move(hint)}});
  };
  std::string json(text);
  if (lower_case(name).ends_with(".toml")) {
    auto converted = running::toml_as_json(text);
    if (!converted) return std::unexpected(std::vector{std::move(converted).error()});
    json = *std::move(converted);
  }
  const Document document = Document::parse(json, nullptr, false);
  if (!document.is_object() || !document.contains("machine") || !document["machine"].is_array() ||
      document["machine"].empty())
    return refuse("has no machines", R"(for example [[machine]] and below it device = "h200", gpus = 4)");
  const Document& machines = document["machine"];
  if (machines.size() > kMostMachines)
    return refuse(fmt::format("has {} machines", machines.size()),
                  fmt::format("{} are the most", kMostMachines));
  std::vector<PlanMachine> out;
  std::vector<Error> wrong;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    if (!machines[i].is_object()) {
      wrong.push_back({"is no object", fmt::format("machine {}", i + 1)});
      continue;
    }
    MachineReader reader(machines[i]);
    PlanMachine machine = reader.read();
    if (!reader.wrong().empty()) wrong.push_back({reader.wrong(), name_of(machine, i)});
    // Speeds and lengths of jobs are of one kind of GPU.
    if (!out.empty() && machine.device != out.front().device && !machine.device.empty())
      wrong.push_back({fmt::format("has {}, the first {}: a plan is for GPUs of one kind",
                                   printable(machine.device, 40), printable(out.front().device, 40)),
                       name_of(machine, i)});
    out.push_back(std::move(machine));
  }
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return out;
}

AllErrors<Fleet> fleet_in(const std::vector<PlanMachine>& machines, const hardware::Device& device,
                          Fleet fleet, bool clients_in_slices) {
  const std::size_t ordinary = fleet.layouts.size();
  std::vector<Error> wrong;
  fleet.gpus = 0;
  for (std::size_t host = 0; host < machines.size(); ++host) {
    const PlanMachine& machine = machines[host];
    fleet.cores.push_back(machine.cores);
    std::vector<std::size_t> layouts;
    if (machine.mig.empty()) {
      layouts = allowed_layouts(machine.sharing, fleet, ordinary);
      if (layouts.empty()) wrong.push_back({"allows no way that its device has", name_of(machine, host)});
    } else if (const auto cut = layout_of(machine.mig, device, fleet)) {
      layouts = layouts_in_slices(machine, *cut, clients_in_slices, fleet);
    } else {
      wrong.push_back({cut.error().message, name_of(machine, host), cut.error().hint});
    }
    for (std::size_t gpu = 0; gpu < machine.gpus && fleet.gpus < static_cast<std::size_t>(kMostGpusThere);
         ++gpu) {
      const std::string number = fmt::format("{}", gpu);
      fleet.slots.push_back({.name = machine.name.empty() ? number : machine.name + "/" + number,
                             .host = host,
                             .layouts = layouts});
      ++fleet.gpus;
    }
  }
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return fleet;
}

}  // namespace plimsoll
