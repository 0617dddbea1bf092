#include "probe/survey.hpp"

#include <utility>

#include "probe/ceilings.hpp"

namespace plimsoll::probe {

void complete_ceilings(SurveyedDevice& device, const std::string& date) {
  std::vector<hardware::Ceiling> all = ceilings_of(device.findings, device.device, "plimsoll probe", date);
  for (hardware::Ceiling& ceiling : device.ceilings) {
    if (const auto peak = peak_of(device.device, ceiling.name, ceiling.at))
      ceiling.share_of_peak = ceiling.figure.value / *peak;
    all.push_back(std::move(ceiling));
  }
  device.ceilings = std::move(all);
}

}  // namespace plimsoll::probe
