#include <algorithm>
#include <deque>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "choose_options.hpp"
#include "command.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/this_machine.hpp"
#include "json_output.hpp"
#include "report/choice.hpp"

namespace plimsoll {
namespace {

/// Those named, which are kept in `own`, or the whole catalogue.
Result<std::vector<const hardware::Device*>> devices_of(const ChooseOptions& options,
                                                        const hardware::Catalogue& catalogue,
                                                        std::deque<hardware::Device>& own) {
  std::vector<const hardware::Device*> out;
  for (const std::string& name : options.devices) {
    Result<hardware::Device> device = hardware::device_named(name);
    PLIMSOLL_TRY(device);
    out.push_back(&own.emplace_back(*std::move(device)));
  }
  if (options.devices.empty())
    for (const hardware::Device& device : catalogue.devices()) out.push_back(&device);
  return out;
}

Result<int> run(const ChooseOptions& options, const report::TextStyle& style) {
  const auto& catalogue = hardware::built_in_catalogue();
  PLIMSOLL_TRY(catalogue);
  const auto& offers = hardware::built_in_prices();
  PLIMSOLL_TRY(offers);
  std::deque<hardware::Device> own;
  const auto devices = devices_of(options, *catalogue, own);
  PLIMSOLL_TRY(devices);
  Result<NetworkForms> forms = NetworkForms::load(options.model, options.depths, options.inspect);
  PLIMSOLL_TRY(forms);
  for (std::size_t i = 0; i < options.devices.size(); ++i)
    if (hardware::names_this_machine(options.devices[i])) forms->add_here(own[i].id);
  PLIMSOLL_TRY(options.add_accuracies(forms->variants()));
  const Result<plan::Imaging> imaging = options.imaging(*forms);
  PLIMSOLL_TRY(imaging);
  const Result<plan::Limits> limits = options.limits(*imaging);
  PLIMSOLL_TRY(limits);
  Result<std::vector<hardware::Arithmetic>> arithmetics = options.arithmetics();
  PLIMSOLL_TRY(arithmetics);
  const plan::Question question{forms->variants(), *std::move(arithmetics), imaging->patches(), *limits};
  const plan::Choice choice =
      plan::choose(question, *devices, catalogue->devices(), *offers, forms->estimators());
  const report::ChoiceReport report{
      options.model, question, *imaging, choice, options.all, options.why, !options.devices.empty()};
  if (options.json)
    print_json(report::choice_json(report));
  else
    fmt::print("{}", options.csv ? report::choice_csv(report) : report::choice_text(report, style));
  return choice.certain() ? 0 : 1;
}

}  // namespace

void add_choose(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ChooseOptions>();
  CommandLine* command =
      app.add_subcommand("choose", "Which device: every device of the catalogue against every limit");
  options->add_to(*command);
  command->footer(
      "Examples:\n"
      "  plimsoll choose mobilenet_v1 --depth 0.25,0.5,1 --scene 4512x4512 --max-latency 4.42s --max-power "
      "5W\n"
      "  plimsoll choose mobilenet_v1 --scene 4512x4512 --period 95.65min --images 80 --downlink 1Mbit/s\n"
      "  plimsoll choose resnet50 --max-latency 20ms --max-price 1/h\n"
      "Exit code 1: no device is known to meet every limit.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
