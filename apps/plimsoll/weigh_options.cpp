#include "weigh_options.hpp"

#include "setting_options.hpp"

namespace plimsoll {

void WeighOptions::add_to(CommandLine& command) {
  command.add_option("model", model, "ONNX file, zoo name, or FILE.py:function")
      ->required()
      ->option_text("MODEL");
  inspect.add_to(command);
  add_precision_option(command, precision);
  add_optimizer_option(command, optimizer);
  add_devices_option(
      command, devices,
      "Ids from `plimsoll devices`, `this`, `this-cpu`, or a device file; default: this machine "
      "and a dozen others");
  command
      .add_option("--calibration", calibration,
                  "Of this machine, or of the devices that are named: a device file with one, or none: the "
                  "datasheet alone (default: the device's own)")
      ->option_text("FILE");
  command
      .add_option("--dataset-size", dataset_size, "Training costs of an epoch of so many samples: 1281167")
      ->option_text("N");
  command.add_option("--country", country, "Whose grid the CO2e is of: DNK, Denmark")->option_text("COUNTRY");
  command.add_flag("--measure", measure, "Run it on this machine, too: the engine, some seconds");
  command.add_flag("--floors", floors, "A table of all devices with what no program is faster than");
  command.add_option("--html", html, "Write the page for a browser: FILE.html")->option_text("FILE");
  command.add_flag("--json", json, "One JSON document");
}

}  // namespace plimsoll
