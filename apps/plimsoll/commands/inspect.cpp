#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "inspect_model.hpp"
#include "json_output.hpp"
#include "program/count.hpp"
#include "report/difference.hpp"
#include "report/inspection.hpp"
#include "report/stored_weights.hpp"

namespace plimsoll {
namespace {

enum class Format { text, json, csv, markdown };

struct InspectCommand {
  std::vector<std::string> models;
  InspectOptions inspect;
  bool layers = false, json = false, csv = false, markdown = false;

  [[nodiscard]] Format format() const {
    return json ? Format::json : csv ? Format::csv : markdown ? Format::markdown : Format::text;
  }
};

void print_table(const report::Table& table, Format format, const report::TextStyle& style) {
  fmt::print("{}", format == Format::csv        ? report::to_csv(table)
                   : format == Format::markdown ? report::to_markdown(table)
                                                : report::to_text(table, style));
}

int show_one(const InspectedModel& model, const InspectCommand& options, const report::TextStyle& style) {
  const report::Inspection inspection = model.view();
  const Format format = options.format();
  if (format == Format::json) {
    print_json(report::to_json(inspection));
    return 0;
  }
  if (format == Format::text) fmt::print("{}\n", report::summary_text(inspection, style));
  // Programs that read CSV want the layers in plain numbers; people ask for them.
  if (format == Format::csv)
    print_table(report::layer_numbers(inspection), format, style);
  else
    print_table(options.layers ? report::layer_table(inspection) : report::kind_table(inspection), format,
                style);
  if (format != Format::text || inspection.network.stored.empty()) return 0;
  fmt::print("\n");
  print_table(report::stored_table(report::stored_groups(inspection)), format, style);
  return 0;
}

int show_difference(const InspectedModel& a, const InspectedModel& b, const InspectCommand& options,
                    const report::TextStyle& style) {
  const report::Inspection first = a.view(), second = b.view();
  const Format format = options.format();
  if (format == Format::json) {
    print_json(report::difference_json(first, second));
    return 0;
  }
  print_table(report::difference_table(first, second), format, style);
  if (format == Format::text) fmt::print("\n");
  print_table(
      options.layers ? report::layer_difference(first, second) : report::kind_difference(first, second),
      format, style);
  return 0;
}

Result<int> run(const InspectCommand& options, const report::TextStyle& style) {
  std::vector<InspectedModel> models;
  for (const std::string& spec : options.models) {
    Result<InspectedModel> model = inspect_model(spec, options.inspect);
    if (!model) return std::unexpected(std::move(model).error());
    models.push_back(std::move(*model));
  }
  return models.size() == 2 ? show_difference(models[0], models[1], options, style)
                            : show_one(models[0], options, style);
}

}  // namespace

void add_inspect(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<InspectCommand>();
  CommandLine* command =
      app.add_subcommand("inspect", "Count parameters, FLOPs and bytes of a model, or compare two");
  command->add_option("model", options->models, fmt::format("{}; with two, what differs", kModelWords))
      ->required()
      ->expected(1, 2)
      ->option_text("MODEL [MODEL]");
  options->inspect.add_to(*command);
  command->add_flag("--layers", options->layers, "Print one line per operator");
  auto* json = command->add_flag("--json", options->json, "Print one JSON document");
  auto* csv = command->add_flag("--csv", options->csv, "Print the layers as CSV")->excludes(json);
  command->add_flag("--markdown", options->markdown, "Print the table in Markdown")
      ->excludes(json)
      ->excludes(csv);
  command->footer(
      "Examples:\n"
      "  plimsoll inspect model.onnx --batch 8\n"
      "  plimsoll inspect bert-base --seq 512 --layers\n"
      "  plimsoll inspect vgg16 vgg19               what differs\n"
      "  plimsoll inspect model.onnx --json | jq .macs\n"
      "What is counted, and how: docs/counting.md");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
