#include "report/device_report.hpp"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"

namespace plimsoll::report {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Shown {
  hardware::Device device;
  hardware::Calibration calibration;

  Shown() {
    device.id = "d";
    device.name = "D";
    device.memory = hardware::DeviceFigure{16e9, Provenance::datasheet, "the maker's sheet", "2018"};
    device.power = hardware::DeviceFigure{70, Provenance::datasheet, "the maker's sheet", "2018"};
    device.context_memory = hardware::DeviceFigure{6e8, Provenance::measured, "seen on one"};
    calibration.date = "2026-01-02";
    for (const double at : {1e6, 1e9}) {
      calibration.ceilings.push_back(
          {.name = "memory-read", .figure = {.value = at > 1e8 ? 3e11 : 9e11}, .unit = "B/s", .at = at});
    }
    calibration.fits = {{.points = 10, .residual = 0.1, .residual_90 = 0.3},
                        {.direction = hardware::Direction::backward_input,
                         .points = 30,
                         .residual = 0.2,
                         .residual_90 = 0.3}};
  }
  [[nodiscard]] DeviceReport report() const { return {device, &calibration}; }
};

TEST(DeviceText, TellsEachSourceOnce) {
  const Shown shown;
  const std::string text = device_text(shown.report(), {});
  EXPECT_EQ(text.find("the maker's sheet, 2018"), text.rfind("the maker's sheet, 2018")) << text;
  EXPECT_THAT(text, HasSubstr("power       70 W  datasheet        1"));
}

TEST(DeviceText, ShowsMemorysCeilingAndLeavesTheCachesToTheWholeList) {
  const Shown shown;
  EXPECT_THAT(device_text(shown.report(), {}), HasSubstr("300 GB/s"));
  EXPECT_THAT(device_text(shown.report(), {}), Not(HasSubstr("900 GB/s")));
  EXPECT_THAT(device_details(shown.report(), {}), HasSubstr("900 GB/s"));
}

TEST(DeviceText, SaysHowFarPredictionsAreOff) {
  EXPECT_THAT(device_text(Shown().report(), {}), HasSubstr("fp32 17.5 % (30.0 %)"));
}

TEST(DeviceText, IsAPageOfEveryDeviceThatIsKnown) {
  const auto& catalogue = hardware::built_in_catalogue();
  ASSERT_TRUE(catalogue);
  for (const hardware::Device& device : catalogue->devices()) {
    const auto calibration = hardware::calibration_of(device);
    ASSERT_TRUE(calibration);
    const std::string text = device_text({device, *calibration ? &**calibration : nullptr}, {.width = 80});
    EXPECT_LE(std::ranges::count(text, '\n'), 60) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
  }
}

}  // namespace
}  // namespace plimsoll::report
