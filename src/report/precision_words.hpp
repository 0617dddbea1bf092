#pragma once
#include <string>

#include "report/precision_report.hpp"

/// Words that the text and the page of `plimsoll precision` share. Private to report.
namespace plimsoll::report {

[[nodiscard]] std::string percent_words(double share);            ///< "84.33 %"
[[nodiscard]] std::string form_words(const PrecisionForm& form);  ///< "int8 at 0.25"
/// Points, negative where accuracy was lost, with their interval: "-0.12 (-0.40 to +0.16)".
[[nodiscard]] std::string lost_words(const learn::PairedLoss& lost);

}  // namespace plimsoll::report
