#include "network/zoo/zoo.hpp"

#include <charconv>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "network/inference.hpp"
#include "program/count.hpp"
#include "report/inspection.hpp"
#include "report/paragraph.hpp"

namespace plimsoll {
namespace {

namespace zoo = network::zoo;

struct ZooOptions {
  std::string name;
  bool json = false, csv = false, markdown = false;
};

struct Row {
  const zoo::Entry* entry;
  program::Counts counts;
  std::string dimensions;  ///< what the MACs are for: "sequence 128"
};

Result<Row> weigh_entry(const zoo::Entry& entry) {
  Result<network::Network> network = zoo::build(entry.name, network::Mode::infer);
  if (!network) return std::unexpected(std::move(network).error());
  network::BindingRequest request;
  request.batch = 1;
  std::string dimensions;
  for (std::size_t i = 0; i < network->symbols.size(); ++i)
    if (network->symbols.at(static_cast<network::SymbolId>(i)).name == "sequence") {
      request.sequence = network::kUsualSequence;
      dimensions = fmt::format("sequence {}", network::kUsualSequence);
    }
  const Result<network::Binding> binding = network::bind(*network, request);
  if (!binding) return std::unexpected(binding.error());
  const Result<network::Shapes> shapes = network::infer(*network, *binding);
  if (!shapes) return std::unexpected(shapes.error());
  return Row{&entry, program::count(*network, *shapes, {}), std::move(dimensions)};
}

Result<int> list(const ZooOptions& options, const report::TextStyle& style) {
  using report::Align;
  using enum report::Importance;
  report::Table table{{{"Name"},
                       {"Family", Align::left, true, detail},
                       {"Input", Align::left, true},
                       {"Parameters", Align::right, false, telling},
                       {"GMACs", Align::right, false, telling},
                       {"Title", Align::left, true}},
                      {}};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const zoo::Entry& entry : zoo::entries()) {
    const Result<Row> row = weigh_entry(entry);
    if (!row) return std::unexpected(Error(row.error()).within(entry.name));
    const double gmacs = static_cast<double>(row->counts.forward.macs.high) / 1e9;
    const bool bound = row->counts.forward.macs.low != row->counts.forward.macs.high;
    table.rows.push_back({std::string(entry.name), std::string(entry.family),
                          row->dimensions.empty() ? std::string(entry.input) : row->dimensions,
                          report::grouped(row->counts.parameters),
                          fmt::format("{}{:.4g}", bound ? "<= " : "", gmacs), std::string(entry.title)});
    json.push_back({{"name", entry.name},
                    {"title", entry.title},
                    {"family", entry.family},
                    {"input", entry.input},
                    {"parameters", row->counts.parameters},
                    {"macs", row->counts.forward.macs.high},
                    {"macs_low", row->counts.forward.macs.low}});
  }
  if (options.json)
    print_json(json);
  else if (options.csv)
    fmt::print("{}", report::to_csv(table));
  else if (options.markdown)
    fmt::print("{}", report::to_markdown(table));
  else
    fmt::print("{}\n{}", report::to_text(table, style),
               report::paragraph("Options follow a colon: resnet50:classes=10,input=1x32x32; `plimsoll zoo "
                                 "NAME` lists them.",
                                 style));
  return 0;
}

/// With one of its options where a value other than the default is sure to work: half of a default that is an
/// even number, as in "resnet50:classes=500".
std::string example(const zoo::Entry& entry) {
  for (const zoo::Option& option : entry.options) {
    const std::string usual(option.otherwise);
    std::int64_t value = 0;
    const char* const end = usual.data() + usual.size();
    if (std::from_chars(usual.data(), end, value).ptr != end || value < 2 || value % 2 != 0) continue;
    const std::string spec = fmt::format("{}:{}={}", entry.name, option.name, value / 2);
    if (zoo::build(spec, network::Mode::infer)) return spec;
  }
  return std::string(entry.name);
}

Result<int> show(const ZooOptions& options, const report::TextStyle& style) {
  // Building it checks the name, aliases and options included.
  const Result<network::Network> network = zoo::build(options.name, network::Mode::infer);
  if (!network) return std::unexpected(network.error());
  const zoo::Entry& entry = *zoo::find(options.name);
  if (options.json) {
    nlohmann::ordered_json out = {
        {"name", entry.name}, {"title", entry.title}, {"family", entry.family}, {"input", entry.input}};
    out["options"] = nlohmann::ordered_json::array();
    for (const zoo::Option& o : entry.options)
      out["options"].push_back({{"name", o.name}, {"meaning", o.meaning}, {"default", o.otherwise}});
    print_json(out);
    return 0;
  }
  fmt::print("{}\n", report::paragraph(fmt::format("{}: {} ({}), input {}", report::bold(entry.name, style),
                                                   entry.title, entry.family, entry.input),
                                       style));
  report::Table table{
      {{"Option"}, {"Default"}, {"Meaning", report::Align::left, false, report::Importance::always, true}},
      {}};
  for (const zoo::Option& o : entry.options)
    table.rows.push_back({std::string(o.name), std::string(o.otherwise), std::string(o.meaning)});
  fmt::print("{}\nExample: plimsoll weigh {}\n", report::to_text(table, style), example(entry));
  return 0;
}

}  // namespace

void add_zoo(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ZooOptions>();
  CommandLine* command =
      app.add_subcommand("zoo", "List the architectures known by name, with parameters and GMACs");
  command->add_option("name", options->name, "Show the options of this one")->option_text("MODEL");
  auto* json = command->add_flag("--json", options->json, "Print one JSON document");
  auto* csv = command->add_flag("--csv", options->csv, "Print CSV")->excludes(json);
  command->add_flag("--markdown", options->markdown, "Print Markdown")->excludes(json)->excludes(csv);
  command->footer(
      "Examples:\n  plimsoll zoo\n  plimsoll zoo resnet50\n  plimsoll weigh mobilenet_v1:alpha=0.25");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] {
      return options->name.empty() ? list(*options, output_style(invocation))
                                   : show(*options, output_style(invocation));
    };
  });
}

}  // namespace plimsoll
