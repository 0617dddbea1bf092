// Any bytes, taken for times to a target or learning curves, are judged or refused with a message; what is
// told of them has no control characters in it. So is a target's text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "learn/study_file.hpp"
#include "report/tta_report.hpp"

namespace {

using namespace plimsoll;

constexpr std::size_t kMostSetupsJudged = 8, kMostRunsJudged = 32, kResamples = 100;

void require(bool holds) {
  if (!holds) std::abort();
}

void judge(learn::StudyFile file) {
  if (file.setups.size() > kMostSetupsJudged) return;
  for (const learn::Setup& setup : file.setups)
    if (setup.observations.size() > kMostRunsJudged) return;
  report::TtaReport report{.setups = std::move(file.setups), .study = {}, .options = {}};
  report.options.resamples = kResamples;
  report.study =
      learn::study_of(report.setups, file.targets, file.clock, report.setups.size() > 1, report.options);
  for (const learn::SetupStudy& one : report.study.setups)
    require(one.reached <= one.observations.size() && one.share.value >= 0 && one.share.value <= 1);
  const std::string text = report::tta_text(report, {});
  require(
      std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n'; }));
  require(!report::tta_json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).empty());
  require(!report::tta_page(report).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto target = learn::parse_target(text); !target) require(!target.error().message.empty());
  auto file = learn::read_study(text);
  if (file)
    judge(*std::move(file));
  else
    require(!file.error().message.empty());
  return 0;
}
