#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace plimsoll {

/// Figures for people: three significant digits and a prefix, whole numbers below the first prefix
/// exactly. Machines get SI base units in JSON instead.
[[nodiscard]] std::string text(Bytes size);           ///< "97.7 MiB", "512 B"
[[nodiscard]] std::string text(Flops work);           ///< "4.09 GFLOP"
[[nodiscard]] std::string text(FlopsPerSecond rate);  ///< "67.0 TFLOP/s"
[[nodiscard]] std::string text(BytesPerSecond rate);  ///< "4.80 TB/s": powers of 1000, as datasheets give it
[[nodiscard]] std::string text(Seconds time);         ///< "1.23 ms", "3.40 min", "2.50 h", "12.0 d"
[[nodiscard]] std::string text(Joules energy);        ///< "22.1 J"
[[nodiscard]] std::string text(Watts power);          ///< "700 W"
[[nodiscard]] std::string text(Money amount);         ///< "$6.88", "$35,029", "$0.00123"
[[nodiscard]] std::string count_text(double count);   ///< "25.6 M", "4.09 G", "999"
[[nodiscard]] std::string count_text(std::int64_t count);

/// A value with powers of 1000 before `unit`, from nano to yotta: si_text(2.3e9, "Hz") is "2.30 GHz".
[[nodiscard]] std::string si_text(double value, std::string_view unit);

/// Lower case for ASCII letters alone; the locale has no say.
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace plimsoll
