#include "telemetry/package_energy.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::telemetry {
namespace {

constexpr std::size_t kMostPackages = 64;

}  // namespace

std::optional<double> PackageEnergy::joules(ReadBuffer& buffer) {
  const auto energy = Words(file_.read(buffer)).number();
  if (!energy) return std::nullopt;
  return static_cast<double>(total_.advance(*energy, range_)) * 1e-6;
}

std::vector<PackageEnergy> find_packages(const std::filesystem::path& sys) {
  std::vector<PackageEnergy> packages;
  for (std::size_t zone = 0; zone < kMostPackages; ++zone) {
    const std::filesystem::path folder = sys / "class/powercap" / fmt::format("intel-rapl:{}", zone);
    const auto name = read_file(folder / "name", 256);
    if (!name || !name->starts_with("package-")) continue;
    const auto number = Words(std::string_view(*name).substr(8)).number();
    KeptFile energy(folder / "energy_uj");
    if (!number || !energy.open()) continue;
    const auto range = read_file(folder / "max_energy_range_uj", 256);
    packages.emplace_back(*number, std::move(energy), range ? Words(*range).number().value_or(0) : 0);
  }
  return packages;
}

}  // namespace plimsoll::telemetry
