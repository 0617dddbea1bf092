#include "weigh_options.hpp"

#include "setting_options.hpp"

namespace plimsoll {

void WeighOptions::add_to(CommandLine& command) {
  command.add_option("model", model, kModelWords)->required()->option_text("MODEL");
  inspect.add_to(command);
  add_precision_option(command, inspect.setting.precision);
  add_optimizer_option(command, inspect.setting.optimizer);
  add_context_option(command, inspect.setting.context);
  add_devices_option(command, devices,
                     "Ids from `plimsoll devices`, `this`, `cpu`, or a device file (default: this "
                     "machine and a dozen others)");
  command
      .add_option("--calibration", calibration,
                  "Take the calibration of this device file; `none`: use the datasheet alone (default: the "
                  "device's own calibration)")
      ->option_text("FILE");
  links.add_to(command, inspect.setting.interconnect);
  command
      .add_option("--dataset-size", dataset_size,
                  "Samples in an epoch, to tell what an epoch of training costs: 1281167")
      ->option_text("N");
  command.add_option("--country", country, "Country whose electricity is used, for CO2e: DNK or Denmark")
      ->option_text("COUNTRY");
  command.add_flag("--measure", measure,
                   "Run it on this machine, too, for some seconds, with plimsoll-engine");
  command.add_flag("--floors", floors, "Show a table of all devices with the times that no program can beat");
  command.add_option("--html", html, "Write the page for a browser")->option_text("FILE");
  command.add_flag("--json", json, "Print one JSON document");
}

}  // namespace plimsoll
