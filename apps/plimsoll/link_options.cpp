#include "link_options.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "quantity.hpp"

namespace plimsoll {

void LinkOptions::add_to(CommandLine& command, network::Interconnect& interconnect) {
  command
      .add_option("--link", link,
                  "Rate of each GPU's link in one direction: 450GB/s (default: the device's own; between "
                  "machines none is known)")
      ->option_text("RATE");
  command.add_option("--link-latency", latency, "Latency of one message between GPUs: 5us")
      ->option_text("TIME");
  command
      .add_option("--gpus-per-machine", interconnect.devices_per_machine,
                  "GPUs that the device's own link connects (default: 8)")
      ->in_range(1, 1 << 20)
      ->option_text("N");
}

std::string LinkOptions::words(const network::Interconnect& interconnect) const {
  std::string out;
  if (!link.empty()) out += " --link " + printable(link);
  if (!latency.empty()) out += " --link-latency " + printable(latency);
  if (interconnect.devices_per_machine != network::Interconnect().devices_per_machine)
    out += fmt::format(" --gpus-per-machine {}", interconnect.devices_per_machine);
  return out;
}

Status LinkOptions::read(network::Interconnect& interconnect) const {
  if (!link.empty()) {
    const Result<BytesPerSecond> rate = parse_bandwidth(link, "--link");
    PLIMSOLL_TRY(rate);
    interconnect.bandwidth = rate->value();
  }
  if (!latency.empty()) {
    const Result<Seconds> time = parse_seconds(latency, "--link-latency");
    PLIMSOLL_TRY(time);
    interconnect.latency = time->value();
  }
  return {};
}

}  // namespace plimsoll
