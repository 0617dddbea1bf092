#include "measure_preview.hpp"

#include <charconv>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "calibrated_device.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "network/inference.hpp"
#include "program/lowering.hpp"
#include "report/figure_writing.hpp"

namespace plimsoll {
namespace {

/// "cpu" or "cuda:N", as the engine names them.
const hardware::Device* device_of(const std::string& name, const hardware::ThisMachine* machine) {
  if (machine == nullptr) return nullptr;
  if (name == "cpu") return &machine->cpu;
  std::size_t number = 0;
  if (const std::size_t colon = name.find(':'); colon != std::string::npos)
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), number);
  return number < machine->gpus.size() ? &machine->gpus[number] : nullptr;
}

void add_estimates(PreviewedRow& row, const ReadyModel& model, const ReadyModel::Bound& bound,
                   const network::Setting& setting, const hardware::Device& device) {
  const Result<network::Shapes> shapes = network::infer(model.loaded.network, bound.binding);
  const Result<CalibratedDevice> calibrated = with_calibration(device, {}, true);
  if (!shapes || !calibrated) return;
  const estimate::Target target{&device, calibrated->curves.get()};
  const Result<program::Program> program =
      program::lower(model.loaded.network, *shapes, setting, target.platform(setting));
  if (!program) return;
  if (const auto found = estimate::estimate_memory(model.loaded.network, *program, setting, device))
    row.allocated = peak_allocated_figure(*found);
  const bool eager = device.kind == hardware::DeviceKind::gpu && !setting.captured;
  if (const auto found = estimate::estimate_time(*program, setting, target))
    row.time.value = (eager ? found->eager : found->seconds).value();
}

}  // namespace

std::vector<PreviewedRow> preview_rows(const std::vector<ReadyModel>& models,
                                       const std::vector<std::string>& devices,
                                       const network::Setting& setting,
                                       const hardware::ThisMachine* machine) {
  std::vector<PreviewedRow> out;
  for (const ReadyModel& model : models)
    for (const std::string& name : devices)
      for (const ReadyModel::Bound& bound : model.batches) {
        out.push_back({model.loaded.label, name, bound.batch});
        if (const hardware::Device* device = device_of(name, machine))
          add_estimates(out.back(), model, bound, setting, *device);
      }
  return out;
}

report::Table preview_table(const std::vector<PreviewedRow>& rows) {
  using report::Align;
  report::Table table{{{"Model", Align::left, true},
                       {"Device"},
                       {"Batch", Align::right},
                       {"Allocated (estimate)", Align::right},
                       {"Time (estimate)", Align::right}},
                      {}};
  for (const PreviewedRow& row : rows)
    table.rows.push_back({printable(row.model), row.device, std::to_string(row.batch),
                          report::value_text(row.allocated), report::value_text(row.time)});
  return table;
}

nlohmann::ordered_json preview_json(const std::vector<PreviewedRow>& rows, const Error& lacking) {
  nlohmann::ordered_json planned = nlohmann::ordered_json::array();
  for (const PreviewedRow& row : rows) {
    nlohmann::ordered_json estimate;
    report::add_value(estimate, row.allocated);
    report::add_value(estimate, row.time);
    planned.push_back({{"model", row.model},
                       {"device", row.device},
                       {"batch", row.batch},
                       {"estimate", std::move(estimate)}});
  }
  return {{"measured", false}, {"reason", lacking.text()}, {"planned", std::move(planned)}};
}

}  // namespace plimsoll
